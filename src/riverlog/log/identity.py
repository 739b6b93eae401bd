"""Who a directory belongs to: `meta.properties` of a log directory, `partition.metadata` of a partition.

    meta.properties                      partition.metadata
    version=1                            version: 0
    cluster.id=FaRWQCtsRCS8NPopt7VBHg    topic_id: 2FrwTPU2SmyfA_n3duv1mA
    node.id=1
    directory.id=JUFBKsk2QYygjpV8zr730A

Ids are 16 bytes, written in the base64 that is safe in URLs, without padding. Pure: content in, content out.
"""

from __future__ import annotations

import base64
import binascii
from functools import lru_cache
from typing import NamedTuple

from riverlog.errors import StorageError

ZERO_ID = bytes(16)
_META_VERSION = "1"
_METADATA_VERSION = "0"


class MetaProperties(NamedTuple):
    """The cluster and node that a log directory belongs to, and its own id."""

    cluster_id: str
    node_id: int
    directory_id: bytes


def encode_id(identity: bytes) -> str:
    """Write 16 bytes as the text that Kafka shows for them."""
    return base64.urlsafe_b64encode(identity).rstrip(b"=").decode()


def decode_id(text: str) -> bytes:
    """Read 16 bytes from their text. Raises ValueError."""
    try:
        identity = base64.urlsafe_b64decode(text + "==")
    except binascii.Error as error:
        raise ValueError(str(error)) from error
    if len(identity) != 16:
        raise ValueError(f"{text!r} is not an id of 16 bytes")
    return identity


def encode_meta_properties(meta: MetaProperties) -> bytes:
    """Write the content of `meta.properties`."""
    return (
        f"version={_META_VERSION}\ncluster.id={meta.cluster_id}\nnode.id={meta.node_id}\n"
        f"directory.id={encode_id(meta.directory_id)}\n"
    ).encode()


def decode_meta_properties(content: bytes, path: str) -> MetaProperties:
    """Read the content of `meta.properties`. Raises StorageError."""
    lines = (line.strip() for line in content.decode("utf-8", "replace").splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith(("#", "!")))
    values = {name.strip(): value.strip() for name, _equals, value in pairs}
    try:
        if values["version"] != _META_VERSION:
            raise StorageError(f"version {values['version']} of a log directory is unknown", path=path)
        directory_id = decode_id(values["directory.id"]) if "directory.id" in values else ZERO_ID
        return MetaProperties(values["cluster.id"], int(values["node.id"]), directory_id)
    except (KeyError, ValueError) as error:
        raise StorageError(f"not the properties of a log directory: {error!r}", path=path) from error


def encode_partition_metadata(topic_id: bytes) -> bytes:
    """Write the content of `partition.metadata`."""
    return f"version: {_METADATA_VERSION}\ntopic_id: {encode_id(topic_id)}\n".encode()


def decode_partition_metadata(content: bytes, path: str) -> bytes:
    """Read the topic's id from the content of `partition.metadata`. Raises StorageError."""
    try:
        return _topic_id_in(content)
    except (KeyError, ValueError) as error:
        raise StorageError(f"not the metadata of a partition: {error!r}", path=path) from error


@lru_cache(maxsize=256)
def _topic_id_in(content: bytes) -> bytes:
    """Read it once for the many partitions of a topic. Raises KeyError, ValueError."""
    lines = content.decode("utf-8", "replace").splitlines()
    values = dict(line.split(": ", 1) for line in lines if ": " in line)
    if values["version"] != _METADATA_VERSION:
        raise ValueError(f"version {values['version']} is unknown")
    return decode_id(values["topic_id"].strip())
