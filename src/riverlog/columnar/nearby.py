"""Is a partition's directory here the one that its leader serves? Then its records need no network.

    meta.properties          cluster.id, node.id    of this cluster, of the broker that leads
    orders-3/partition.metadata         topic_id    of the topic that is called so now

A directory that a broker has left behind, or one of another cluster, may well hold a partition of the same
name. Whatever is not exactly right counts as not being here: the broker can always be asked instead.
"""

from __future__ import annotations

import base64
import logging
import os
from collections.abc import Sequence
from typing import NamedTuple

from riverlog.types import TopicPartition

logger = logging.getLogger("riverlog.columnar")

_NO_ID = bytes(16)


class Home(NamedTuple):
    """Whose a partition's files are: the cluster's, the topic's, the leader's."""

    cluster_id: str | None
    topic_id: bytes
    leader: int


def partition_directory(directories: Sequence[str], place: TopicPartition, home: Home) -> str | None:
    """Find the partition's directory among a broker's own; None where it is not, or not that broker's."""
    if home.cluster_id is None or home.topic_id == _NO_ID:
        return None
    topic_id = base64.urlsafe_b64encode(home.topic_id).rstrip(b"=").decode()
    for directory in directories:
        path = os.path.join(directory, str(place))
        try:
            broker = _values(os.path.join(directory, "meta.properties"), "=")
            topic = _values(os.path.join(path, "partition.metadata"), ":")
        except OSError:
            continue
        owner = broker.get("cluster.id"), broker.get("node.id", broker.get("broker.id"))
        if owner == (home.cluster_id, str(home.leader)) and topic.get("topic_id") == topic_id:
            return path
        logger.info("%s is not what broker %d of cluster %s serves", path, home.leader, home.cluster_id)
    return None


def _values(path: str, separator: str) -> dict[str, str]:
    with open(path, encoding="utf-8", errors="replace") as file:
        pairs = (line.partition(separator) for line in file if not line.startswith("#"))
        return {name.strip(): value.strip() for name, _, value in pairs}
