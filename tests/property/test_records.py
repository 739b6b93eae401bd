"""Records: whatever is built is read back; whatever else is read raises the named error or nothing."""

from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from riverlog.errors import RemoteProtocolError
from riverlog.protocol.batches import HEADER_BYTES, crc_is_valid, read_header
from riverlog.protocol.compression import Compression, compress
from riverlog.protocol.records import (
    RECORD_BYTES_MIN,
    Record,
    RecordHead,
    build_batch,
    read_heads,
    read_records,
    recompress,
)
from tests.batch_builders import with_header, with_record_bytes
from tests.property.record_strategies import (
    CODECS,
    INT16,
    INT32,
    INT64,
    batches,
    damaged,
    records,
)

BY_PROFILE = settings(deadline=None, print_blob=True)


@BY_PROFILE
@given(records(INT64), CODECS)
def test_what_is_built_is_read_back(originals: list[Record], codec: Compression) -> None:
    base = originals[0].timestamp
    originals = [record for record in originals if -(2**63) <= record.timestamp - base < 2**63]
    originals = [record._replace(offset=offset) for offset, record in enumerate(originals)]

    built = build_batch(originals, compression=codec)

    assert list(read_records(built)) == originals
    assert list(read_heads(built)) == [
        RecordHead(record.offset, record.timestamp, -1 if record.key is None else len(record.key))
        for record in originals
    ]
    header = read_header(built)
    assert header.max_timestamp == max(record.timestamp for record in originals)
    assert crc_is_valid(built, 0, header)


@BY_PROFILE
@given(
    records(max_size=3),
    st.integers(0, 2**62),
    INT32,
    INT64,
    INT16,
    INT32,
    st.booleans(),
    st.booleans(),
    st.none() | INT64,
)
def test_every_header_field_survives(
    originals: list[Record],
    base_offset: int,
    leader_epoch: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    is_transactional: bool,
    is_control: bool,
    log_append_time_ms: int | None,
) -> None:
    built = build_batch(
        originals,
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
        is_control=is_control,
        log_append_time_ms=log_append_time_ms,
    )

    header = read_header(built)
    assert (header.base_offset, header.leader_epoch) == (base_offset, leader_epoch)
    assert (header.producer_id, header.producer_epoch) == (producer_id, producer_epoch)
    assert header.base_sequence == base_sequence
    assert (header.is_transactional, header.is_control) == (is_transactional, is_control)
    assert header.uses_log_append_time == (log_append_time_ms is not None)
    assert [record.offset for record in read_records(built)] == [
        base_offset + record.offset for record in originals
    ]


@BY_PROFILE
@given(records(), st.lists(CODECS, min_size=1, max_size=3))
def test_recompressing_never_changes_the_records(originals: list[Record], codecs: list[Compression]) -> None:
    batch = build_batch(originals)

    for codec in codecs:
        batch = recompress(batch, 0, codec)

    assert list(read_records(batch)) == originals
    assert crc_is_valid(batch, 0, read_header(batch))


@BY_PROFILE
@given(st.binary(max_size=300) | damaged(batches()))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for read in (read_records, read_heads):
        with suppress(RemoteProtocolError):
            list(read(data, size_limit=100_000))


@BY_PROFILE
@given(
    st.binary(max_size=120) | damaged(batches().map(lambda batch: batch[HEADER_BYTES:])),
    CODECS,
    st.integers(0, 20),
)
def test_any_bytes_under_a_valid_header_are_read_or_refused(
    block: bytes, codec: Compression, record_count: int
) -> None:
    # The CRC is right and so is the length: what a broken or hostile client could send.
    batch = with_record_bytes(build_batch([Record(0, 0, b"k", b"v")]), compress(codec, block))
    batch = with_header(batch, attributes=int(codec), record_count=record_count, last_offset_delta=19)

    for read in (read_records, read_heads):
        given_before_the_error = 0
        with suppress(RemoteProtocolError):
            for _ in read(batch, size_limit=100_000):
                given_before_the_error += 1
        assert given_before_the_error <= min(record_count, len(block) // RECORD_BYTES_MIN)


@BY_PROFILE
@given(damaged(batches()))
def test_what_reads_at_all_reads_the_same_in_full_and_by_its_heads(data: bytearray) -> None:
    try:
        full = list(read_records(data, size_limit=100_000))
    except RemoteProtocolError:
        return

    assert [(head.offset, head.timestamp) for head in read_heads(data)] == [
        (record.offset, record.timestamp) for record in full
    ]
