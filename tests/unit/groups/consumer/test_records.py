"""The records of the consumer protocol, as Apache Kafka 4.3 writes them."""

from __future__ import annotations

import pytest

from riverlog.errors import RemoteProtocolError
from riverlog.groups.consumer.member import ClassicSide, MemberState, Standing, Subscription
from riverlog.groups.consumer.records import (
    ConsumerRecord,
    Epoch,
    GroupEpoch,
    GroupMember,
    GroupPattern,
    GroupTargetEpoch,
    GroupTopics,
    Matches,
    MemberStanding,
    MemberTarget,
    TargetEpoch,
)
from riverlog.groups.member import Client
from riverlog.groups.records import decode, encode

T, U = bytes(15) + b"\x01", bytes(15) + b"\x02"

MEMBER = Subscription(
    "static-a",
    "rack-1",
    Client("client", "/127.0.0.1"),
    frozenset({"t", "u"}),
    "x.*",
    60_000,
    "range",
    ClassicSide(10_000, (("range", b"a"), ("sticky", b"b"))),
)
RECORDS: list[ConsumerRecord] = [
    GroupEpoch("g", Epoch(7, -(2**63))),
    GroupMember("g", "ann", MEMBER),
    GroupMember("g", "ann", Subscription(client=Client("", ""))),
    GroupTargetEpoch("g", TargetEpoch(6, 1_700_000_000_000)),
    MemberTarget("g", "ann", {T: frozenset({0, 5}), U: frozenset({1})}),
    MemberTarget("g", "ann", {}),
    MemberStanding("g", "ann", Standing(7, 6, MemberState.UNREVOKED, {T: {0: 5, 1: 7}}, {U: {3: 2}})),
    MemberStanding("g", "ann", Standing(-2, 6, MemberState.STABLE, {T: {0: 0}}, {})),
    GroupPattern("g", "x.*", Matches(frozenset({"x", "xy"}), 3, 1_700_000_000_000)),
]


@pytest.mark.parametrize("record", RECORDS)
def test_what_is_written_is_read(record: ConsumerRecord) -> None:
    assert decode(*encode(record)) == record


@pytest.mark.parametrize("record", [*RECORDS, GroupTopics("g", None)])
def test_removals_are_written_and_read(record: ConsumerRecord) -> None:
    removal = record._replace(value=None)

    key, value = encode(removal)

    assert value is None
    assert decode(key, None) == removal


def test_the_bytes_are_kafka_s() -> None:
    assert encode(GroupEpoch("g", Epoch(2, 0))) == (
        bytes.fromhex("0003 0001 67"),
        bytes.fromhex("0000 00000002 00"),
    )
    assert encode(MemberTarget("g", "a", {T: frozenset({1})})) == (
        bytes.fromhex("0007 0001 67 0001 61"),
        bytes.fromhex("0000 02") + T + bytes.fromhex("02 00000001 00 00"),
    )


def test_standings_from_before_epochs_were_kept_have_the_member_s() -> None:
    key = bytes.fromhex("0008 0001 67 0001 61")
    value = bytes.fromhex("0000 00000005 00000004 00 02") + T + bytes.fromhex("02 00000003 00 01 00")

    assert decode(key, value) == MemberStanding("g", "a", Standing(5, 4, MemberState.STABLE, {T: {3: 5}}, {}))


def test_a_state_that_is_not_known_is_said_to_be() -> None:
    key, value = encode(MemberStanding("g", "a", Standing(5, 4)))
    assert value is not None

    read = decode(key, value[:10] + b"\x09" + value[11:])

    assert isinstance(read, MemberStanding)
    assert read.value is not None
    assert read.value.state is MemberState.UNKNOWN


def test_that_kafka_kept_a_group_s_topics_is_known() -> None:
    read = decode(bytes.fromhex("0004 0001 67"), bytes.fromhex("0000 01 00"))

    assert isinstance(read, GroupTopics)
    assert read.value is not None


@pytest.mark.parametrize("value", [b"", b"\0", b"\0\x01\0\0\0\x02\0", b"\0\0\0\0"])
def test_what_is_no_record_is_refused(value: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        decode(bytes.fromhex("0003 0001 67"), value)
