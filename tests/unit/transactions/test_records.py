"""The records of the transaction topic, to the byte as Kafka writes them."""

from __future__ import annotations

import pytest

from riverlog.errors import RemoteProtocolError
from riverlog.shards import OtherKind
from riverlog.transactions.records import Status, Transaction, TransactionRecord, decode, encode
from riverlog.types import TopicPartition

ONGOING = Transaction(
    producer_id=1000,
    epoch=3,
    timeout_ms=60_000,
    status=Status.ONGOING,
    partitions=frozenset({TopicPartition("a", 1), TopicPartition("a", 0), TopicPartition("b", 7)}),
    start_ms=1_700_000_000_000,
    updated_ms=1_700_000_000_500,
    client_version=2,
    previous_producer_id=999,
    next_producer_id=1001,
)


@pytest.mark.parametrize("status", list(Status))
def test_what_is_written_is_read(status: Status) -> None:
    partitions = ONGOING.partitions if status is not Status.EMPTY else frozenset()
    record = TransactionRecord("t", ONGOING._replace(status=status, partitions=partitions))

    assert decode(*encode(record)) == record


def test_a_removal_has_no_value() -> None:
    record = TransactionRecord("t", None)

    assert encode(record) == (b"\0\0\0\x01t", None)
    assert decode(*encode(record)) == record


def test_the_former_epoch_is_not_stored() -> None:
    record = TransactionRecord("t", ONGOING._replace(previous_epoch=2))

    read = decode(*encode(record))

    assert isinstance(read, TransactionRecord)
    assert read.value is not None
    assert read.value.previous_epoch == -1


def test_a_record_has_kafka_s_layout() -> None:
    """Fields, then the tags 0, 1 and 2: the producer ids before and after, the client's version."""
    key, value = encode(TransactionRecord("t", ONGOING))

    number = "{:016x}".format
    assert key == b"\0\0\0\x01t"
    assert value == bytes.fromhex(
        "0001"  # version
        + number(1000)
        + "0003"
        + "0000ea60"
        + "01"
        + "03"  # two topics
        + "0261" + "03" + "00000000" + "00000001" + "00"
        + "0262" + "02" + "00000007" + "00"
        + number(1_700_000_000_500)
        + number(1_700_000_000_000)
        + "03"  # tags
        + "0008" + number(999)
        + "0108" + number(1001)
        + "0202" + "0002"
    )  # fmt: skip


def test_a_record_of_an_older_broker_is_read() -> None:
    value = bytes.fromhex(
        "000000000000000003e800030000ea6001"
        "000000010001610000000100000000"
        "0000018bcfe568000000018bcfe56800"
    )  # fmt: skip

    read = decode(b"\0\0\0\x01t", value)

    assert read == TransactionRecord(
        "t",
        Transaction(
            1000,
            3,
            60_000,
            Status.ONGOING,
            frozenset({TopicPartition("a", 0)}),
            1_700_000_000_000,
            1_700_000_000_000,
        ),
    )


def test_other_kinds_of_records_are_told_apart() -> None:
    assert decode(b"\0\x05abc", b"") == OtherKind(5)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"\0", b""),
        (b"\0\0\0\x01t", b"\0"),
        (b"\0\0\0\x01t", b"\0\x02" + bytes(60)),
        (b"\0\0\0\x01t", b"\0\0" + bytes(8) + b"\0\0" + bytes(4) + b"\x07" + b"\xff\xff\xff\xff" + bytes(16)),
    ],
)
def test_what_is_no_record_is_refused(key: bytes, value: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        decode(key, value)


def test_states_are_called_as_kafka_s_tools_print_them() -> None:
    assert [status.text for status in Status] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
    ]
