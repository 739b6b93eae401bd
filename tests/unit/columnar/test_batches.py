"""Batches are checked, collected and made into columns; what cannot be read says where it is."""

from __future__ import annotations

import pickle

import pytest

from riverlog.columnar.batches import BadBatch, Collector, batches_from, checked_batches
from riverlog.columnar.schema import COLUMNS, schema
from riverlog.protocol.batches import read_header, split_batches
from riverlog.protocol.compression import Compression
from riverlog.protocol.records import RECORDS_BYTES_MAX, Record, build_batch
from tests.batch_builders import BATCH_TIME_MS, batch, records, with_header, with_record_bytes
from tests.columns import FOREVER, PLACE, as_records, by_the_record, decoded


def test_every_codec_mixes_with_every_other() -> None:
    each = [batch(2, base_offset=2 * codec, compression=codec) for codec in Compression]

    found = decoded(b"".join(each))

    assert as_records(found) == [record for one in each for record in by_the_record(one)]


def test_the_schema_says_what_comes() -> None:
    found = decoded(batch())

    assert found.schema == schema()
    assert tuple(found.schema.names) == COLUMNS
    assert found["topic"].to_pylist() == ["orders"] * 3
    assert found["partition"].to_pylist() == [3] * 3


def test_only_the_columns_asked_for_come_in_the_order_asked_for() -> None:
    found = decoded(batch(), columns=("value", "offset"))

    assert found.to_pydict() == {"value": [b"value-0", b"value-1", b"value-2"], "offset": [0, 1, 2]}


def test_null_and_empty_are_two_things() -> None:
    found = decoded(build_batch([Record(0, 0, None, b""), Record(1, 0, b"", None)]))

    assert found["key"].to_pylist() == [None, b""]
    assert found["value"].to_pylist() == [b"", None]


def test_a_record_without_time_has_none() -> None:
    found = decoded(build_batch([Record(0, -1, None, None), Record(1, 0, None, None)]))

    assert [time is None for time in found["timestamp"].to_pylist()] == [True, False]


def test_log_append_time_is_the_time_of_every_record() -> None:
    data = batch(2) + batch(1, base_offset=2, log_append_time_ms=BATCH_TIME_MS + 5000)

    found = decoded(data)

    assert found["timestamp_type"].to_pylist() == [0, 0, 1]
    times = found["timestamp"].cast("int64").to_pylist()
    assert times == [BATCH_TIME_MS, BATCH_TIME_MS + 1, BATCH_TIME_MS + 5000]


def test_a_delete_horizon_in_the_base_timestamp_is_what_deltas_count_from() -> None:
    original = build_batch([Record(0, 1000, b"k", None), Record(1, 1005, b"k", b"v")])
    marked = with_header(original, attributes=0x40)

    assert as_records(decoded(marked)) == by_the_record(original)


def test_holes_that_compaction_left_stay_holes() -> None:
    kept = [Record(3, 0, b"k", b"v"), Record(8, 0, b"l", b"w")]
    data = build_batch(kept, base_offset=0, keep_offsets=True, last_offset=11)

    assert decoded(data)["offset"].to_pylist() == [3, 8]


def test_a_batch_whose_records_are_all_gone_is_no_row() -> None:
    assert decoded(build_batch([], base_offset=0, last_offset=4)) is None


def test_headers_keep_their_order_and_nulls_and_repetitions() -> None:
    headers = (("a", b"1"), ("a", None), ("", b""), ("ключ", b"\xff"))
    found = decoded(build_batch([Record(0, 0, None, None), Record(1, 0, None, None, headers)]))

    assert found["headers"].to_pylist() == [[], [{"key": key, "value": value} for key, value in headers]]


def test_a_header_s_key_that_is_no_text_is_replaced() -> None:
    data = build_batch([Record(0, 0, None, None, (("\udcffx", b"v"), ("plain", b"w")))])

    assert [header["key"] for header in decoded(data)["headers"].to_pylist()[0]] == ["\ufffdx", "plain"]


def test_a_bad_crc_names_partition_and_offset() -> None:
    data = batch(base_offset=120) + batch(base_offset=123)
    data[-1] ^= 1

    with pytest.raises(BadBatch, match=r"orders-3: the batch at offset 123 .*CRC") as raised:
        checked_batches(data, 0, len(data), PLACE, expected_offset=120)

    assert (raised.value.place, raised.value.offset) == (PLACE, 123)
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


def test_what_is_no_batch_names_the_offset_that_should_be_there() -> None:
    data = batch(base_offset=120) + with_header(batch(base_offset=0), magic=1)

    with pytest.raises(BadBatch, match=r"at offset 123 .*format 2"):
        checked_batches(data, 0, len(data), PLACE, expected_offset=120)


def test_a_batch_cut_short_is_left_for_later() -> None:
    data = batch(base_offset=0) + batch(base_offset=3)

    walk = checked_batches(data, 0, len(data) - 1, PLACE, expected_offset=0)

    assert len(walk.batches) == 1


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.ZSTD])
def test_malformed_records_name_partition_and_offset(codec: Compression) -> None:
    good = build_batch(records(3), base_offset=7, compression=codec)
    bad = with_header(build_batch(records(3), base_offset=10, compression=codec), record_count=2)

    with pytest.raises(BadBatch, match=r"orders-3: the batch at offset 10 .*malformed record at byte \d+"):
        decoded(good + bad)


def test_more_records_than_fit_are_refused_before_room_is_made_for_them() -> None:
    with pytest.raises(BadBatch, match=r"offset 0 .*2147483647 records do not fit"):
        decoded(with_header(batch(), record_count=2**31 - 1))


def test_a_codec_that_does_not_exist_is_named() -> None:
    with pytest.raises(BadBatch, match="no codec has number 6"):
        decoded(with_header(batch(), attributes=6))


def test_a_bomb_is_refused_at_the_limit() -> None:
    bomb = build_batch([Record(0, 0, None, bytes(RECORDS_BYTES_MAX))], compression=Compression.ZSTD)

    with pytest.raises(BadBatch, match="zstd"):
        decoded(bomb)


def test_records_from_bytes_that_are_no_stream_are_refused() -> None:
    bad = with_record_bytes(batch(compression=Compression.LZ4), b"no lz4")

    with pytest.raises(BadBatch, match="lz4"):
        decoded(bad)


def test_a_collector_is_full_by_the_bytes_it_holds_and_starts_anew() -> None:
    data = batch(compression=Compression.GZIP)
    collector = Collector(PLACE, COLUMNS, target=100)
    collector.add(data, 0, read_header(data))
    was_full = collector.is_full
    collector.add(data, 0, read_header(data))

    assert (was_full, collector.is_full) == (False, True)
    assert collector.take(0, FOREVER).num_rows == 6
    assert not collector.is_full
    assert collector.take(0, FOREVER) is None


def test_a_reply_that_begins_before_the_offset_is_read_from_the_batch_that_holds_it() -> None:
    data = batch(3, base_offset=0) + batch(3, base_offset=3) + batch(3, base_offset=6)
    walk = split_batches(data, 0, len(data))

    assert [header.base_offset for _, header in batches_from(walk, 4)] == [3, 6]
