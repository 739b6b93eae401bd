"""Read the metadata image from the coordination store: at start-up, and whenever it must be exact."""

from __future__ import annotations

from collections.abc import Mapping

from riverlog.cluster.metadata_image import (
    MetadataImage,
    Partition,
    QuotaEntity,
    Resource,
    ScramCredential,
    Topic,
)
from riverlog.cluster.stored_nodes import (
    BROKERS,
    CLUSTER,
    CREDENTIALS,
    DELETIONS,
    LAYOUT,
    OVERRIDES,
    QUOTAS,
    TOPICS,
    decode,
    decode_broker,
    decode_credentials,
    decode_partition,
    decode_quotas,
    decode_topic,
    parse_topic_id,
    resource_of,
    user_of,
)
from riverlog.coordination import Coordination, child_path
from riverlog.errors import StorageError


def read_image(store: Coordination, controller_id: int) -> MetadataImage:
    """Read everything. Raises StorageError for a layout that is newer than this program."""
    cluster_node = store.get(CLUSTER)
    assert cluster_node is not None, "only a store that was begun has an image"
    cluster = decode(CLUSTER, cluster_node)
    if cluster["layout"] > LAYOUT:
        raise StorageError(
            f"cluster state has layout {cluster['layout']}, this program knows those up to {LAYOUT}",
            path=CLUSTER,
        )
    brokers = (
        decode_broker(path, node)
        for path in _child_paths(store, BROKERS)
        if (node := store.get(path)) is not None
    )
    return MetadataImage.build(
        cluster_id=cluster["id"],
        controller_id=controller_id,
        brokers=brokers,
        topics=_read_topics(store),
        overrides=_read_overrides(store),
        client_quotas=_read_quotas(store),
        credentials=_read_credentials(store),
    )


def read_deletions(store: Coordination) -> set[bytes]:
    """Read the ids of deleted topics whose logs may still be on a disk."""
    return {parse_topic_id(name) for name in store.children(DELETIONS)}


def _read_topics(store: Coordination) -> list[Topic]:
    topics = []
    for name in store.children(TOPICS):
        path = child_path(TOPICS, name)
        node = store.get(path)
        if node is None:
            continue
        topics.append(decode_topic(name, node, _read_states(store, path)))
    return topics


def _read_states(store: Coordination, topic_path: str) -> dict[int, Partition]:
    return {
        int(index): decode_partition(path, node)
        for index in store.children(topic_path)
        if (node := store.get(path := child_path(topic_path, index))) is not None
    }


def _read_overrides(store: Coordination) -> dict[Resource, Mapping[str, str]]:
    return {
        resource_of(path): decode(path, node)
        for kind in _child_paths(store, OVERRIDES)
        for path in _child_paths(store, kind)
        if (node := store.get(path)) is not None
    }


def _read_quotas(store: Coordination) -> dict[QuotaEntity, dict[str, float]]:
    return dict(
        decode_quotas(path, node)
        for path in _child_paths(store, QUOTAS)
        if (node := store.get(path)) is not None
    )


def _read_credentials(store: Coordination) -> dict[str, dict[int, ScramCredential]]:
    return {
        user_of(path): decode_credentials(path, node)
        for path in _child_paths(store, CREDENTIALS)
        if (node := store.get(path)) is not None
    }


def _child_paths(store: Coordination, path: str) -> list[str]:
    return [child_path(path, name) for name in store.children(path)]
