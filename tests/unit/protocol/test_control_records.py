import pytest

from riverlog.errors import RemoteProtocolError
from riverlog.protocol.batches import crc_is_valid, read_header
from riverlog.protocol.control_records import TransactionMarker, build_marker_batch, read_marker
from riverlog.protocol.records import Record, read_records


@pytest.mark.parametrize(
    ("is_commit", "key", "value"),
    [(False, "0000 0000", "0000 00000007"), (True, "0000 0001", "0000 00000007")],
)
def test_a_marker_batch_holds_one_control_record_of_its_producer(
    is_commit: bool, key: str, value: str
) -> None:
    marker = TransactionMarker(is_commit, coordinator_epoch=7)

    built = build_marker_batch(
        marker, producer_id=5, producer_epoch=3, timestamp=1234, base_offset=90, leader_epoch=2
    )

    header = read_header(built)
    (record,) = read_records(built)
    assert record == Record(90, 1234, bytes.fromhex(key), bytes.fromhex(value))
    assert (header.is_control, header.is_transactional, header.record_count) == (True, True, 1)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (5, 3, -1)
    assert (header.base_offset, header.leader_epoch) == (90, 2)
    assert crc_is_valid(built, 0, header)
    assert read_marker(record) == marker


def test_other_kinds_of_control_record_end_no_transaction() -> None:
    leader_change = Record(0, 0, bytes.fromhex("0000 0002"), b"whatever")

    assert read_marker(leader_change) is None


def test_fields_of_later_versions_are_passed_over() -> None:
    later = Record(0, 0, bytes.fromhex("0001 0001 99"), bytes.fromhex("0001 00000004 99"))

    assert read_marker(later) == TransactionMarker(is_commit=True, coordinator_epoch=4)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b"\0" * 6),
        (b"\0\0\0", b"\0" * 6),
        (b"\0" * 4, None),
        (b"\0" * 4, b"\0" * 5),
        (b"\xff" * 2 + b"\0\0", b"\0" * 6),
        (b"\0" * 4, b"\xff\xff\0\0\0\0"),
    ],
    ids=["no-key", "short-key", "no-value", "short-value", "key-version", "value-version"],
)
def test_a_malformed_marker_is_refused(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(RemoteProtocolError):
        read_marker(Record(0, 0, key, value))
