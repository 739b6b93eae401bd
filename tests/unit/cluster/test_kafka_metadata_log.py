"""Settings are read from the metadata log that Apache Kafka leaves behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from riverlog.cluster import Resource, ResourceType, read_kafka_overrides
from riverlog.cluster.kafka_metadata_log import SettingsReplay
from riverlog.errors import RemoteProtocolError, StorageError
from riverlog.protocol.records import Record, build_batch

A, B = b"\x0a" * 16, b"\x0b" * 16
TOPIC, BROKER, GROUP = 2, 4, 32
BEGIN, END, ABORT = b"\x01\x17\x00\x00\x00", b"\x01\x18\x00\x00", b"\x01\x19\x00\x00\x00"
OTHER = b"\x01\x14\x00\x00"

ORDERS = Resource(ResourceType.TOPIC, "orders")
CLICKS = Resource(ResourceType.TOPIC, "clicks")


def text(value: str | None) -> bytes:
    return b"\0" if value is None else bytes([len(value) + 1]) + value.encode()


def topic(name: str, topic_id: bytes) -> bytes:
    return b"\x01\x02\x00" + text(name) + topic_id + b"\0"


def removed(topic_id: bytes) -> bytes:
    return b"\x01\x09\x00" + topic_id + b"\0"


def setting(kind: int, resource: str, name: str, value: str | None) -> bytes:
    return b"\x01\x04\x00" + bytes([kind]) + text(resource) + text(name) + text(value) + b"\0"


def replayed(*records: bytes) -> dict[Resource, dict[str, str]]:
    replay = SettingsReplay()
    for record in records:
        replay.replay(record)
    return replay.overrides


def metadata_log(
    directory: Path, name: str, *records: bytes, base_offset: int = 0, is_control: bool = False
) -> bytes:
    """Add a file of one batch to the metadata log; gives the batch."""
    (directory / "__cluster_metadata-0").mkdir(exist_ok=True)
    batch = build_batch(
        [Record(base_offset + number, 0, None, value) for number, value in enumerate(records)],
        base_offset=base_offset,
        is_control=is_control,
    )
    (directory / "__cluster_metadata-0" / name).write_bytes(batch)
    return bytes(batch)


def test_the_last_value_of_each_setting_counts() -> None:
    overrides = replayed(
        topic("orders", A),
        setting(TOPIC, "orders", "retention.ms", "5"),
        OTHER,
        setting(TOPIC, "orders", "cleanup.policy", "compact"),
        setting(TOPIC, "orders", "retention.ms", "6"),
        setting(BROKER, "", "log.retention.ms", "7"),
        setting(GROUP, "g", "consumer.session.timeout.ms", "8"),
    )

    assert overrides == {
        ORDERS: {"retention.ms": "6", "cleanup.policy": "compact"},
        Resource(ResourceType.BROKER, ""): {"log.retention.ms": "7"},
    }


def test_a_setting_without_a_value_is_gone() -> None:
    overrides = replayed(
        setting(TOPIC, "orders", "retention.ms", "5"),
        setting(TOPIC, "orders", "flush.ms", "6"),
        setting(TOPIC, "orders", "retention.ms", None),
    )

    assert overrides == {ORDERS: {"flush.ms": "6"}}


def test_a_topic_that_was_removed_takes_its_settings_along_and_its_successor_has_none_of_them() -> None:
    overrides = replayed(
        topic("orders", A),
        setting(TOPIC, "orders", "retention.ms", "5"),
        removed(A),
        topic("orders", B),
        setting(TOPIC, "orders", "flush.ms", "6"),
    )

    assert overrides == {ORDERS: {"flush.ms": "6"}}


def test_records_of_a_transaction_count_once_it_has_ended() -> None:
    kept, dropped, unfinished = (setting(TOPIC, "orders", "flush.ms", value) for value in "123")

    assert replayed(BEGIN, kept, END) == {ORDERS: {"flush.ms": "1"}}
    assert replayed(BEGIN, kept, END, BEGIN, dropped, ABORT) == {ORDERS: {"flush.ms": "1"}}
    assert replayed(BEGIN, kept, END, BEGIN, unfinished) == {ORDERS: {"flush.ms": "1"}}


@pytest.mark.parametrize("cut", range(2, 22))
def test_a_record_that_is_cut_short_is_refused(cut: int) -> None:
    record = setting(TOPIC, "orders", "retention.ms", "5")

    with pytest.raises(RemoteProtocolError):
        replayed(record[: len(record) - cut])


def test_without_a_metadata_log_there_are_no_settings(tmp_path: Path) -> None:
    assert read_kafka_overrides([str(tmp_path), str(tmp_path / "gone")]) == {}


def test_the_log_is_read_segment_by_segment_from_whichever_directory_has_it(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    metadata_log(
        tmp_path / "two", "00000000000000000002.log", setting(TOPIC, "orders", "flush.ms", "2"), base_offset=2
    )
    metadata_log(
        tmp_path / "two", "00000000000000000000.log", setting(TOPIC, "orders", "flush.ms", "1"), OTHER
    )

    found = read_kafka_overrides([str(tmp_path / "one"), str(tmp_path / "two")])

    assert found == {ORDERS: {"flush.ms": "2"}}


def test_the_newest_snapshot_stands_for_everything_before_its_offset(tmp_path: Path) -> None:
    metadata_log(
        tmp_path, "00000000000000000001-0000000001.checkpoint", setting(TOPIC, "orders", "flush.ms", "old")
    )
    metadata_log(
        tmp_path, "00000000000000000002-0000000001.checkpoint", setting(TOPIC, "orders", "flush.ms", "10")
    )
    metadata_log(
        tmp_path,
        "00000000000000000000.log",
        setting(TOPIC, "clicks", "flush.ms", "before the snapshot"),
        setting(TOPIC, "clicks", "flush.ms", "before the snapshot"),
        setting(TOPIC, "clicks", "flush.ms", "20"),
    )

    found = read_kafka_overrides([str(tmp_path)])

    assert found == {ORDERS: {"flush.ms": "10"}, CLICKS: {"flush.ms": "20"}}


def test_control_batches_and_a_torn_end_are_passed_over(tmp_path: Path) -> None:
    control = metadata_log(tmp_path, "00000000000000000000.log", b"not a metadata record", is_control=True)
    good = metadata_log(
        tmp_path, "00000000000000000000.log", setting(TOPIC, "orders", "flush.ms", "1"), base_offset=1
    )
    path = tmp_path / "__cluster_metadata-0" / "00000000000000000000.log"
    path.write_bytes(control + good + good[:-1])

    assert read_kafka_overrides([str(tmp_path)]) == {ORDERS: {"flush.ms": "1"}}


def test_a_log_that_makes_no_sense_is_an_error_and_not_taken_for_empty(tmp_path: Path) -> None:
    metadata_log(tmp_path, "00000000000000000000.log", b"\x01\x04\x00\x02\x7fshort")

    with pytest.raises(StorageError, match="metadata log"):
        read_kafka_overrides([str(tmp_path)])
