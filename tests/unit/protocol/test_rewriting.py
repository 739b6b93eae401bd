import pytest

from riverlog.protocol.batches import HEADER_BYTES, crc_is_valid, read_header
from riverlog.protocol.compression import Compression
from riverlog.protocol.records import Record, build_batch, read_record_block, read_records
from riverlog.protocol.rewriting import with_delete_horizon, with_some_records, without_records

T = 1_700_000_000_000
RECORDS = [Record(index, T + 10 * index, b"k%d" % index, b"v" * 50) for index in range(4)]
KEPT = ("base_offset", "last_offset_delta", "leader_epoch", "producer_id", "producer_epoch", "base_sequence")


def original(compression: Compression = Compression.NONE, **options: object) -> bytearray:
    return build_batch(
        RECORDS,
        base_offset=100,
        compression=compression,
        leader_epoch=3,
        producer_id=9,
        producer_epoch=2,
        base_sequence=40,
        is_transactional=True,
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("codec", Compression)
def test_a_batch_keeps_its_place_its_codec_and_some_of_its_records(codec: Compression) -> None:
    batch = original(codec)
    before = read_header(batch)
    record_bytes = (len(read_record_block(batch, 0, before))) // 4
    block = read_record_block(batch, 0, before)[record_bytes : 3 * record_bytes]

    after = with_some_records(before, block, 2, T + 20)

    header = read_header(after)
    assert [getattr(header, name) for name in KEPT] == [getattr(before, name) for name in KEPT]
    assert (header.attributes, header.record_count, header.max_timestamp) == (before.attributes, 2, T + 20)
    assert crc_is_valid(after, 0, header)
    assert [(each.offset, each.timestamp, each.key) for each in read_records(after)] == [
        (101, T + 10, b"k1"),
        (102, T + 20, b"k2"),
    ]


def test_under_log_append_time_the_batch_keeps_its_time() -> None:
    batch = original(log_append_time_ms=T + 777)
    before = read_header(batch)

    after = with_some_records(before, read_record_block(batch, 0, before), 4, T)

    assert after == batch


@pytest.mark.parametrize("codec", Compression)
@pytest.mark.parametrize("horizon", [T + 86_400_000, T - 10**9, 0])
def test_a_delete_horizon_takes_the_place_of_the_base_timestamp(codec: Compression, horizon: int) -> None:
    before = read_header(original(codec))
    # Behind the timestamp: offset delta, key, value, no headers.
    rests = [bytes([2 * index, 4]) + b"k%d" % index + b"\x01\x00" for index in (1, 3)]

    after = with_delete_horizon(before, [(T + 10, rests[0]), (T + 30, rests[1])], horizon, T + 30)

    header = read_header(after)
    assert header.has_delete_horizon
    assert header.base_timestamp == horizon
    assert [getattr(header, name) for name in KEPT] == [getattr(before, name) for name in KEPT]
    assert list(read_records(after)) == [
        Record(101, T + 10, b"k1", None),
        Record(103, T + 30, b"k3", None),
    ]


@pytest.mark.parametrize("codec", Compression)
def test_an_empty_batch_tells_its_place_and_its_latest_time(codec: Compression) -> None:
    batch = original(codec)
    before = read_header(batch)

    after = without_records(before)

    header = read_header(after)
    assert len(after) == header.size == HEADER_BYTES
    assert [getattr(header, name) for name in KEPT] == [getattr(before, name) for name in KEPT]
    assert header.is_transactional
    assert header.compression is Compression.NONE
    assert (header.record_count, header.base_timestamp, header.max_timestamp) == (0, -1, T + 30)
    assert crc_is_valid(after, 0, header)
    assert list(read_records(after)) == []
