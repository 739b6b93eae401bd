import pytest

from riverlog.errors import LocalProtocolError, RemoteProtocolError
from riverlog.protocol.fetch import (
    Chunks,
    FetchedPartition,
    FetchPartition,
    read_fetch,
    write_fetch_response,
)

TOPIC_ID = bytes(range(16))
DIRECTORY_ID = bytes(range(16, 32))

WAIT_AND_SIZES = b"\0\0\x01\xf4" + b"\0\0\0\x01" + b"\0\x10\0\0"  # 500 ms, 1 byte to 1 MiB
SESSION = b"\0\0\0\x2a" + b"\0\0\0\x03"
OFFSET = b"\0\0\0\0\0\0\0\x09"
UNKNOWN_OFFSET = b"\xff" * 8
UNKNOWN_EPOCH = b"\xff" * 4
PARTITION_BYTES = b"\0\x01\0\0"

REQUEST_4 = (
    b"\xff\xff\xff\xff" + WAIT_AND_SIZES + b"\x01"
    + b"\0\0\0\x01" + b"\0\x01t" + b"\0\0\0\x01" + b"\0\0\0\x05" + OFFSET + PARTITION_BYTES
)  # fmt: skip
REQUEST_11 = (
    b"\xff\xff\xff\xff" + WAIT_AND_SIZES + b"\0" + SESSION
    + b"\0\0\0\x01" + b"\0\x01t"
    + b"\0\0\0\x01" + b"\0\0\0\x05" + b"\0\0\0\x08" + OFFSET + UNKNOWN_OFFSET + PARTITION_BYTES
    + b"\0\0\0\x01" + b"\0\x01u" + b"\0\0\0\x02" + b"\0\0\0\x01" + b"\0\0\0\x02"
    + b"\0\x04rack"
)  # fmt: skip
REQUEST_12 = (
    b"\0\0\0\x04" + WAIT_AND_SIZES + b"\0" + SESSION
    + b"\x02" + b"\x02t"
    + b"\x02" + b"\0\0\0\x05" + UNKNOWN_EPOCH + OFFSET + b"\0\0\0\x07" + UNKNOWN_OFFSET + PARTITION_BYTES
    + b"\0" + b"\0"
    + b"\x02" + b"\x02u" + b"\x02" + b"\0\0\0\x01" + b"\0"
    + b"\x05rack"
    + b"\x01" + b"\0\x03\x03id"
)  # fmt: skip
REQUEST_18_OF_A_FOLLOWER = (
    WAIT_AND_SIZES + b"\0" + SESSION
    + b"\x02" + TOPIC_ID
    + b"\x02" + b"\0\0\0\x05" + UNKNOWN_EPOCH + OFFSET + UNKNOWN_EPOCH + OFFSET + PARTITION_BYTES
    + b"\x02" + b"\0\x10" + DIRECTORY_ID + b"\x01\x08" + OFFSET + b"\0"
    + b"\x01" + b"\x01"
    + b"\x01" + b"\x01\x0d" + b"\0\0\0\x02" + b"\0\0\0\0\0\0\0\x06" + b"\0"
)  # fmt: skip
REQUEST_18_WITHIN_A_SESSION = WAIT_AND_SIZES + b"\0" + SESSION + b"\x01" + b"\x01" + b"\x01" + b"\0"


class Slice:
    """Stands for records in a file: it has a length, and nobody may look at its bytes."""

    def __init__(self, length: int) -> None:
        self.length = length


def total_length(chunks: Chunks) -> int:
    return sum(len(chunk) if isinstance(chunk, bytes) else chunk.length for chunk in chunks)


def bytes_of(chunks: Chunks) -> bytes:
    return b"".join(chunk for chunk in chunks if isinstance(chunk, bytes))


def test_a_legacy_request_is_read() -> None:
    request = read_fetch(4, REQUEST_4, 0, len(REQUEST_4))

    assert (request.replica_id, request.max_wait_ms, request.min_bytes, request.max_bytes) == (
        -1,
        500,
        1,
        1 << 20,
    )
    assert request.isolation_level == 1
    assert request.topics == [("t", [FetchPartition(index=5, fetch_offset=9, max_bytes=1 << 16)])]


def test_what_a_version_lacks_is_read_as_kafkas_default() -> None:
    request = read_fetch(4, REQUEST_4, 0, len(REQUEST_4))

    assert (request.session_id, request.session_epoch) == (0, -1)
    assert (request.forgotten, request.rack_id, request.cluster_id, request.replica_epoch) == (
        [],
        "",
        None,
        -1,
    )


def test_the_last_legacy_version_has_sessions_forgotten_topics_and_a_rack() -> None:
    request = read_fetch(11, REQUEST_11, 0, len(REQUEST_11))

    assert (request.session_id, request.session_epoch) == (42, 3)
    assert request.topics == [
        ("t", [FetchPartition(index=5, current_leader_epoch=8, fetch_offset=9, max_bytes=1 << 16)])
    ]
    assert request.forgotten == [("u", [1, 2])]
    assert request.rack_id == "rack"


def test_a_flexible_request_is_read() -> None:
    request = read_fetch(12, REQUEST_12, 0, len(REQUEST_12))

    assert (request.replica_id, request.cluster_id, request.rack_id) == (4, "id", "rack")
    assert request.topics == [
        ("t", [FetchPartition(index=5, fetch_offset=9, last_fetched_epoch=7, max_bytes=1 << 16)])
    ]
    assert request.forgotten == [("u", [1])]


def test_a_follower_names_itself_its_directory_and_its_high_watermark_in_tagged_fields() -> None:
    request = read_fetch(18, REQUEST_18_OF_A_FOLLOWER, 0, len(REQUEST_18_OF_A_FOLLOWER))

    assert (request.replica_id, request.replica_epoch) == (2, 6)
    assert request.topics == [
        (
            TOPIC_ID,
            [
                FetchPartition(
                    index=5,
                    fetch_offset=9,
                    log_start_offset=9,
                    max_bytes=1 << 16,
                    replica_directory_id=DIRECTORY_ID,
                    high_watermark=9,
                )
            ],
        )
    ]


@pytest.mark.parametrize(("version", "directory_id"), [(16, bytes(16)), (17, DIRECTORY_ID)])
def test_a_tagged_field_of_a_later_version_is_skipped(version: int, directory_id: bytes) -> None:
    request = read_fetch(version, REQUEST_18_OF_A_FOLLOWER, 0, len(REQUEST_18_OF_A_FOLLOWER))

    partition = request.topics[0][1][0]
    assert partition.replica_directory_id == directory_id
    assert partition.high_watermark == (1 << 63) - 1


def test_a_request_within_a_session_may_have_no_topics() -> None:
    request = read_fetch(18, REQUEST_18_WITHIN_A_SESSION, 0, len(REQUEST_18_WITHIN_A_SESSION))

    assert (request.session_id, request.session_epoch, request.topics) == (42, 3, [])
    assert request.replica_id == -1


@pytest.mark.parametrize(
    ("version", "body"), [(4, REQUEST_4), (11, REQUEST_11), (12, REQUEST_12), (18, REQUEST_18_OF_A_FOLLOWER)]
)
def test_a_truncated_request_is_refused_whatever_follows_it(version: int, body: bytes) -> None:
    for length in range(len(body)):
        with pytest.raises(RemoteProtocolError):
            read_fetch(version, body[:length], 0, length)
        with pytest.raises(RemoteProtocolError):
            read_fetch(version, body + body, 0, length)


@pytest.mark.parametrize(
    ("version", "body", "complaint"),
    [
        (4, REQUEST_4[:17] + b"\x7f\xff\xff\xff" + REQUEST_4[21:], "topics claims 2147483647 elements"),
        (4, REQUEST_4[:24] + b"\x7f\xff\xff\xff" + REQUEST_4[28:], "partitions claims 2147483647 elements"),
        (4, REQUEST_4[:24] + b"\xff\xff\xff\xfe" + REQUEST_4[28:], "partitions has the length -2"),
        (18, REQUEST_18_WITHIN_A_SESSION[:21] + b"\xff\xff\xff\xff\x07", "topics claims 2147483646 elements"),
        (18, REQUEST_18_WITHIN_A_SESSION[:21] + b"\0\x01\x01\0", "topics is null"),
        (
            18,
            REQUEST_18_WITHIN_A_SESSION[:22] + b"\xff\xff\xff\xff\x07",
            "forgotten_topics_data claims 2147483646",
        ),
        (18, REQUEST_18_WITHIN_A_SESSION[:23] + b"\0\0", "rack_id is null"),
        (18, REQUEST_18_WITHIN_A_SESSION[:24] + b"\x01\0\x02\x03c", "cut short"),
        (18, REQUEST_18_WITHIN_A_SESSION[:24] + b"\x01\x01\x04abcd", "FetchRequest 18"),
        (18, REQUEST_18_WITHIN_A_SESSION[:24] + b"\x01\0\x03\x02cX", "cluster_id is followed by 1 bytes"),
    ],
)
def test_a_malformed_request_is_refused_with_what_is_wrong_about_it(
    version: int, body: bytes, complaint: str
) -> None:
    with pytest.raises(RemoteProtocolError, match=complaint):
        read_fetch(version, body, 0, len(body))


@pytest.mark.parametrize("version", [4, 7, 11, 12, 16])
def test_records_stay_the_objects_they_are_between_chunks_of_bytes(version: int) -> None:
    first, second = Slice(1000), Slice(70_000)
    fetched = [FetchedPartition(0, records=first), FetchedPartition(1), FetchedPartition(2, records=second)]

    chunks = write_fetch_response(version, 7, 0, 0, 42, [("t", fetched)])

    assert [chunk for chunk in chunks if not isinstance(chunk, bytes)] == [first, second]
    assert chunks[1] is first
    assert chunks[3] is second


@pytest.mark.parametrize("version", range(4, 19))
def test_the_size_of_the_frame_counts_the_records(version: int) -> None:
    topic = "t" if version < 13 else TOPIC_ID
    fetched = [FetchedPartition(index, records=Slice(1000 * index)) for index in range(5)]

    chunks = write_fetch_response(version, 7, 0, 0, 42, [(topic, fetched)])

    assert int.from_bytes(bytes_of(chunks)[:4], "big") == total_length(chunks) - 4


@pytest.mark.parametrize("version", range(4, 19))
def test_a_response_without_records_is_one_chunk(version: int) -> None:
    topic = "t" if version < 13 else TOPIC_ID

    nothing = write_fetch_response(version, 7, 0, 70, 0, [])
    empty = write_fetch_response(version, 7, 0, 0, 42, [(topic, [FetchedPartition(0, records=Slice(0))])])

    assert len(nothing) == len(empty) == 1
    assert int.from_bytes(bytes_of(nothing)[:4], "big") == total_length(nothing) - 4


def test_missing_records_are_sent_as_empty_and_not_as_null() -> None:
    legacy = bytes_of(write_fetch_response(11, 7, 0, 0, 42, [("t", [FetchedPartition(0)])]))
    flexible = bytes_of(write_fetch_response(12, 7, 0, 0, 42, [("t", [FetchedPartition(0)])]))

    assert legacy.endswith(b"\xff\xff\xff\xff" + b"\0\0\0\0")  # no preferred replica, length 0
    assert flexible.endswith(b"\xff\xff\xff\xff" + b"\x01" + b"\0\0\0")  # ... length 0 plus 1, no tags


def test_a_diverging_epoch_and_the_current_leader_are_tagged_fields() -> None:
    fetched = FetchedPartition(0, diverging_epoch=(3, 9), current_leader=(2, 4))

    response = bytes_of(write_fetch_response(12, 7, 0, 0, 42, [("t", [fetched])]))

    diverging = b"\0\x0d" + b"\0\0\0\x03" + OFFSET + b"\0"
    leader = b"\x01\x09" + b"\0\0\0\x02" + b"\0\0\0\x04" + b"\0"
    assert response.endswith(b"\x02" + diverging + leader + b"\0" + b"\0")


def test_the_leaders_endpoint_is_sent_since_version_16() -> None:
    endpoints = [(2, "leader-host", 9092, None)]

    old = bytes_of(write_fetch_response(15, 7, 0, 0, 42, [(TOPIC_ID, [FetchedPartition(0)])], endpoints))
    new = bytes_of(write_fetch_response(16, 7, 0, 0, 42, [(TOPIC_ID, [FetchedPartition(0)])], endpoints))

    assert b"leader-host" not in old
    assert b"leader-host" in new


@pytest.mark.parametrize("version", [4, 12])
def test_aborted_transactions_are_null_unless_they_were_asked_for(version: int) -> None:
    def response(aborted: list[tuple[int, int]] | None) -> bytes:
        return bytes_of(
            write_fetch_response(version, 7, 0, 0, 42, [("t", [FetchedPartition(0, aborted=aborted)])])
        )

    transaction = b"\0\0\0\0\0\0\0\x01" + b"\0\0\0\0\0\0\0\x02"
    assert len({response(None), response([])}) == 2
    assert transaction not in response([])
    assert transaction in response([(1, 2)])


@pytest.mark.parametrize("version", [4, 7, 12])
def test_a_value_that_cannot_be_sent_is_our_own_mistake(version: int) -> None:
    with pytest.raises(LocalProtocolError, match=f"FetchResponse {version}"):
        write_fetch_response(version, 7, 0, 0, 42, [("t", [FetchedPartition(0, error_code=1 << 15)])])
