"""May this client batch be appended? The rules, decided on its header wherever that suffices.

Rules
- The plain case (producer's timestamps, producer's codec, no compaction) never looks at a single record.
  A header that contradicts itself or claims timestamps outside the limits makes us look at each.
- A refusal is a value: each partition of a produce request is answered for itself.
- An admitted batch is unchanged, patched in place (timestamps), or replaced (compressed anew). It still
  has base offset 0: its place in the log is given by the caller.

Where this differs from Apache Kafka, which decompresses and reads every record of every batch:
- The largest timestamp is believed where it is plausible, thus at least the base timestamp and not beyond
  the limit for the future; Kafka replaces it by what the records say.
- The limit for the past, which is off by default, is held against the base timestamp, thus the first
  record's. An older record behind it is let in: it cannot make a segment look old or new.
- Records that cannot be read, or are not as many as the header says, are found by the reader, and by the
  broker only where it has a reason to look.
- Bytes behind the batch are refused. Kafka drops them if they are too few to be a second batch.
- INVALID_RECORD answers what makes Kafka answer UNKNOWN_SERVER_ERROR: unknown codecs, unreadable data.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from riverlog.config import TopicSettings
from riverlog.errors import RemoteProtocolError
from riverlog.protocol.batches import (
    BATCH_LENGTH_MIN,
    COMPRESSION_MASK,
    CONTROL_BIT,
    HEADER_BYTES,
    LENGTH_PREFIX_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    BatchHeader,
    WritableBuffer,
    crc_is_valid,
    patch_log_append_time,
    patch_max_timestamp,
    read_header,
    seal,
)
from riverlog.protocol.compression import Compression
from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.records import RecordHead, read_heads, recompress

RecordErrors = tuple[tuple[int, str | None], ...]

RECORD_ERRORS_MAX = 1000
"""How many of a refused batch's records are named in the answer, so that it stays smaller than the batch."""

EXAMINED_RECORDS_MAX = 200_000
EXAMINED_BYTES_MAX = 32 * 1024 * 1024
"""What a batch may hold, uncompressed, where we must look at its records or compress it anew. Ten kilobytes
can unfold to millions of records, and the event loop waits meanwhile. The refusal makes Java producers cut
the batch in two and try again. A topic with a larger `max.message.bytes` takes as many bytes uncompressed."""

FIRST_PRODUCE_VERSION_WITH_ZSTD = 7
NO_TIMESTAMP = -1

_STORED_CODECS = {
    "uncompressed": Compression.NONE,
    "gzip": Compression.GZIP,
    "snappy": Compression.SNAPPY,
    "lz4": Compression.LZ4,
    "zstd": Compression.ZSTD,
}
_LZ4_LEVEL_DEFAULT = 9
"""In Kafka's settings this number asks for lz4's fast compressor, not for its level 9."""

_ZSTD = int(Compression.ZSTD)
_new = tuple.__new__


class Admission(NamedTuple):
    """The verdict on one batch."""

    error_code: int
    """0: append it."""
    message: str | None
    record_errors: RecordErrors
    header: BatchHeader | None
    """Of what is to be appended; None when refused."""
    replacement: bytearray | None
    """Append this instead of the bytes that came."""
    log_append_time_ms: int
    """What the producer is told; -1 where its own timestamps count."""


def examine(
    buffer: WritableBuffer,
    start: int,
    end: int,
    settings: TopicSettings,
    now_ms: int,
    *,
    produce_version: int,
    is_sequenced: bool = True,
) -> Admission:
    """Judge the bytes [start, end) that a client sent for one partition. May patch them in place.

    With `is_sequenced` False they are a coordinator's, which may name a producer without a sequence.
    """
    if end - start < HEADER_BYTES:
        return _refused(ErrorCode.INVALID_RECORD, f"{end - start} bytes are no record batch")
    header = read_header(buffer, start)
    (
        base_offset,
        batch_length,
        _leader_epoch,
        magic,
        _crc,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        _producer_epoch,
        base_sequence,
        record_count,
    ) = header
    codec = attributes & COMPRESSION_MASK
    size = batch_length + LENGTH_PREFIX_BYTES
    if (
        magic != MAGIC
        or size != end - start
        or base_offset != 0
        or record_count <= 0
        or last_offset_delta + 1 != record_count
        or attributes & CONTROL_BIT
        or (codec >= _ZSTD and (codec > _ZSTD or produce_version < FIRST_PRODUCE_VERSION_WITH_ZSTD))
        or size > settings.max_message_bytes
        or size > settings.segment_bytes
        or (base_sequence < 0 <= producer_id)
    ):
        refusal = _malformed(header, end - start, settings, produce_version, is_sequenced=is_sequenced)
        if refusal is not None:
            return refusal
    if not crc_is_valid(buffer, start, header):
        return _refused(ErrorCode.CORRUPT_MESSAGE, "the batch's CRC does not match its bytes")

    if (
        settings.message_timestamp_type == "CreateTime"
        and base_timestamp <= max_timestamp <= now_ms + settings.message_timestamp_after_max_ms
        and base_timestamp >= now_ms - settings.message_timestamp_before_max_ms
        and not attributes & LOG_APPEND_TIME_BIT
        and "compact" not in settings.cleanup_policy
        and (settings.compression_type == "producer" or _STORED_CODECS[settings.compression_type] == codec)
    ):
        return _new(Admission, (0, None, (), header, None, NO_TIMESTAMP))
    try:
        return _examine_closely(buffer, start, header, settings, now_ms)
    except RemoteProtocolError as error:
        return _refused(ErrorCode.INVALID_RECORD, str(error))


def _malformed(
    header: BatchHeader, size: int, settings: TopicSettings, produce_version: int, *, is_sequenced: bool
) -> Admission | None:
    """Say what is wrong with a header, in the order in which Kafka asks."""
    code = ErrorCode.INVALID_RECORD
    if not 0 <= header.magic <= MAGIC:
        return _refused(ErrorCode.CORRUPT_MESSAGE, f"there is no record format {header.magic}")
    if header.magic != MAGIC:
        return _refused(code, f"record format {header.magic} is not accepted, only format {MAGIC}")
    if header.batch_length < BATCH_LENGTH_MIN:
        return _refused(ErrorCode.CORRUPT_MESSAGE, f"a batch cannot be {header.size} bytes long")
    codec = header.attributes & COMPRESSION_MASK
    if codec == Compression.ZSTD and produce_version < FIRST_PRODUCE_VERSION_WITH_ZSTD:
        return _refused(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            f"zstd needs Produce version {FIRST_PRODUCE_VERSION_WITH_ZSTD}, not {produce_version}",
        )
    if codec > Compression.ZSTD:
        return _refused(code, f"no codec has number {codec}")
    if header.size > size:
        return _refused(code, f"the batch claims {header.size} bytes, {size} came")
    if header.size < size:
        return _refused(code, f"{size - header.size} bytes follow the batch; a partition takes one at a time")
    if header.base_offset != 0:
        return _refused(code, f"a client's batch has base offset 0, not {header.base_offset}")
    too_large = _too_large(header.size, settings)
    if too_large is not None:
        return too_large
    if header.record_count <= 0:
        return _refused(code, f"a batch of {header.record_count} records")
    if header.last_offset_delta + 1 != header.record_count:
        return _refused(
            code, f"{header.record_count} records cannot end at offset delta {header.last_offset_delta}"
        )
    if header.is_control:
        return _refused(code, "clients do not write control batches")
    if header.base_sequence < 0 <= header.producer_id and is_sequenced:
        return _refused(code, f"producer {header.producer_id} sent the sequence {header.base_sequence}")
    return None


def _too_large(size: int, settings: TopicSettings) -> Admission | None:
    if size > settings.max_message_bytes:
        return _refused(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"the batch has {size} bytes; max.message.bytes is {settings.max_message_bytes}",
        )
    if size > settings.segment_bytes:
        return _refused(
            ErrorCode.RECORD_LIST_TOO_LARGE,
            f"the batch has {size} bytes; segment.bytes is {settings.segment_bytes}",
        )
    return None


def _examine_closely(
    buffer: WritableBuffer, start: int, header: BatchHeader, settings: TopicSettings, now_ms: int
) -> Admission:
    """Judge a batch with valid header and CRC that needs more than its header. Raises RemoteProtocolError."""
    stamps = settings.message_timestamp_type == "LogAppendTime"
    oldest = now_ms - settings.message_timestamp_before_max_ms
    newest = now_ms + settings.message_timestamp_after_max_ms
    if header.uses_log_append_time:
        if stamps:
            return _refused(ErrorCode.INVALID_TIMESTAMP, "the append time is the broker's to set")
        # Kafka takes this bit away as well. Without it the records' own timestamps show.
        seal(buffer, start, header.attributes & ~LOG_APPEND_TIME_BIT, header.size)

    size_limit = max(EXAMINED_BYTES_MAX, settings.max_message_bytes)
    needs_keys = "compact" in settings.cleanup_policy
    is_plausible = oldest <= header.base_timestamp <= header.max_timestamp <= newest
    if needs_keys or not (stamps or (is_plausible and not header.uses_log_append_time)):
        if header.record_count > EXAMINED_RECORDS_MAX:
            return _refused(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"{header.record_count} records in a batch that must be looked through; "
                f"{EXAMINED_RECORDS_MAX} are accepted",
            )
        code, errors, max_timestamp = _judge_records(
            read_heads(buffer, start, size_limit=size_limit),
            needs_keys=needs_keys,
            oldest=None if stamps else oldest,
            newest=newest,
        )
        if code != ErrorCode.NONE:
            return _refused(code, _summary(errors), errors)
        if not stamps and max_timestamp != header.max_timestamp:
            patch_max_timestamp(buffer, start, max_timestamp)
    if stamps:
        patch_log_append_time(buffer, start, now_ms)

    replacement = _compressed_as_stored(buffer, start, header, settings, size_limit)
    if replacement is not None:
        too_large = _too_large(len(replacement), settings)
        if too_large is not None:
            return too_large
        admitted = read_header(replacement)
    else:
        admitted = read_header(buffer, start)
    return Admission(0, None, (), admitted, replacement, now_ms if stamps else NO_TIMESTAMP)


def _judge_records(
    heads: Iterable[RecordHead], *, needs_keys: bool, oldest: int | None, newest: int
) -> tuple[ErrorCode, RecordErrors, int]:
    """Look at each record; return what to refuse the batch for, the culprits, and the largest timestamp.

    With `oldest` None, timestamps do not matter. A record without timestamp (-1) is within any limits.
    """
    code = ErrorCode.NONE
    errors: list[tuple[int, str | None]] = []
    max_timestamp = NO_TIMESTAMP
    for index, head in enumerate(heads):
        timestamp = head.timestamp
        if needs_keys and head.key_length < 0:
            message = "a compacted topic takes no record without key"
            code = code or ErrorCode.INVALID_RECORD
        elif oldest is not None and not oldest <= timestamp <= newest and timestamp != NO_TIMESTAMP:
            message = f"timestamp {timestamp} is not between {oldest} and {newest}"
            code = ErrorCode.INVALID_TIMESTAMP
        else:
            max_timestamp = max(max_timestamp, timestamp)
            continue
        if len(errors) < RECORD_ERRORS_MAX:
            errors.append((index, message))
    return code, tuple(errors), max_timestamp


def _compressed_as_stored(
    buffer: WritableBuffer, start: int, header: BatchHeader, settings: TopicSettings, size_limit: int
) -> bytearray | None:
    """Compress the batch with the topic's own codec; None where it already is, or the producer's counts."""
    if settings.compression_type == "producer":
        return None
    codec = _STORED_CODECS[settings.compression_type]
    if codec == header.compression:
        return None
    return recompress(buffer, start, codec, level=_level(codec, settings), size_limit=size_limit)


def _level(codec: Compression, settings: TopicSettings) -> int | None:
    if codec == Compression.GZIP:
        return settings.compression_gzip_level
    if codec == Compression.ZSTD:
        return settings.compression_zstd_level
    if codec == Compression.LZ4 and settings.compression_lz4_level != _LZ4_LEVEL_DEFAULT:
        return settings.compression_lz4_level
    return None


def _summary(errors: RecordErrors) -> str:
    index, message = errors[0]
    return f"record {index}: {message}{'; others are named in the answer' if len(errors) > 1 else ''}"


def _refused(code: ErrorCode, message: str, record_errors: RecordErrors = ()) -> Admission:
    return Admission(int(code), message, record_errors, None, None, NO_TIMESTAMP)
