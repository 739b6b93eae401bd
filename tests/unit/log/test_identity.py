import pytest

from riverlog.errors import StorageError
from riverlog.log.identity import (
    ZERO_ID,
    MetaProperties,
    decode_id,
    decode_meta_properties,
    decode_partition_metadata,
    encode_id,
    encode_meta_properties,
    encode_partition_metadata,
)

KAFKAS_PROPERTIES = b"""#
#Wed Nov 18 22:07:24 UTC 2026
node.id=1
directory.id=JUFBKsk2QYygjpV8zr730A
version=1
cluster.id=FaRWQCtsRCS8NPopt7VBHg
"""


def test_an_id_is_written_as_kafka_shows_it() -> None:
    identity = decode_id("2FrwTPU2SmyfA_n3duv1mA")

    assert len(identity) == 16
    assert encode_id(identity) == "2FrwTPU2SmyfA_n3duv1mA"


def test_the_properties_that_kafka_wrote_are_read() -> None:
    assert decode_meta_properties(KAFKAS_PROPERTIES, "path") == MetaProperties(
        "FaRWQCtsRCS8NPopt7VBHg", 1, decode_id("JUFBKsk2QYygjpV8zr730A")
    )


def test_our_properties_are_read_back() -> None:
    meta = MetaProperties("cluster", 7, bytes(range(16)))

    assert decode_meta_properties(encode_meta_properties(meta), "path") == meta


def test_an_older_kafkas_directory_has_no_id_of_its_own() -> None:
    read = decode_meta_properties(b"version=1\ncluster.id=c\nnode.id=3\n", "path")

    assert read.directory_id == ZERO_ID


@pytest.mark.parametrize(
    "content",
    [b"", b"version=0\nbroker.id=1\n", b"version=1\ncluster.id=c\n", b"version=1\ncluster.id=c\nnode.id=x\n"],
)
def test_properties_that_say_too_little_are_refused_with_their_path(content: bytes) -> None:
    with pytest.raises(StorageError, match="the-path"):
        decode_meta_properties(content, "the-path")


def test_a_partitions_metadata_holds_the_topics_id_as_kafka_writes_it() -> None:
    content = b"version: 0\ntopic_id: 2FrwTPU2SmyfA_n3duv1mA"

    topic_id = decode_partition_metadata(content, "path")

    assert topic_id == decode_id("2FrwTPU2SmyfA_n3duv1mA")
    assert decode_partition_metadata(encode_partition_metadata(topic_id), "path") == topic_id


@pytest.mark.parametrize(
    "content",
    [b"", b"version: 1\ntopic_id: 2FrwTPU2SmyfA_n3duv1mA", b"version: 0\ntopic_id: AAAA", b"\0\0\0"],
)
def test_metadata_without_an_id_is_refused_with_its_path(content: bytes) -> None:
    with pytest.raises(StorageError, match="the-path"):
        decode_partition_metadata(content, "the-path")
