"""Records: the readers of kio and kafka-python understand ours, and we understand kafka-python's batches."""

import datetime
import warnings

import kio.records.readers
from hypothesis import given, settings
from hypothesis import strategies as st

from riverlog.protocol.batches import crc_is_valid, read_header
from riverlog.protocol.compression import Compression
from riverlog.protocol.records import Record, build_batch, read_records
from tests.property.record_strategies import CODECS, records, timestamps

with warnings.catch_warnings():
    # kafka-python loads its schemas through a function that Python has deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record import MemoryRecords
    from kafka.record.default_records import DefaultRecordBatchBuilder

BY_PROFILE = settings(deadline=None, print_blob=True)


@BY_PROFILE
@given(records(timestamps(lowest=0, highest=2**41)))
def test_kio_reads_what_we_build(originals: list[Record]) -> None:
    # kio compares seconds with the header's milliseconds and keeps whole seconds, hence the rounding.
    built = build_batch(originals)

    batch, size = kio.records.readers.read_batch(bytes(built), 0)

    assert size == len(built)
    assert [
        (
            record.offset,
            record.timestamp.replace(microsecond=0),
            record.key,
            record.value,
            tuple((header.key, header.value) for header in record.headers),
        )
        for record in batch.records
    ] == [
        (
            record.offset,
            datetime.datetime.fromtimestamp(record.timestamp // 1000, datetime.UTC),
            record.key,
            record.value,
            tuple((key.encode(), value) for key, value in record.headers),
        )
        for record in originals
    ]


@BY_PROFILE
@given(records(timestamps(lowest=0)), CODECS)
def test_kafka_python_reads_what_we_build(originals: list[Record], codec: Compression) -> None:
    built = build_batch(originals, compression=codec)

    batch = MemoryRecords(bytes(built)).next_batch()

    assert batch.validate_crc()
    assert [
        (record.offset, record.timestamp, record.key, record.value, tuple(record.headers)) for record in batch
    ] == originals


@BY_PROFILE
@given(records(timestamps(lowest=0)), CODECS, st.booleans())
def test_we_read_what_kafka_python_builds(
    originals: list[Record], codec: Compression, is_transactional: bool
) -> None:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=int(codec),
        is_transactional=is_transactional,
        producer_id=7,
        producer_epoch=3,
        base_sequence=11,
        batch_size=2**30,
    )
    for record in originals:
        builder.append(record.offset, record.timestamp, record.key, record.value, list(record.headers))

    built = builder.build()

    header = read_header(built)
    assert list(read_records(built)) == originals
    assert crc_is_valid(built, 0, header)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 3, 11)
    assert header.is_transactional == is_transactional
