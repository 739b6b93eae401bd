import pytest

from riverlog.errors import RemoteProtocolError
from riverlog.protocol.batches import (
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    BatchHeader,
    WalkStop,
    crc_is_valid,
    patch_log_append_time,
    patch_max_timestamp,
    patch_offset_and_epoch,
    read_header,
    split_batches,
)
from riverlog.protocol.compression import Compression
from tests.batch_builders import BATCH_TIME_MS, batch, with_header
from tests.client_batches import LIBRDKAFKA_BATCHES


def test_a_clients_header_is_read_field_by_field() -> None:
    header = read_header(LIBRDKAFKA_BATCHES["GZIP"])

    assert header == BatchHeader(
        base_offset=0,
        batch_length=121,
        leader_epoch=0,
        magic=2,
        crc=2020795302,
        attributes=1,
        last_offset_delta=3,
        base_timestamp=1_700_000_000_000,
        max_timestamp=1_700_000_000_003,
        producer_id=2,
        producer_epoch=0,
        base_sequence=0,
        record_count=4,
    )


def test_a_header_is_read_at_its_position_in_a_larger_buffer() -> None:
    first, second = batch(2), batch(5)

    header = read_header(memoryview(b"123" + first + second), 3 + len(first))

    assert header == read_header(second)


@pytest.mark.parametrize("missing", [1, 60, 61])
def test_a_header_that_is_not_all_there_is_refused(missing: int) -> None:
    torn = batch(1)[: HEADER_BYTES - missing]

    with pytest.raises(RemoteProtocolError, match="61 bytes"):
        read_header(torn)


def test_a_header_tells_what_follows_from_its_fields() -> None:
    header = read_header(with_header(batch(3), base_offset=40, attributes=0x7C, producer_id=0))

    assert header.size == header.batch_length + 12 == len(batch(3))
    assert (header.last_offset, header.next_offset) == (42, 43)
    assert header.compression is Compression.ZSTD
    assert header.uses_log_append_time
    assert header.is_transactional
    assert header.is_control
    assert header.has_delete_horizon
    assert header.has_producer


def test_a_plain_header_has_no_attribute_set() -> None:
    header = read_header(batch(1))

    assert header.compression is Compression.NONE
    assert not header.uses_log_append_time
    assert not header.is_transactional
    assert not header.is_control
    assert not header.has_delete_horizon
    assert not header.has_producer


@pytest.mark.parametrize("number", [5, 6, 7])
def test_a_codec_that_does_not_exist_is_refused_by_number(number: int) -> None:
    header = read_header(with_header(batch(1), attributes=number))

    with pytest.raises(RemoteProtocolError, match=str(number)):
        _ = header.compression


@pytest.mark.parametrize(
    ("base_sequence", "count", "last"),
    [(0, 1, 0), (7, 3, 9), (2**31 - 1, 1, 2**31 - 1), (2**31 - 1, 2, 0), (2**31 - 2, 4, 1), (-1, 3, -1)],
)
def test_sequences_wrap_to_zero_after_the_largest_int32(base_sequence: int, count: int, last: int) -> None:
    header = read_header(batch(count, producer_id=1, base_sequence=base_sequence))

    assert header.last_sequence == last


def test_every_checked_bit_of_a_batch_counts_for_the_crc() -> None:
    original = batch(1)

    for position in range(21, len(original)):
        for bit in range(8):
            damaged = bytearray(original)
            damaged[position] ^= 1 << bit
            assert not crc_is_valid(damaged, 0, read_header(damaged)), (position, bit)
    assert crc_is_valid(original, 0, read_header(original))


def test_the_crc_is_that_of_the_batch_at_the_position() -> None:
    first, second = batch(1), batch(2)
    damaged_first = bytearray(first)
    damaged_first[-1] ^= 1

    both = damaged_first + second

    assert not crc_is_valid(both, 0, read_header(both))
    assert crc_is_valid(both, len(first), read_header(both, len(first)))


def test_patching_offset_and_epoch_leaves_the_crc_valid_and_all_else_alone() -> None:
    original = batch(3)
    patched = bytearray(b"--" + original)

    patch_offset_and_epoch(patched, 2, base_offset=2**40, leader_epoch=7)

    header = read_header(patched, 2)
    assert header == read_header(original)._replace(base_offset=2**40, leader_epoch=7)
    assert crc_is_valid(patched, 2, header)
    assert patched[2 + 16 :] == original[16:]


def test_patching_the_append_time_marks_the_batch_and_renews_the_crc() -> None:
    original = batch(3, compression=Compression.GZIP, is_transactional=True, producer_id=5)
    patched = bytearray(b"--" + original + b"--")

    patch_log_append_time(patched, 2, BATCH_TIME_MS + 99)

    header = read_header(patched, 2)
    before = read_header(original)
    assert header == before._replace(
        attributes=before.attributes | LOG_APPEND_TIME_BIT, max_timestamp=BATCH_TIME_MS + 99, crc=header.crc
    )
    assert crc_is_valid(patched, 2, header)
    assert patched[2 + HEADER_BYTES :] == original[HEADER_BYTES:] + b"--"


def test_patching_the_largest_timestamp_renews_the_crc() -> None:
    patched = batch(3)

    patch_max_timestamp(patched, 0, BATCH_TIME_MS + 1)

    header = read_header(patched)
    assert header.max_timestamp == BATCH_TIME_MS + 1
    assert not header.uses_log_append_time
    assert crc_is_valid(patched, 0, header)


def test_a_walk_lists_every_batch_of_its_range_with_its_position() -> None:
    first, second, third = batch(1), batch(2), batch(3)
    buffer = first + second + third

    walk = split_batches(buffer, len(first), len(buffer))

    assert walk.batches == [
        (len(first), read_header(second)),
        (len(first) + len(second), read_header(third)),
    ]
    assert walk.end == len(buffer)
    assert walk.stop is WalkStop.END


def test_a_walk_over_nothing_ends_where_it_began() -> None:
    walk = split_batches(batch(1), 5, 5)

    assert walk == ([], 5, WalkStop.END)


@pytest.mark.parametrize("kept", [1, 11, 60])
def test_a_walk_stops_before_a_torn_header(kept: int) -> None:
    whole = batch(2)

    walk = split_batches(whole + batch(1)[:kept], 0, len(whole) + kept)

    assert [position for position, _ in walk.batches] == [0]
    assert walk.end == len(whole)
    assert walk.stop is WalkStop.TORN_HEADER


@pytest.mark.parametrize("missing", [1, 9])
def test_a_walk_stops_before_a_torn_batch(missing: int) -> None:
    whole = batch(2)
    buffer = (whole * 2)[:-missing]

    walk = split_batches(buffer, 0, len(buffer))

    assert [position for position, _ in walk.batches] == [0]
    assert walk.end == len(whole)
    assert walk.stop is WalkStop.TORN_BATCH


def test_a_walk_ends_at_its_range_even_where_the_buffer_goes_on() -> None:
    whole = batch(2)

    walk = split_batches(whole * 2, 0, 2 * len(whole) - 1)

    assert (walk.end, walk.stop) == (len(whole), WalkStop.TORN_BATCH)


def test_a_range_beyond_the_buffer_ends_with_the_buffer() -> None:
    whole = batch(2)

    walk = split_batches(whole, 0, len(whole) + 1000)

    assert (walk.end, walk.stop) == (len(whole), WalkStop.END)


@pytest.mark.parametrize(
    ("changes", "stop"),
    [
        ({"batch_length": 48}, WalkStop.BAD_LENGTH),
        ({"batch_length": -1}, WalkStop.BAD_LENGTH),
        ({"batch_length": 0}, WalkStop.BAD_LENGTH),
        ({"batch_length": 2**31 - 1}, WalkStop.TORN_BATCH),
        ({"magic": 1}, WalkStop.BAD_MAGIC),
        ({"magic": 3}, WalkStop.BAD_MAGIC),
        ({"crc": 1}, WalkStop.BAD_CRC),
    ],
)
def test_a_walk_says_what_is_wrong_with_the_batch_it_stops_at(
    changes: dict[str, int], stop: WalkStop
) -> None:
    good = batch(2)
    bad = with_header(good, **changes)

    walk = split_batches(good + bad + good, 0, 3 * len(good))

    assert [position for position, _ in walk.batches] == [0]
    assert walk.end == len(good)
    assert walk.stop is stop


def test_a_walk_over_zeros_stops_at_once() -> None:
    walk = split_batches(bytes(1000), 0, 1000)

    assert walk == ([], 0, WalkStop.BAD_MAGIC)


def test_a_walk_passes_over_bad_crcs_when_asked_to() -> None:
    good = batch(2)

    walk = split_batches(with_header(good, crc=1) + good, 0, 2 * len(good), check_crc=False)

    assert len(walk.batches) == 2
    assert walk.stop is WalkStop.END
