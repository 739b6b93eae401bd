"""What stays of a log, rule by rule. The whole is tested against a dictionary in tests/property."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from riverlog.errors import CorruptBatch
from riverlog.log import PartitionLog
from riverlog.protocol.batches import BatchHeader
from riverlog.protocol.compression import Compression
from riverlog.protocol.records import Record, build_batch
from tests.compaction import clean
from tests.log_builders import NOW, append, new_log, offsets, read_all, reopened

DAY = 86_400_000
COMPACT: dict[str, Any] = {
    "cleanup_policy": frozenset({"compact"}),
    "segment_bytes": 1 << 20,
    "index_interval_bytes": 100,
}


def put(log: PartitionLog, *pairs: tuple[bytes | None, bytes | None], **options: Any) -> int:
    """Append records of these keys and values in one batch."""
    return append(log, build_batch([Record(0, NOW, key, value) for key, value in pairs], **options))


def end_transaction(log: PartitionLog, producer_id: int, *, is_commit: bool) -> int:
    result = log.append_marker(producer_id, 0, is_commit=is_commit, coordinator_epoch=0, now_ms=NOW)
    assert result.error_code == 0
    return result.base_offset


def roll(log: PartitionLog) -> None:
    """Seal what was appended so far."""
    assert log.roll_if_due(NOW + 365 * DAY)


def contents(log: PartitionLog) -> dict[bytes | None, bytes | None]:
    return {record.key: record.value for record in read_all(log)}


def headers(log: PartitionLog) -> list[BatchHeader]:
    return [header for segment in log.segments for _, header in segment.headers()]


def test_of_each_key_the_last_value_stays_at_its_offset(tmp_path: Path) -> None:
    log = new_log(tmp_path, **COMPACT)
    put(log, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"))
    put(log, (b"b", b"2"), (b"c", b"1"))
    put(log, (b"c", b"2"))
    roll(log)

    outcome = clean(log)

    assert [(each.offset, each.key, each.value) for each in read_all(log)] == [
        (2, b"a", b"2"),
        (3, b"b", b"2"),
        (5, b"c", b"2"),
    ]
    assert (outcome.end, log.cleaned_offset, outcome.keys) == (6, 6, 3)


def test_the_active_segment_is_neither_changed_nor_looked_at(tmp_path: Path) -> None:
    log = new_log(tmp_path, **COMPACT)
    put(log, (b"a", b"1"))
    roll(log)
    put(log, (b"a", b"2"), (b"a", b"3"))

    clean(log)

    assert offsets(log) == [0, 1, 2]


def test_nothing_from_the_first_open_transaction_on_is_cleaned(tmp_path: Path) -> None:
    log = new_log(tmp_path, **COMPACT)
    put(log, (b"a", b"1"), (b"a", b"2"))
    roll(log)
    put(log, (b"a", b"3"), producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    put(log, (b"a", b"4"))
    roll(log)
    put(log, (b"z", b"z"))

    outcome = clean(log)

    assert outcome.end == 2
    assert offsets(log) == [1, 2, 3, 4]
    end_transaction(log, 5, is_commit=True)
    clean(log)
    assert offsets(log)[0] == 3


def test_nothing_above_the_high_watermark_is_cleaned(tmp_path: Path) -> None:
    log = new_log(tmp_path, **COMPACT)
    log.follows_log_end = False
    put(log, (b"a", b"1"), (b"a", b"2"))
    roll(log)
    put(log, (b"b", b"1"), (b"b", b"2"))
    roll(log)
    log.advance_high_watermark(2)

    assert clean(log).end == 2


def test_a_tombstone_gets_its_horizon_at_once_and_goes_when_that_is_over(tmp_path: Path) -> None:
    log = new_log(tmp_path, **COMPACT, delete_retention_ms=DAY)
    put(log, (b"a", b"1"), (b"b", b"1"))
    put(log, (b"a", None), (b"c", b"1"))
    roll(log)

    clean(log, now_ms=NOW)
    assert contents(log) == {b"b": b"1", b"a": None, b"c": b"1"}
    marked = headers(log)[1]
    assert marked.has_delete_horizon
    assert marked.base_timestamp == NOW + DAY
    assert [record.timestamp for record in read_all(log)] == [NOW] * 3

    put(log, (b"d", b"1"))
    roll(log)
    clean(log, now_ms=NOW + DAY - 1)
    assert b"a" in contents(log)
    # A later cleaning does not begin the time again.
    assert headers(log)[1].base_timestamp == NOW + DAY

    put(log, (b"e", b"1"))
    roll(log)
    clean(log, now_ms=NOW + DAY)
    assert contents(log) == {b"b": b"1", b"c": b"1", b"d": b"1", b"e": b"1"}


def test_aborted_records_go_and_leave_older_values_alone(tmp_path: Path) -> None:
    log = new_log(tmp_path, **COMPACT, delete_retention_ms=DAY)
    put(log, (b"a", b"1"))
    put(log, (b"a", b"2"), producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    put(log, (b"b", b"1"), producer_id=6, producer_epoch=0, base_sequence=0, is_transactional=True)
    end_transaction(log, 5, is_commit=False)
    end_transaction(log, 6, is_commit=True)
    # Producers that went on since: these batches are not their last ones.
    for producer_id in (5, 6):
        put(log, (b"x", b"x"), producer_id=producer_id, producer_epoch=0, base_sequence=1)
    roll(log)

    clean(log)

    assert [record.offset for record in read_all(log) if record.key in (b"a", b"b")] == [0, 2]


def test_a_marker_goes_after_its_horizon_once_nothing_else_is_left(tmp_path: Path) -> None:
    log = new_log(tmp_path, **COMPACT, delete_retention_ms=DAY)
    put(log, (b"a", b"1"), producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    marker = end_transaction(log, 5, is_commit=False)
    for sequence in (1, 2):
        put(log, (b"b", b"1"), producer_id=5, producer_epoch=0, base_sequence=sequence)
        roll(log)

    def markers() -> list[tuple[int, bool]]:
        return [(each.base_offset, each.has_delete_horizon) for each in headers(log) if each.is_control]

    def named() -> int:
        return sum(len(segment.transaction_index) for segment in log.segments)

    clean(log)
    assert (markers(), named()) == ([(marker, False)], 1)
    put(log, (b"c", b"1"))
    roll(log)
    clean(log)
    assert (markers(), named()) == ([(marker, True)], 0)
    put(log, (b"d", b"1"))
    roll(log)
    clean(log, now_ms=NOW + DAY - 1)
    assert markers() == [(marker, True)]
    put(log, (b"e", b"1"))
    roll(log)
    clean(log, now_ms=NOW + DAY)
    assert markers() == []


def test_a_transaction_that_is_decided_in_the_active_segment_is_known(tmp_path: Path) -> None:
    log = new_log(tmp_path, **COMPACT)
    put(log, (b"a", b"1"))
    put(log, (b"a", b"2"), producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    roll(log)
    end_transaction(log, 5, is_commit=False)

    clean(log)

    assert [record.value for record in read_all(log) if record.key == b"a"] == [b"1"]
    result = log.read(0, 1 << 20, read_committed=True, must_return_one_batch=True)
    assert result.aborted == [(5, 1)] or result.aborted == []


def test_a_producers_last_batch_stays_without_records(tmp_path: Path) -> None:
    log = new_log(tmp_path, **COMPACT)
    for sequence in range(3):
        put(log, (b"a", b"1"), producer_id=5, producer_epoch=0, base_sequence=sequence)
    put(log, (b"a", b"2"))
    roll(log)

    clean(log)

    assert [(each.base_offset, each.record_count, each.base_sequence) for each in headers(log)] == [
        (2, 0, 2),
        (3, 1, -1),
    ]
    # The snapshots are gone, so all that is known of the producer is in the log.
    for snapshot in tmp_path.rglob("*.snapshot"):
        snapshot.unlink()
    again = reopened(log, **COMPACT)
    result = again.append(
        build_batch([Record(0, NOW, b"a", b"1")], producer_id=5, producer_epoch=0, base_sequence=2),
        0,
        len(build_batch([Record(0, NOW, b"a", b"1")], producer_id=5, producer_epoch=0, base_sequence=2)),
        NOW,
    )
    assert (result.is_duplicate, result.base_offset) == (True, 2)


def test_the_last_batch_of_a_cleaning_stays_as_a_header(tmp_path: Path) -> None:
    log = new_log(tmp_path, **COMPACT)
    put(log, (b"a", b"1"))
    for sequence in range(2):
        put(log, (b"b", b"1"), producer_id=5, producer_epoch=0, base_sequence=sequence, is_transactional=True)
    roll(log)
    end_transaction(log, 5, is_commit=False)
    put(log, (b"c", b"1"), producer_id=5, producer_epoch=0, base_sequence=2)

    clean(log)

    # Offset 1 is gone altogether; without 2 nobody could tell that the log does not end at 0.
    assert [(each.base_offset, each.record_count) for each in headers(log)] == [
        (0, 1),
        (2, 0),
        (3, 1),
        (4, 1),
    ]
    assert offsets(log) == [0, 3, 4]


def test_records_without_key_go(tmp_path: Path) -> None:
    log = new_log(tmp_path, segment_bytes=1 << 20)
    put(log, (None, b"1"), (b"a", b"1"), (None, None))
    roll(log)
    log.settings = new_log(tmp_path / "other", **COMPACT).settings

    clean(log)

    assert contents(log) == {b"a": b"1"}


@pytest.mark.parametrize("codec", Compression)
def test_batches_keep_their_codec_and_whole_ones_their_bytes(tmp_path: Path, codec: Compression) -> None:
    log = new_log(tmp_path, **COMPACT)
    put(log, (b"a", b"1" * 100), (b"b", b"1" * 100), compression=codec)
    put(log, (b"c", b"1" * 100), (b"d", b"1" * 100), compression=codec)
    put(log, (b"a", b"2"))
    roll(log)
    whole = headers(log)[1]

    clean(log)

    assert [each.compression for each in headers(log)] == [codec, codec, Compression.NONE]
    assert headers(log)[1] == whole
    assert contents(log) == {b"a": b"2", b"b": b"1" * 100, b"c": b"1" * 100, b"d": b"1" * 100}


def test_small_segments_become_one(tmp_path: Path) -> None:
    log = new_log(tmp_path, **COMPACT)
    for number in range(10):
        put(log, (b"k%d" % number, b"1"))
        roll(log)

    clean(log)

    assert [segment.base_offset for segment in log.segments] == [0, 10]
    assert offsets(log) == list(range(10))
    assert log.segments[0].largest_timestamp == NOW


def test_segments_are_put_together_no_further_than_segment_bytes(tmp_path: Path) -> None:
    log = new_log(tmp_path, **COMPACT)
    for number in range(4):
        put(log, (b"k%d" % number, bytes(400)))
        roll(log)
    log.settings = new_log(tmp_path / "other", **{**COMPACT, "segment_bytes": 1100}).settings

    clean(log)

    assert [segment.base_offset for segment in log.segments] == [0, 2, 4]


def test_a_full_map_ends_the_round_and_the_next_one_goes_on(tmp_path: Path) -> None:
    log = new_log(tmp_path, **COMPACT)
    for number in range(40):
        put(log, *((b"k%d" % (number * 7 % 40), b"%d" % version) for version in range(3)))
    roll(log)
    ends = []
    while log.cleaned_offset < 120:
        outcome = clean(log, log_cleaner_dedupe_buffer_size=400, log_cleaner_io_buffer_load_factor=0.9)
        assert outcome.keys <= 9
        ends.append(outcome.end)

    assert len(ends) > 4
    assert ends == sorted(set(ends))
    assert len(read_all(log)) == 40
    assert {record.value for record in read_all(log)} == {b"2"}


def test_a_batch_larger_than_the_buffer_is_cleaned_too(tmp_path: Path) -> None:
    log = new_log(tmp_path, **COMPACT)
    put(log, (b"a", bytes(50_000)), (b"b", b"1"))
    put(log, (b"a", bytes(60_000)))
    put(log, (b"c", b"1"))
    roll(log)

    clean(log, log_cleaner_io_buffer_size=4096)

    assert offsets(log) == [1, 2, 3]


def damaged_crc(data: bytearray) -> None:
    data[100] ^= 1


def damaged_magic(data: bytearray) -> None:
    data[16] = 1


def cut_short(data: bytearray) -> None:
    del data[-10:]


@pytest.mark.parametrize("damage", [damaged_crc, damaged_magic, cut_short])
def test_damaged_data_is_named_and_left_as_it_was(
    tmp_path: Path, damage: Callable[[bytearray], None]
) -> None:
    log = new_log(tmp_path, **COMPACT)
    put(log, (b"a", bytes(100)), (b"a", b"2"))
    roll(log)
    path = Path(log.segments[0].log_path)
    data = bytearray(path.read_bytes())
    damage(data)
    path.write_bytes(data)

    with pytest.raises(CorruptBatch, match=r"00000000000000000000\.log"):
        clean(log)

    assert path.read_bytes() == data
    assert log.cleaned_offset == 0
    assert not list(tmp_path.rglob("*.cleaned"))


def test_leftovers_of_an_earlier_cleaning_are_removed_first(tmp_path: Path) -> None:
    log = new_log(tmp_path, **COMPACT)
    put(log, (b"a", b"1"))
    roll(log)
    leftover = Path(log.path) / "00000000000000000000.timeindex.cleaned"
    leftover.write_bytes(b"x")

    clean(log)

    assert not leftover.exists()
    assert len(read_all(reopened(log, **COMPACT))) == 1


def test_a_cleaned_log_is_found_again_by_offset_and_by_timestamp(tmp_path: Path) -> None:
    log = new_log(tmp_path, **COMPACT)
    for number in range(300):
        append(log, build_batch([Record(0, NOW + number, b"k%d" % (number % 100), bytes(50))]))
    roll(log)
    clean(log)

    assert offsets(log) == list(range(200, 300))
    assert offsets(log, 5)[0] == 200
    for offset in (200, 217, 299):
        assert offsets(log, offset)[0] == offset
        found = log.offset_for_timestamp(NOW + offset)
        assert found is not None
        assert found.offset == offset
    found = log.offset_for_timestamp(NOW)
    assert found is not None
    assert found.offset == 200


def test_a_batch_without_records_has_no_part_in_look_ups_by_time(tmp_path: Path) -> None:
    log = new_log(tmp_path, **COMPACT)
    append(log, build_batch([Record(0, NOW, b"a", b"1")]))
    late = [Record(0, NOW + 1000, b"b", b"1")]
    append(log, build_batch(late, producer_id=5, producer_epoch=0, base_sequence=0))
    append(log, build_batch([Record(0, NOW + 10, b"b", b"2")]))
    roll(log)

    clean(log)

    for each in (log, reopened(log, **COMPACT)):
        assert [header.record_count for header in headers(each)] == [1, 0, 1]
        found = each.max_timestamp()
        assert found is not None
        assert (found.offset, found.timestamp) == (2, NOW + 10)
        assert each.offset_for_timestamp(NOW + 500) is None


def test_what_holds_no_latest_value_is_read_once(tmp_path: Path) -> None:
    log = new_log(tmp_path, **COMPACT)
    for _ in range(20):
        put(log, (b"a", bytes(4000)))
    for sequence in range(2):
        put(log, (b"a", b""), producer_id=5, producer_epoch=0, base_sequence=sequence)
    for _ in range(20):
        put(log, (b"a", bytes(4000)))
    roll(log)
    size = log.size

    outcome = clean(log, log_cleaner_io_buffer_size=8192)

    assert size < outcome.read_bytes < 1.4 * size
    # The producer's last batch lies in a piece of which nothing else stays.
    assert [(each.base_offset, each.record_count) for each in headers(log)] == [(21, 0), (41, 1)]


def test_what_belongs_to_transactions_is_read_twice_whatever_stays(tmp_path: Path) -> None:
    log = new_log(tmp_path, **COMPACT)
    for sequence in range(10):
        put(
            log,
            (b"a", bytes(4000)),
            producer_id=5,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=True,
        )
    end_transaction(log, 5, is_commit=True)
    put(log, (b"a", b"2"))
    roll(log)
    size = log.size

    outcome = clean(log, log_cleaner_io_buffer_size=8192)

    assert outcome.read_bytes == 2 * size
    assert [(each.base_offset, each.record_count) for each in headers(log)] == [(9, 0), (10, 1), (11, 1)]


def test_damaged_data_behind_what_the_map_has_seen_is_not_copied(tmp_path: Path) -> None:
    log = new_log(tmp_path, **COMPACT)
    for number in range(40):
        put(log, (b"k%d" % number, bytes(400)))
    roll(log)
    path = Path(log.segments[0].log_path)
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)

    with pytest.raises(CorruptBatch):
        clean(log, log_cleaner_dedupe_buffer_size=400, log_cleaner_io_buffer_size=4096)

    assert path.read_bytes() == data


def test_a_compacted_log_that_deletes_as_well_obeys_both(tmp_path: Path) -> None:
    both = {**COMPACT, "cleanup_policy": frozenset({"compact", "delete"}), "retention_ms": 3 * DAY}
    log = new_log(tmp_path, **both)
    for age in (2, 1, 0):
        time_ms = NOW - age * DAY
        append(log, build_batch([Record(0, time_ms, b"k%d" % age, b"1"), Record(0, time_ms, b"k", b"1")]))
        roll(log)
    log.settings = new_log(tmp_path / "other", **{**both, "segment_bytes": 100}).settings
    clean(log)
    assert offsets(log) == [0, 2, 4, 5]

    # By now the oldest is too old, and retention does not care who is whose latest value.
    assert log.apply_retention(NOW + DAY + 1) == 1
    assert (log.log_start_offset, offsets(log)) == (2, [2, 4, 5])
    put(log, (b"k", b"2"))
    roll(log)
    clean(log)
    assert offsets(log) == [2, 4, 6]

    # A log whose start has passed what was clean is dirty from its start on.
    log.apply_retention(NOW + 9 * DAY)
    put(log, (b"k", b"3"), (b"k", b"4"))
    roll(log)
    clean(log)
    assert (log.log_start_offset, offsets(log)) == (7, [8])
