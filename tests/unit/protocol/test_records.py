from typing import Any

import pytest

from riverlog.errors import LocalProtocolError, RemoteProtocolError
from riverlog.protocol.batches import crc_is_valid, read_header
from riverlog.protocol.compression import Compression
from riverlog.protocol.records import (
    Record,
    RecordHead,
    build_batch,
    first_at_or_after,
    first_with_largest_timestamp,
    null_key_indexes,
    read_heads,
    read_record_block,
    read_records,
    recompress,
)
from tests.batch_builders import BATCH_TIME_MS, batch, records, with_header, with_record_bytes
from tests.client_batches import (
    JAVA_BATCHES,
    JAVA_KEYS_VALUES_HEADERS,
    LIBRDKAFKA_BATCHES,
    LIBRDKAFKA_RECORDS,
)

ODD_RECORDS = [
    Record(0, 1000, None, None),
    Record(1, 999, b"", b""),
    Record(2, 5_000_000_000_000, b"k" * 63, b"v" * 64),
    Record(3, -1, b"k" * 8191, b"v" * 8192),
    Record(4, 0, b"key", None, (("name", b"value"), ("name", None), ("", b""), ("größe", b"\xff" * 200))),
    Record(5, 1000, None, b"value", (("not utf-8: \udcff", b"kept"),)),
]

ONE_RECORD = bytes.fromhex("10 00 00 00 02 6b 02 76 00")
"""Length 8, attributes, timestamp and offset delta 0, key "k", value "v", no headers."""


@pytest.mark.parametrize("codec", Compression)
def test_librdkafkas_batches_are_read(codec: Compression) -> None:
    read = list(read_records(LIBRDKAFKA_BATCHES[codec.name]))

    assert read == LIBRDKAFKA_RECORDS


@pytest.mark.parametrize("codec", Compression)
def test_javas_batches_are_read(codec: Compression) -> None:
    read = list(read_records(JAVA_BATCHES[codec.name]))

    assert [(record.key, record.value, record.headers) for record in read] == JAVA_KEYS_VALUES_HEADERS
    assert [record.offset for record in read] == [0, 1, 2]


def test_one_record_has_the_bytes_of_the_format() -> None:
    built = build_batch([Record(0, 5, b"k", b"v")])

    assert built[61:] == ONE_RECORD


@pytest.mark.parametrize("codec", Compression)
def test_odd_records_come_back_as_they_were_built(codec: Compression) -> None:
    built = build_batch(ODD_RECORDS, compression=codec)

    assert list(read_records(built)) == ODD_RECORDS
    assert crc_is_valid(built, 0, read_header(built))
    assert read_header(built).compression is codec


def test_a_built_header_says_what_was_asked_for() -> None:
    built = build_batch(
        records(3),
        base_offset=70,
        leader_epoch=4,
        compression=Compression.ZSTD,
        producer_id=9,
        producer_epoch=2,
        base_sequence=11,
        is_transactional=True,
    )

    header = read_header(built)
    assert header._replace(crc=0) == (
        *(70, len(built) - 12, 4, 2, 0, 0x14, 2, BATCH_TIME_MS, BATCH_TIME_MS + 2, 9, 2, 11, 3),
    )


def test_a_plain_batch_has_no_producer_and_no_epoch() -> None:
    header = read_header(build_batch(records(1)))

    assert (header.leader_epoch, header.producer_id, header.producer_epoch, header.base_sequence) == (-1,) * 4


def test_timestamps_out_of_order_leave_the_first_as_base_and_the_largest_as_maximum() -> None:
    timestamps = [500, 900, 100]

    built = build_batch([Record(0, timestamp, None, None) for timestamp in timestamps])

    header = read_header(built)
    assert (header.base_timestamp, header.max_timestamp) == (500, 900)
    assert [record.timestamp for record in read_records(built)] == timestamps


def test_under_log_append_time_every_record_has_the_batchs_time() -> None:
    built = build_batch(records(3), log_append_time_ms=BATCH_TIME_MS + 50)

    assert read_header(built).uses_log_append_time
    assert {record.timestamp for record in read_records(built)} == {BATCH_TIME_MS + 50}
    assert {head.timestamp for head in read_heads(built)} == {BATCH_TIME_MS + 50}


def test_records_are_numbered_from_the_base_offset_whatever_they_say_themselves() -> None:
    built = build_batch([Record(99, 1, None, None), Record(7, 2, None, None)], base_offset=40)

    assert [record.offset for record in read_records(built)] == [40, 41]


def test_a_compacted_batch_keeps_its_offsets_and_its_range() -> None:
    survivors = [Record(41, 1, b"a", b""), Record(47, 2, b"b", b"")]

    built = build_batch(survivors, base_offset=40, keep_offsets=True, last_offset=49)

    header = read_header(built)
    assert list(read_records(built)) == survivors
    assert (header.base_offset, header.last_offset, header.record_count) == (40, 49, 2)


def test_a_batch_that_lost_all_its_records_can_be_kept_empty() -> None:
    built = build_batch([], base_offset=40, last_offset=49, producer_id=3)

    assert list(read_records(built)) == []
    assert list(read_heads(built)) == []
    assert read_header(built).last_offset == 49
    assert first_with_largest_timestamp(built, 0) is None


@pytest.mark.parametrize(
    ("own_offsets", "options"),
    [
        ([5, 5], {"keep_offsets": True}),
        ([5, 4], {"keep_offsets": True}),
        ([5], {"keep_offsets": True, "base_offset": 6}),
        ([], {}),
        ([0, 1], {"last_offset": 0}),
        ([0], {"producer_id": 2**63}),
        ([0], {"producer_epoch": 2**15}),
    ],
    ids=["repeated", "falling", "before-base", "empty", "last-before-end", "wide-id", "wide-epoch"],
)
def test_what_the_format_cannot_express_is_not_built(own_offsets: list[int], options: dict[str, Any]) -> None:
    with pytest.raises(LocalProtocolError):
        build_batch([Record(offset, 0, None, None) for offset in own_offsets], **options)


@pytest.mark.parametrize("source", Compression)
@pytest.mark.parametrize("target", Compression)
def test_recompressing_changes_codec_length_and_crc_only(source: Compression, target: Compression) -> None:
    original = batch(50, compression=source, producer_id=4, base_sequence=6, is_transactional=True)

    changed = recompress(b"--" + original, 2, target)

    before, after = read_header(original), read_header(changed)
    assert after == before._replace(
        batch_length=len(changed) - 12, crc=after.crc, attributes=before.attributes & ~7 | target
    )
    assert crc_is_valid(changed, 0, after)
    assert list(read_records(changed)) == list(read_records(original))


def test_a_batch_is_read_at_its_position() -> None:
    buffer = bytearray(b"--" + batch(2) + batch(3))

    assert list(read_records(buffer, 2)) == records(2)
    assert list(read_records(memoryview(buffer), 2 + len(batch(2)))) == records(3)


def test_heads_tell_offset_timestamp_and_key_length() -> None:
    built = build_batch(ODD_RECORDS, base_offset=10, compression=Compression.LZ4)

    heads = list(read_heads(built))

    assert heads == [
        RecordHead(10 + index, record.timestamp, -1 if record.key is None else len(record.key))
        for index, record in enumerate(ODD_RECORDS)
    ]


@pytest.mark.parametrize(
    ("target", "found"), [(0, 0), (100, 0), (101, 1), (300, 1), (301, 3), (400, 3), (401, None)]
)
def test_the_first_record_at_or_after_a_time_is_found_inside_a_batch(target: int, found: int | None) -> None:
    timestamps = [100, 300, 200, 400]
    built = build_batch([Record(0, timestamp, None, b"v") for timestamp in timestamps], base_offset=8)

    head = first_at_or_after(built, 0, target)

    assert head == (None if found is None else RecordHead(8 + found, timestamps[found], -1))


def test_the_first_of_several_largest_timestamps_is_found() -> None:
    built = build_batch([Record(0, timestamp, b"k", None) for timestamp in (100, 300, 200, 300)])

    assert first_with_largest_timestamp(built, 0) == RecordHead(1, 300, 1)


def test_null_keys_are_told_by_index_and_empty_keys_are_keys() -> None:
    keys = [b"a", None, b"", None]
    built = build_batch([Record(0, 0, key, b"v") for key in keys], base_offset=50)

    assert null_key_indexes(built, 0) == [1, 3]


MALFORMED = {
    "no record where one is promised": "",
    "a record cut off in its key": "10 00 00 00 02",
    "a record longer than the batch": "12 00 00 00 02 6b 02 76 00",
    "a record shorter than its key": "08 00 00 00 02 6b 02 76 00",
    "a negative length": "01 00 00 00 02 6b 02 76 00",
    "a negative offset": "10 00 00 01 02 6b 02 76 00",
    "an offset behind the batch": "10 00 00 02 02 6b 02 76 00",
    "a key length of -2": "10 00 00 00 03 6b 02 76 00",
    "a key beyond the record": "10 00 00 00 0a 6b 02 76 00",
    "a length of more than 32 bits": "ff ff ff ff ff 01 00 00 00 02 6b",
    "a timestamp of more than 64 bits": "24 00 ff ff ff ff ff ff ff ff ff 7f 00 02 6b 02 76 00 00",
    "a timestamp that overflows on top of the base": "22 00 fe ff ff ff ff ff ff ff ff 01 00 02 6b 02 76 00",
    "a varint without end": "ff ff ff ff ff ff ff ff ff ff ff ff ff ff",
    "more records than promised": "10 00 00 00 02 6b 02 76 00 10 00 00 00 02 6b 02 76 00",
}
MALFORMED_BEHIND_THE_KEY = {
    "a record shorter than its fields": "0e 00 00 00 02 6b 02 76 00",
    "a record longer than its fields": "12 00 00 00 02 6b 02 76 00 00",
    "a value length of -2": "10 00 00 00 02 6b 03 76 00",
    "a value beyond the record": "10 00 00 00 02 6b 7e 76 00",
    "-1 headers": "10 00 00 00 02 6b 02 76 01",
    "more headers than bytes": "10 00 00 00 02 6b 02 76 7e",
    "a header key of length -1": "14 00 00 00 02 6b 02 76 02 01 00",
    "a header key beyond the record": "14 00 00 00 02 6b 02 76 02 08 00",
    "a header value of length -2": "14 00 00 00 02 6b 02 76 02 00 03",
    "a header value beyond the record": "14 00 00 00 02 6b 02 76 02 00 7e",
}


def malformed_batch(block: str, codec: Compression) -> bytearray:
    """A batch of one record at time 1 and offset 0 whose records are these bytes."""
    malformed = with_record_bytes(build_batch([Record(0, 1, b"k", b"v")]), bytes.fromhex(block))
    # Zero records make the bytes acceptable while they are compressed.
    compressed = recompress(with_header(malformed, record_count=0), 0, codec)
    return with_header(compressed, record_count=1)


@pytest.mark.parametrize("block", (MALFORMED | MALFORMED_BEHIND_THE_KEY).values())
@pytest.mark.parametrize("codec", [Compression.NONE, Compression.SNAPPY])
def test_malformed_records_are_refused(block: str, codec: Compression) -> None:
    malformed = malformed_batch(block, codec)

    with pytest.raises(RemoteProtocolError):
        list(read_records(malformed))


@pytest.mark.parametrize("block", MALFORMED.values())
def test_heads_of_malformed_records_are_refused(block: str) -> None:
    malformed = malformed_batch(block, Compression.NONE)

    with pytest.raises(RemoteProtocolError):
        list(read_heads(malformed))


@pytest.mark.parametrize("count", [-1, 2, 2**31 - 1])
def test_a_record_count_that_the_bytes_cannot_hold_is_refused_before_any_record(count: int) -> None:
    lying = with_header(build_batch([Record(0, 0, b"k", b"v")]), record_count=count)

    with pytest.raises(RemoteProtocolError, match=str(count)):
        read_records(lying)


@pytest.mark.parametrize("length", [-1, 0, 48, 70 - 12 + 1, 2**31 - 1])
def test_a_batch_length_that_does_not_fit_the_buffer_is_refused(length: int) -> None:
    lying = with_header(build_batch([Record(0, 0, b"k", b"v")]), batch_length=length)

    with pytest.raises(RemoteProtocolError, match="long"):
        read_records(lying)


def test_an_older_format_is_refused_by_number() -> None:
    with pytest.raises(RemoteProtocolError, match="format 1"):
        read_records(with_header(batch(1), magic=1))


def test_records_are_not_decompressed_beyond_the_size_limit() -> None:
    bomb = build_batch([Record(0, 0, None, bytes(1_000_000))], compression=Compression.ZSTD)

    with pytest.raises(RemoteProtocolError):
        read_records(bomb, size_limit=100_000)
    with pytest.raises(RemoteProtocolError):
        recompress(bomb, 0, Compression.NONE, size_limit=100_000)
    assert len(read_record_block(bomb, 0, read_header(bomb), size_limit=1_100_000)) > 1_000_000


def test_garbage_under_a_codec_is_refused_when_reading_begins() -> None:
    garbage = with_header(batch(3), attributes=int(Compression.GZIP))

    with pytest.raises(RemoteProtocolError, match="gzip"):
        read_records(garbage)


def test_records_before_a_malformed_one_are_still_given() -> None:
    broken = with_record_bytes(batch(2), ONE_RECORD + b"\x10\x00\x7f" + bytes(6))

    read = read_records(broken)

    assert next(read).key == b"k"
    with pytest.raises(RemoteProtocolError):
        next(read)
