"""The records of the offsets topic: Kafka's bytes, read and written."""

from __future__ import annotations

import pytest

from riverlog.errors import RemoteProtocolError
from riverlog.groups.records import (
    CommittedOffset,
    GroupMetadata,
    GroupRecord,
    OffsetCommit,
    OtherKind,
    decode,
    encode,
)
from riverlog.protocol import messages

TOPIC_ID = bytes(range(16))

COMMIT = OffsetCommit("g", "t", 7, CommittedOffset(5, 3, "m", 9, -1, TOPIC_ID))
COMMIT_KEY = bytes.fromhex("0001 0001 67 0001 74 00000007")
COMMIT_VALUE = bytes.fromhex("0004 0000000000000005 00000003 02 6d 0000000000000009 01 00 10") + TOPIC_ID

GENERATION = messages.GroupMetadataValue(
    protocol_type="consumer",
    generation=4,
    protocol="range",
    leader="a",
    current_state_timestamp=9,
    members=[
        messages.MemberMetadata(
            member_id="a",
            group_instance_id="i",
            client_id="c",
            client_host="/h",
            rebalance_timeout=6,
            session_timeout=5,
            subscription=b"s",
            assignment=b"as",
        )
    ],
)
METADATA_KEY = bytes.fromhex("0002 0001 67")
METADATA_VALUE = bytes.fromhex(
    "0003 0008 636f6e73756d6572 00000004 0005 72616e6765 0001 61 0000000000000009 00000001"
    "0001 61 0001 69 0001 63 0002 2f68 00000006 00000005 00000001 73 00000002 6173"
)


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        (COMMIT, COMMIT_KEY, COMMIT_VALUE),
        (COMMIT._replace(value=None), COMMIT_KEY, None),
        (GroupMetadata("g", GENERATION), METADATA_KEY, METADATA_VALUE),
        (GroupMetadata("g", None), METADATA_KEY, None),
    ],
    ids=["commit", "commit removed", "generation", "group removed"],
)
def test_records_have_kafka_s_bytes(record: GroupRecord, key: bytes, value: bytes | None) -> None:
    assert encode(record) == (key, value)
    assert decode(key, value) == record


def test_a_commit_with_a_time_of_its_own_is_written_in_the_version_that_has_it() -> None:
    record = OffsetCommit("g", "t", 7, CommittedOffset(5, -1, "m", 9, 11))

    key, value = encode(record)

    assert value == bytes.fromhex("0001 0000000000000005 0001 6d 0000000000000009 000000000000000b")
    assert decode(key, value) == record


@pytest.mark.parametrize(
    ("value", "leader_epoch"),
    [
        ("0000 0000000000000005 0001 6d 0000000000000009", -1),
        ("0002 0000000000000005 0001 6d 0000000000000009", -1),
        ("0003 0000000000000005 00000003 0001 6d 0000000000000009", 3),
        ("0004 0000000000000005 00000003 02 6d 0000000000000009 00", 3),
    ],
)
def test_commits_of_every_version_are_read(value: str, leader_epoch: int) -> None:
    record = decode(COMMIT_KEY, bytes.fromhex(value))

    assert record == OffsetCommit("g", "t", 7, CommittedOffset(5, leader_epoch, "m", 9))


def test_the_oldest_kind_of_commit_is_read() -> None:
    record = decode(
        bytes.fromhex("0000 0001 67 0001 74 00000007"),
        bytes.fromhex("0000 0000000000000005 0001 6d 0000000000000009"),
    )

    assert record == OffsetCommit("g", "t", 7, CommittedOffset(5, -1, "m", 9))


def test_other_kinds_of_records_are_told_apart() -> None:
    assert decode(bytes.fromhex("000b 0001 67"), b"whatever") == OtherKind(11)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"", None),
        (b"\0", None),
        (COMMIT_KEY[:-1], COMMIT_VALUE),
        (COMMIT_KEY, COMMIT_VALUE[:-1]),
        (COMMIT_KEY, b""),
        (COMMIT_KEY, b"\0\x05" + COMMIT_VALUE[2:]),
        (COMMIT_KEY, b"\xff\xff" + COMMIT_VALUE[2:]),
        (METADATA_KEY, METADATA_VALUE[:-1]),
        (METADATA_KEY, b"\0\x63" + METADATA_VALUE[2:]),
    ],
)
def test_what_is_no_record_is_refused(key: bytes, value: bytes | None) -> None:
    with pytest.raises(RemoteProtocolError):
        decode(key, value)
