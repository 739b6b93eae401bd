import random

import pytest

from riverlog.errors import CorruptBatch
from riverlog.log.cleaning.record_columns import PADDING_BYTES, RecordBlock, read_columns
from riverlog.protocol.batches import HEADER_BYTES, read_header
from riverlog.protocol.records import Record, build_batch, read_records


def block_of(batch: bytearray, start: int) -> RecordBlock:
    header = read_header(batch)
    return RecordBlock(
        start + HEADER_BYTES,
        start + header.size,
        header.record_count,
        header.base_offset,
        header.last_offset_delta,
        header.base_timestamp,
    )


def some_record(chance: random.Random, offset: int) -> Record:
    sizes = (0, 1, 40, 63, 64, 100, 8191, 9000)
    key = chance.choice((None, chance.randbytes(chance.choice(sizes))))
    value = chance.choice((None, chance.randbytes(chance.choice(sizes))))
    headers = chance.choice(((), (("name", b"x" * 70), ("other", None))))
    timestamp = 10**12 + chance.choice((0, 1, -1, 63, 64, 10**4, -(10**9), 10**12))
    return Record(offset, timestamp, key, value, headers)


def test_columns_say_what_records_read_one_by_one_say() -> None:
    chance = random.Random(5)
    data, blocks, expected = bytearray(b"###"), [], []
    for number in range(40):
        base = number * 1000
        records = [some_record(chance, base + 3 * index) for index in range(chance.choice((1, 2, 5, 90)))]
        batch = build_batch(records, base_offset=base, keep_offsets=True)
        blocks.append(block_of(batch, len(data)))
        expected += [(number, record) for record in read_records(batch)]
        data += batch
    data += bytes(PADDING_BYTES)

    columns = read_columns(data, blocks)

    assert columns.batch.tolist() == [number for number, _ in expected]
    assert columns.offset.tolist() == [record.offset for _, record in expected]
    assert columns.timestamp.tolist() == [record.timestamp for _, record in expected]
    assert columns.has_value.tolist() == [record.value is not None for _, record in expected]
    for (_, record), start, length in zip(
        expected, columns.key_start.tolist(), columns.key_length.tolist(), strict=True
    ):
        assert (None if length < 0 else bytes(data[start : start + length])) == record.key


@pytest.mark.parametrize("value_bytes", [5, 100, 8200])
def test_records_of_one_length_are_found_like_any_others(value_bytes: int) -> None:
    records = [Record(0, 0, b"k", bytes(value_bytes))] * 200
    odd = [*records[:150], Record(0, 0, b"k", bytes(value_bytes + 1)), *records[151:]]
    for each in (records, odd, records[:1], records[:2], records[:3]):
        batch = build_batch(each)

        columns = read_columns(batch + bytes(PADDING_BYTES), [block_of(batch, 0)])

        assert columns.offset.tolist() == list(range(len(each)))


def test_batches_without_records_have_no_rows() -> None:
    batch = build_batch([Record(0, 0, b"k", b"v")])
    full = block_of(batch, 0)
    empty = RecordBlock(full.start, full.start, 0, 5, 3, -1)

    columns = read_columns(batch + bytes(PADDING_BYTES), [empty, full, empty])

    assert columns.batch.tolist() == [1]


def test_whatever_the_bytes_they_are_records_or_corrupt() -> None:
    chance = random.Random(6)
    batch = build_batch([Record(0, index, b"key", b"value", (("h", b"1"),)) for index in range(20)])
    corrupt = 0
    for _ in range(3000):
        damaged = bytearray(batch)
        for _ in range(chance.choice((1, 1, 3))):
            damaged[chance.randrange(HEADER_BYTES, len(batch))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, 33))
        try:
            columns = read_columns(damaged + bytes(PADDING_BYTES), [block_of(batch, 0)])
        except CorruptBatch:
            corrupt += 1
        else:
            assert all(0 <= offset < 20 for offset in columns.offset.tolist())
            assert all(
                start >= HEADER_BYTES and start + max(length, 0) <= len(batch)
                for start, length in zip(columns.key_start.tolist(), columns.key_length.tolist(), strict=True)
            )

    assert corrupt > 500
