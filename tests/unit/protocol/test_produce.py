import pytest

from riverlog.errors import LocalProtocolError, RemoteProtocolError
from riverlog.protocol import codec, messages, produce
from riverlog.protocol.produce import PartitionReply, ProduceRequest, read_produce, write_produce_response

TOPIC_ID = bytes(range(16))

REQUEST_3 = (
    b"\xff\xff" + b"\xff\xff" + b"\0\0\x75\x30"  # no transaction, acks -1, 30 s
    + b"\0\0\0\x01" + b"\0\x01t"
    + b"\0\0\0\x02" + b"\0\0\0\x05" + b"\0\0\0\x03abc" + b"\0\0\0\x06" + b"\xff\xff\xff\xff"
)  # fmt: skip
REQUEST_9 = (
    b"\x03tx" + b"\xff\xff" + b"\0\0\x75\x30"
    + b"\x02" + b"\x02t"
    + b"\x03" + b"\0\0\0\x05" + b"\x04abc" + b"\0" + b"\0\0\0\x06" + b"\0" + b"\0"
    + b"\0" + b"\0"
)  # fmt: skip
REQUEST_13 = (
    b"\0" + b"\xff\xff" + b"\0\0\x75\x30"
    + b"\x02" + TOPIC_ID
    + b"\x02" + b"\0\0\0\x05" + b"\x04abc" + b"\0"
    + b"\0" + b"\0"
)  # fmt: skip

HEAD = b"\0\0\0\x07"  # the correlation id
ONE_TOPIC = b"\0\0\0\x01" + b"\0\x01t" + b"\0\0\0\x01"  # of one partition
OFFSETS = b"\0\0\0\0\0\0\0\x09" + b"\xff" * 8  # base offset 9, no log append time
START = b"\0\0\0\0\0\0\0\x04"
REPLY = PartitionReply(error_code=0, base_offset=9, log_start_offset=4)
RESPONSES = {
    3: HEAD + ONE_TOPIC + b"\0\0\0\x05" + b"\0\0" + OFFSETS + b"\0\0\0\x63",
    5: HEAD + ONE_TOPIC + b"\0\0\0\x05" + b"\0\0" + OFFSETS + START + b"\0\0\0\x63",
    8: HEAD + ONE_TOPIC + b"\0\0\0\x05" + b"\0\0" + OFFSETS + START
    + b"\0\0\0\0" + b"\xff\xff" + b"\0\0\0\x63",
    9: HEAD + b"\0" + b"\x02" + b"\x02t" + b"\x02" + b"\0\0\0\x05" + b"\0\0" + OFFSETS + START
    + b"\x01" + b"\0" + b"\0" + b"\0" + b"\0\0\0\x63" + b"\0",
}  # fmt: skip


def partitions(request: ProduceRequest, buffer: bytes) -> list[tuple[object, int, bytes | None]]:
    return [
        (topic, index, buffer[start:end] if start >= 0 else None)
        for topic, index, start, end in request.partitions
    ]


def test_a_legacy_request_is_read() -> None:
    request = read_produce(3, REQUEST_3, 0, len(REQUEST_3))

    assert (request.transactional_id, request.acks, request.timeout_ms) == (None, -1, 30_000)
    assert partitions(request, REQUEST_3) == [("t", 5, b"abc"), ("t", 6, None)]


def test_a_flexible_request_is_read() -> None:
    request = read_produce(9, REQUEST_9, 0, len(REQUEST_9))

    assert (request.transactional_id, request.acks, request.timeout_ms) == ("tx", -1, 30_000)
    assert partitions(request, REQUEST_9) == [("t", 5, b"abc"), ("t", 6, None)]


def test_a_topic_is_named_by_its_id_from_version_13_on() -> None:
    request = read_produce(13, REQUEST_13, 0, len(REQUEST_13))

    assert partitions(request, REQUEST_13) == [(TOPIC_ID, 5, b"abc")]


def test_records_are_placed_within_the_whole_buffer_and_not_copied() -> None:
    buffer = memoryview(bytearray(b"header" + REQUEST_9 + b"the next frame"))

    request = read_produce(9, buffer, 6, 6 + len(REQUEST_9))

    _, _, start, end = request.partitions[0]
    assert bytes(buffer[start:end]) == b"abc"


@pytest.mark.parametrize(("version", "body"), [(3, REQUEST_3), (9, REQUEST_9), (13, REQUEST_13)])
def test_a_truncated_request_is_refused_whatever_follows_it(version: int, body: bytes) -> None:
    for length in range(len(body)):
        with pytest.raises(RemoteProtocolError):
            read_produce(version, body[:length], 0, length)
        with pytest.raises(RemoteProtocolError):
            read_produce(version, body + body, 0, length)


@pytest.mark.parametrize(
    ("version", "body", "complaint"),
    [
        (3, b"\xff\xfe" + REQUEST_3[2:], "transactional_id has the length -2"),
        (3, REQUEST_3[:8] + b"\x7f\xff\xff\xff" + REQUEST_3[12:], "topic_data claims 2147483647 elements"),
        (3, REQUEST_3[:8] + b"\xff\xff\xff\xff" + REQUEST_3[12:], "topic_data is null"),
        (3, REQUEST_3[:12] + b"\xff\xff" + REQUEST_3[14:], "name is null"),
        (
            3,
            REQUEST_3[:15] + b"\x7f\xff\xff\xff" + REQUEST_3[19:],
            "partition_data claims 2147483647 elements",
        ),
        (3, REQUEST_3[:-4] + b"\xff\xff\xff\xfe", "records has the length -2"),
        (3, REQUEST_3[:-4] + b"\x7f\xff\xff\xff", "cut short"),
        (
            9,
            REQUEST_9[:9] + b"\xff\xff\xff\xff\x07" + REQUEST_9[10:],
            "topic_data claims 2147483646 elements",
        ),
        (9, REQUEST_9[:9] + b"\0" + REQUEST_9[10:], "topic_data is null"),
        (9, REQUEST_9[:10] + b"\0" + REQUEST_9[11:], "name is null"),
        (9, REQUEST_9[:12] + b"\0" + REQUEST_9[13:], "partition_data is null"),
    ],
)
def test_a_malformed_request_is_refused_with_what_is_wrong_about_it(
    version: int, body: bytes, complaint: str
) -> None:
    with pytest.raises(RemoteProtocolError, match=complaint):
        read_produce(version, body, 0, len(body))


@pytest.mark.parametrize(("version", "content"), RESPONSES.items())
def test_a_response_is_a_frame_in_the_layout_of_its_version(version: int, content: bytes) -> None:
    frame = write_produce_response(version, 7, [("t", [(5, REPLY)])], throttle_time_ms=99)

    assert frame == len(content).to_bytes(4, "big") + content


def test_record_errors_and_their_message_are_sent_since_version_8() -> None:
    refused = PartitionReply(87, record_errors=[(2, "no key"), (4, None)], error_message="invalid")

    legacy = write_produce_response(8, 7, [("t", [(5, refused)])])
    flexible = write_produce_response(9, 7, [("t", [(5, refused)])])

    assert b"\0\0\0\x02" + b"\0\0\0\x02\0\x06no key" + b"\0\0\0\x04\xff\xff" + b"\0\x07invalid" in legacy
    assert b"\x03" + b"\0\0\0\x02\x07no key\0" + b"\0\0\0\x04\0\0" + b"\x08invalid" in flexible
    assert b"invalid" not in write_produce_response(7, 7, [("t", [(5, refused)])])


def test_the_current_leader_and_its_endpoint_are_sent_since_version_10() -> None:
    moved = PartitionReply(6, current_leader=(2, 3))
    endpoints = [(2, "leader-host", 9092, None)]
    leader = b"\x01" + b"\0\x09" + b"\0\0\0\x02" + b"\0\0\0\x03" + b"\0"

    old = write_produce_response(9, 7, [("t", [(5, moved)])], 0, endpoints)
    new = write_produce_response(10, 7, [("t", [(5, moved)])], 0, endpoints)

    assert leader not in old
    assert b"leader-host" not in old
    assert leader in new
    assert b"leader-host" in new


@pytest.mark.parametrize("version", [3, 9])
def test_a_value_that_cannot_be_sent_is_our_own_mistake(version: int) -> None:
    with pytest.raises(LocalProtocolError, match=f"ProduceResponse {version}"):
        write_produce_response(version, 7, [("t", [(5, PartitionReply(error_code=1 << 15))])])


@pytest.mark.parametrize("version", [3, 9, 13])
def test_a_request_that_names_too_many_partitions_is_refused(
    version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(produce, "PARTITIONS_MAX", 3)
    partition = messages.PartitionProduceData(records=None)

    def read(*counts: int) -> ProduceRequest:
        topics = [messages.TopicProduceData(name="t", partition_data=[partition] * count) for count in counts]
        body = codec.encode(messages.ProduceRequest(topic_data=topics), version)
        return read_produce(version, body, 0, len(body))

    assert len(read(3).partitions) == len(read(1, 0, 2).partitions) == 3
    for counts in ((4,), (2, 2), (0, 0, 0, 0)):
        with pytest.raises(RemoteProtocolError, match="names 4 partitions; 3 are accepted"):
            read(*counts)
