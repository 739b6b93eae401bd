import dataclasses
from typing import Any

import pytest

from riverlog.config import TopicSettings
from riverlog.log.admission import RECORD_ERRORS_MAX, Admission, examine
from riverlog.protocol.batches import crc_is_valid, read_header, split_batches
from riverlog.protocol.compression import Compression
from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.records import Record, build_batch, read_records
from tests.batch_builders import BATCH_TIME_MS, batch, records, with_header, with_record_bytes
from tests.client_batches import LIBRDKAFKA_BATCHES, LIBRDKAFKA_RECORDS

NOW = BATCH_TIME_MS + 1000
HOUR = 3_600_000
DEFAULTS = TopicSettings()
COMPACTED = dataclasses.replace(DEFAULTS, cleanup_policy=frozenset({"compact"}))
BROKER_TIME = dataclasses.replace(DEFAULTS, message_timestamp_type="LogAppendTime")
CODECS = {
    "uncompressed": Compression.NONE,
    "gzip": Compression.GZIP,
    "snappy": Compression.SNAPPY,
    "lz4": Compression.LZ4,
    "zstd": Compression.ZSTD,
}


def topic(**changes: Any) -> TopicSettings:
    return dataclasses.replace(DEFAULTS, **changes)


def admit(data: bytearray, settings: TopicSettings = DEFAULTS, produce_version: int = 12) -> Admission:
    """Examine a whole buffer as one client's batch."""
    return examine(data, 0, len(data), settings, NOW, produce_version=produce_version)


def appended(data: bytearray, admission: Admission) -> bytearray:
    """What an admitted batch puts into the log: one valid batch, of which the admission has the header."""
    assert admission.error_code == ErrorCode.NONE, admission.message
    stored = data if admission.replacement is None else admission.replacement
    ((_, header),) = split_batches(stored, 0, len(stored)).batches
    assert header == admission.header
    return stored


# --- the plain case ----------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", Compression)
def test_a_plain_batch_is_admitted_untouched(codec: Compression) -> None:
    data = batch(3, compression=codec)

    admission = admit(data)

    assert admission == (0, None, (), read_header(data), None, -1)
    assert data == batch(3, compression=codec)


def test_the_batch_is_judged_where_it_stands_in_the_request() -> None:
    data = bytearray(b"--" + batch(3) + b"--")

    admission = examine(memoryview(data), 2, len(data) - 2, DEFAULTS, NOW, produce_version=12)

    assert admission.header == read_header(batch(3))


@pytest.mark.parametrize("codec", Compression)
def test_a_real_clients_batch_is_admitted(codec: Compression) -> None:
    data = bytearray(LIBRDKAFKA_BATCHES[codec.name])

    admission = admit(data)

    assert list(read_records(appended(data, admission))) == LIBRDKAFKA_RECORDS


def test_the_plain_case_never_looks_at_a_record() -> None:
    unreadable = with_record_bytes(batch(3), b"these are no records")

    admission = admit(unreadable)

    assert admission.error_code == ErrorCode.NONE


# --- exactly one batch -------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [0, 1, 12, 60])
def test_bytes_too_few_for_a_batch_are_refused(kept: int) -> None:
    admission = admit(batch(1)[:kept])

    assert admission.error_code == ErrorCode.INVALID_RECORD
    assert admission.header is None


@pytest.mark.parametrize("missing", [1, 9])
def test_a_torn_batch_is_refused(missing: int) -> None:
    assert admit(batch(1)[:-missing]).error_code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("tail", [b"\x00", bytes(16), bytes(100), bytes(batch(1))])
def test_bytes_behind_the_batch_are_refused(tail: bytes) -> None:
    admission = admit(batch(3) + tail)

    assert admission.error_code == ErrorCode.INVALID_RECORD
    assert f"{len(tail)} bytes" in (admission.message or "")


@pytest.mark.parametrize(
    ("magic", "error"),
    [
        (0, ErrorCode.INVALID_RECORD),
        (1, ErrorCode.INVALID_RECORD),
        (3, ErrorCode.CORRUPT_MESSAGE),
        (-1, ErrorCode.CORRUPT_MESSAGE),
    ],
)
def test_other_formats_are_refused_by_number(magic: int, error: ErrorCode) -> None:
    admission = admit(with_header(batch(3), magic=magic))

    assert admission.error_code == error
    assert str(magic) in (admission.message or "")


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"batch_length": -1}, ErrorCode.CORRUPT_MESSAGE),
        ({"batch_length": 48}, ErrorCode.CORRUPT_MESSAGE),
        ({"batch_length": 2**31 - 1}, ErrorCode.INVALID_RECORD),
        ({"base_offset": 1}, ErrorCode.INVALID_RECORD),
        ({"base_offset": -1}, ErrorCode.INVALID_RECORD),
        ({"crc": 0}, ErrorCode.CORRUPT_MESSAGE),
        ({"record_count": 0, "last_offset_delta": -1}, ErrorCode.INVALID_RECORD),
        ({"record_count": -1, "last_offset_delta": -2}, ErrorCode.INVALID_RECORD),
        ({"record_count": 2}, ErrorCode.INVALID_RECORD),
        ({"record_count": 4}, ErrorCode.INVALID_RECORD),
        ({"last_offset_delta": 1}, ErrorCode.INVALID_RECORD),
        ({"last_offset_delta": -1}, ErrorCode.INVALID_RECORD),
        ({"attributes": 0x20}, ErrorCode.INVALID_RECORD),
        ({"attributes": 0x30, "producer_id": 1}, ErrorCode.INVALID_RECORD),
        ({"attributes": 5}, ErrorCode.INVALID_RECORD),
        ({"attributes": 7}, ErrorCode.INVALID_RECORD),
        ({"producer_id": 1, "producer_epoch": 0}, ErrorCode.INVALID_RECORD),
        ({"producer_id": 0, "producer_epoch": 0, "base_sequence": -5}, ErrorCode.INVALID_RECORD),
    ],
)
def test_a_header_that_breaks_a_rule_is_refused_with_the_reason(
    changes: dict[str, int], error: ErrorCode
) -> None:
    admission = admit(with_header(batch(3), **changes))

    assert admission.error_code == error
    assert admission.message
    assert admission.header is None
    assert admission.replacement is None


@pytest.mark.parametrize(
    "changes",
    [
        {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0},
        {"producer_id": -1, "producer_epoch": 5, "base_sequence": 7},
        {"attributes": 0x10, "producer_id": 1, "producer_epoch": 0, "base_sequence": 0},
        {"leader_epoch": 77},
        {"attributes": 0x40},
        {"attributes": 0x80},
        {"attributes": -0x8000},
    ],
)
def test_what_kafka_passes_over_we_pass_over(changes: dict[str, int]) -> None:
    data = with_header(batch(3), **changes)

    admission = admit(data)

    assert appended(data, admission) == with_header(batch(3), **changes)


def test_any_damage_behind_the_header_is_found_by_the_crc() -> None:
    data = batch(3)
    data[-1] ^= 0x80

    assert admit(data).error_code == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    ("version", "error"), [(3, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE), (6, 76), (7, 0), (12, 0)]
)
def test_zstd_needs_produce_version_7(version: int, error: int) -> None:
    admission = admit(batch(3, compression=Compression.ZSTD), produce_version=version)

    assert admission.error_code == error


# --- sizes -------------------------------------------------------------------------------------------


def test_a_batch_of_exactly_the_largest_size_is_admitted_and_one_byte_more_is_not() -> None:
    data = batch(3)

    assert admit(data, topic(max_message_bytes=len(data))).error_code == ErrorCode.NONE
    refusal = admit(data, topic(max_message_bytes=len(data) - 1))
    assert refusal.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert "max.message.bytes" in (refusal.message or "")


def test_the_size_that_counts_is_the_compressed_one() -> None:
    data = build_batch([Record(0, NOW, None, bytes(10_000))], compression=Compression.GZIP)

    assert admit(data, topic(max_message_bytes=1000)).error_code == ErrorCode.NONE


def test_a_batch_larger_than_a_segment_is_refused() -> None:
    data = batch(3)

    assert admit(data, topic(segment_bytes=len(data) - 1)).error_code == ErrorCode.RECORD_LIST_TOO_LARGE


def test_a_batch_that_compression_would_make_small_enough_is_still_refused() -> None:
    data = build_batch([Record(0, NOW, None, bytes(10_000))])

    refusal = admit(data, topic(max_message_bytes=1000, compression_type="gzip"))

    assert refusal.error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_the_size_is_judged_again_after_recompression() -> None:
    data = build_batch([Record(0, NOW, None, bytes(10_000))], compression=Compression.GZIP)

    refusal = admit(data, topic(max_message_bytes=1000, compression_type="uncompressed"))

    assert refusal.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert refusal.replacement is None


def test_more_records_than_can_be_looked_through_are_refused_where_that_must_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("riverlog.log.admission.EXAMINED_RECORDS_MAX", 3)

    assert admit(batch(3), COMPACTED).error_code == ErrorCode.NONE
    refusal = admit(batch(4), COMPACTED)
    assert refusal.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert "4 records" in (refusal.message or "")
    assert admit(batch(4)).error_code == ErrorCode.NONE


@pytest.mark.parametrize("settings", [COMPACTED, topic(compression_type="gzip")], ids=["compact", "gzip"])
def test_a_batch_that_unfolds_to_very_much_is_refused_where_it_must_be_unfolded(
    settings: TopicSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("riverlog.log.admission.EXAMINED_BYTES_MAX", 10_000)
    settings = dataclasses.replace(settings, max_message_bytes=1000)
    data = build_batch([Record(0, NOW, b"key", bytes(20_000))], compression=Compression.ZSTD)

    assert admit(bytearray(data), settings).error_code == ErrorCode.INVALID_RECORD
    assert admit(bytearray(data)).error_code == ErrorCode.NONE
    larger = dataclasses.replace(settings, max_message_bytes=30_000)
    assert admit(bytearray(data), larger).error_code == ErrorCode.NONE


# --- the topic's own codec ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("sent", Compression)
def test_a_topics_own_codec_is_what_is_stored(name: str, sent: Compression) -> None:
    data = batch(20, compression=sent, producer_id=5, producer_epoch=1, base_sequence=9)

    admission = admit(data, topic(compression_type=name))

    stored = appended(data, admission)
    header = read_header(stored)
    assert header.compression is CODECS[name]
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (5, 1, 9)
    assert list(read_records(stored)) == records(20)
    assert (admission.replacement is None) == (sent is CODECS[name])


@pytest.mark.parametrize(
    ("name", "setting", "quick", "thorough"),
    [
        ("gzip", "compression_gzip_level", 1, 9),
        ("zstd", "compression_zstd_level", -50, 19),
        ("lz4", "compression_lz4_level", 9, 12),
    ],
)
def test_the_topics_compression_level_counts(name: str, setting: str, quick: int, thorough: int) -> None:
    # 9 is the default for lz4, and stands for its fast compressor.
    sizes = []
    for level in (quick, thorough):
        data = batch(2000)
        stored = appended(data, admit(data, topic(compression_type=name, **{setting: level})))
        sizes.append(len(stored))

    assert sizes[0] > sizes[1]


def test_data_that_its_codec_cannot_read_is_refused_when_it_must_be_recompressed() -> None:
    garbage = with_header(batch(3), attributes=int(Compression.SNAPPY))

    refusal = admit(garbage, topic(compression_type="gzip"))

    assert refusal.error_code == ErrorCode.INVALID_RECORD
    assert "snappy" in (refusal.message or "")


# --- keys --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", Compression)
@pytest.mark.parametrize("policy", [{"compact"}, {"compact", "delete"}])
def test_null_keys_on_a_compacted_topic_are_refused_by_index(codec: Compression, policy: set[str]) -> None:
    keys = [b"a", None, b"", None]
    data = build_batch([Record(0, NOW, key, b"v") for key in keys], compression=codec)

    refusal = admit(data, topic(cleanup_policy=frozenset(policy)))

    assert refusal.error_code == ErrorCode.INVALID_RECORD
    assert [index for index, _ in refusal.record_errors] == [1, 3]
    assert all(message and "key" in message for _, message in refusal.record_errors)
    assert "record 1" in (refusal.message or "")


def test_records_with_keys_are_admitted_to_a_compacted_topic_untouched() -> None:
    data = batch(3)

    assert appended(data, admit(data, COMPACTED)) == batch(3)


def test_null_keys_do_not_matter_where_nothing_is_compacted() -> None:
    data = build_batch([Record(0, NOW, None, b"v")])

    assert admit(data, topic(cleanup_policy=frozenset())).error_code == ErrorCode.NONE


def test_unreadable_records_on_a_compacted_topic_are_refused() -> None:
    unreadable = with_record_bytes(batch(1), b"these are no records")

    assert admit(unreadable, COMPACTED).error_code == ErrorCode.INVALID_RECORD


def test_only_so_many_records_are_named() -> None:
    data = build_batch([Record(0, NOW, None, None)] * (RECORD_ERRORS_MAX + 5))

    refusal = admit(data, COMPACTED)

    assert [index for index, _ in refusal.record_errors] == list(range(RECORD_ERRORS_MAX))


# --- producer's timestamps ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "claimed",
    [-1, BATCH_TIME_MS - 1, NOW + HOUR + 1, 2**63 - 1, -(2**63)],
    ids=["missing", "before-base", "future", "largest", "smallest"],
)
@pytest.mark.parametrize("codec", [Compression.NONE, Compression.ZSTD])
def test_a_missing_or_impossible_largest_timestamp_is_repaired(claimed: int, codec: Compression) -> None:
    data = with_header(batch(3, compression=codec), max_timestamp=claimed)

    admission = admit(data)

    assert appended(data, admission) == batch(3, compression=codec)


def test_a_repaired_timestamp_survives_recompression() -> None:
    data = with_header(batch(3), max_timestamp=-1)

    admission = admit(data, topic(compression_type="zstd"))

    header = read_header(appended(data, admission))
    assert header.max_timestamp == BATCH_TIME_MS + 2
    assert header.compression is Compression.ZSTD


def test_records_without_timestamps_are_admitted_as_such() -> None:
    data = build_batch([Record(0, -1, b"k", b"v")] * 2)

    admission = admit(data, topic(message_timestamp_before_max_ms=HOUR))

    assert appended(data, admission) == build_batch([Record(0, -1, b"k", b"v")] * 2)


@pytest.mark.parametrize(
    ("offset_ms", "is_admitted"), [(HOUR, True), (HOUR + 1, False), (-10 * 365 * 24 * HOUR, True)]
)
def test_timestamps_may_lie_an_hour_ahead_and_any_time_back(offset_ms: int, is_admitted: bool) -> None:
    data = build_batch([Record(0, NOW + offset_ms, b"k", b"v")])

    admission = admit(data)

    assert admission.error_code == (ErrorCode.NONE if is_admitted else ErrorCode.INVALID_TIMESTAMP)


@pytest.mark.parametrize(("age_ms", "is_admitted"), [(HOUR, True), (HOUR + 1, False)])
def test_a_limit_for_the_past_holds_where_it_is_set(age_ms: int, is_admitted: bool) -> None:
    data = build_batch([Record(0, NOW - age_ms, b"k", b"v")])

    admission = admit(data, topic(message_timestamp_before_max_ms=HOUR))

    assert admission.error_code == (ErrorCode.NONE if is_admitted else ErrorCode.INVALID_TIMESTAMP)


def test_the_records_outside_the_time_limits_are_named() -> None:
    times = [NOW, NOW + HOUR + 1, -1, NOW - HOUR - 1, NOW + HOUR]
    data = build_batch([Record(0, time, b"k", b"v") for time in times])

    refusal = admit(data, topic(message_timestamp_before_max_ms=HOUR))

    assert refusal.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in refusal.record_errors] == [1, 3]
    assert str(NOW + HOUR + 1) in (refusal.record_errors[0][1] or "")


def test_a_wrong_timestamp_outweighs_a_missing_key() -> None:
    data = build_batch([Record(0, NOW, None, None), Record(0, NOW + 2 * HOUR, b"k", None)])

    refusal = admit(data, COMPACTED)

    assert refusal.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in refusal.record_errors] == [0, 1]


def test_limits_as_wide_as_they_go_admit_every_timestamp() -> None:
    data = build_batch([Record(0, 2**63 - 1, b"k", b"v"), Record(0, 2**63 - 1, b"k", b"v")])

    assert admit(data, topic(message_timestamp_after_max_ms=2**63 - 1)).error_code == ErrorCode.NONE


@pytest.mark.parametrize("settings", [DEFAULTS, COMPACTED])
def test_a_clients_claim_of_append_time_is_taken_back(settings: TopicSettings) -> None:
    data = with_header(batch(3), attributes=0x08, max_timestamp=NOW + 30)

    admission = admit(data, settings)

    assert appended(data, admission) == batch(3)


def test_records_that_overflow_their_timestamps_are_refused() -> None:
    data = with_header(batch(3), base_timestamp=2**63 - 1, max_timestamp=0)

    admission = admit(data, topic(message_timestamp_after_max_ms=2**63 - 1))

    assert admission.error_code == ErrorCode.INVALID_RECORD


# --- the broker's timestamps -------------------------------------------------------------------------


@pytest.mark.parametrize("codec", Compression)
def test_append_time_is_stamped_with_a_valid_crc_and_told(codec: Compression) -> None:
    data = batch(3, timestamp=NOW + 100 * HOUR, compression=codec)

    admission = admit(data, BROKER_TIME)

    stored = appended(data, admission)
    header = read_header(stored)
    assert admission.log_append_time_ms == header.max_timestamp == NOW
    assert header.uses_log_append_time
    assert crc_is_valid(stored, 0, header)
    assert {record.timestamp for record in read_records(stored)} == {NOW}


def test_append_time_is_stamped_into_a_recompressed_batch() -> None:
    data = batch(3)

    admission = admit(
        data,
        topic(message_timestamp_type="LogAppendTime", compression_type="lz4", cleanup_policy={"compact"}),
    )

    stored = appended(data, admission)
    assert read_header(stored).compression is Compression.LZ4
    assert {record.timestamp for record in read_records(stored)} == {NOW}
    assert admission.log_append_time_ms == NOW


def test_null_keys_are_refused_under_append_time_too() -> None:
    data = build_batch([Record(0, 0, None, b"v")])

    refusal = admit(
        data, topic(message_timestamp_type="LogAppendTime", cleanup_policy=frozenset({"compact"}))
    )

    assert refusal.error_code == ErrorCode.INVALID_RECORD


def test_a_client_that_sets_the_append_time_itself_is_refused() -> None:
    refusal = admit(with_header(batch(3), attributes=0x08), BROKER_TIME)

    assert refusal.error_code == ErrorCode.INVALID_TIMESTAMP
