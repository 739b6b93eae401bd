import struct

import pytest

from riverlog.protocol import messages, wire
from riverlog.protocol.headers import read_request_header
from riverlog.protocol.produce import FLEXIBLE_FROM, PartitionReply, read_produce, write_produce_response
from riverlog.protocol.produce_shape import FIRST_VERSION, Likeness, ProduceShape, shape_of
from tests.batch_builders import batch

VERSIONS = range(FIRST_VERSION, 14)
TOPIC_ID = bytes(range(16))
BEFORE, AFTER = b"\xff" * 3, b"\0" * 9


def request(
    version: int,
    *,
    topic: str = "orders",
    partitions: tuple[int, ...] = (3,),
    records: bytes | None = None,
    correlation_id: int = 1,
    client: str = "ann",
    acks: int = 1,
    transactional_id: str | None = None,
) -> bytearray:
    """A request as it comes, without its size."""
    data = [
        messages.PartitionProduceData(index=index, records=bytes(batch(2)) if records is None else records)
        for index in partitions
    ]
    message = messages.ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=30_000,
        topic_data=[messages.TopicProduceData(name=topic, topic_id=TOPIC_ID, partition_data=data)],
    )
    return bytearray(wire.write_request(0, version, correlation_id, client, message)[4:])


def learnt_from(frame: bytearray) -> ProduceShape | None:
    header = read_request_header(frame, 0, len(frame))
    read = read_produce(header.api_version, frame, header.body_start, len(frame))
    return shape_of(header.api_version, frame, 0, read)


def shape(version: int) -> ProduceShape:
    found = learnt_from(request(version))
    assert found is not None
    return found


def match(known: ProduceShape, frame: bytes | bytearray) -> Likeness | None:
    buffer = bytearray(BEFORE + frame + AFTER)
    return known.match(buffer, len(BEFORE), len(BEFORE) + len(frame))


@pytest.mark.parametrize("count", [1, 3, 500], ids=["one byte of length", "two bytes", "three bytes"])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_next_request_is_recognised_whatever_its_number_its_partition_and_its_batch(
    version: int, count: int
) -> None:
    records = bytes(batch(count))
    frame = request(version, partitions=(70_000,), records=records, correlation_id=-5)

    alike = match(shape(version), frame)

    assert alike is not None
    correlation_id, index, start, end = alike
    assert (correlation_id, index) == (-5, 70_000)
    assert (BEFORE + frame + AFTER)[start:end] == records


@pytest.mark.parametrize("version", VERSIONS)
def test_the_reply_is_the_one_that_is_written_field_by_field(version: int) -> None:
    topic = TOPIC_ID if version >= 13 else "orders"
    reply = PartitionReply(0, base_offset=2**40, log_append_time_ms=17, log_start_offset=5)

    assert shape(version).reply(-9, 70_000, 2**40, 17, 5) == write_produce_response(
        version, -9, [(topic, [(70_000, reply)])]
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_what_differs_in_anything_else_is_not_recognised(version: int) -> None:
    known = shape(version)
    others = [
        request(version, client="bob"),
        request(version, acks=-1),
        request(version, transactional_id="tx"),
        request(version, partitions=(3, 4)),
        request(version, partitions=()),
        request(version, records=b""),
        request(version, records=bytes(60)),
        request(version) + b"\0",
        bytearray(wire.write_request(1, 12, 1, "ann", messages.FetchRequest())[4:]),
    ]
    if version < 13:
        others += [request(version, topic="orderz"), request(version, topic="order")]
    if version > FIRST_VERSION:
        others.append(request(version - 1))

    assert [match(known, other) for other in others] == [None] * len(others)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_that_breaks_off_is_not_recognised(version: int) -> None:
    known, frame = shape(version), request(version)

    assert [match(known, frame[:size]) for size in range(len(frame))] == [None] * len(frame)


@pytest.mark.parametrize("version", range(FLEXIBLE_FROM, 14))
def test_a_tag_behind_the_records_is_not_overlooked(version: int) -> None:
    known, frame = shape(version), request(version)
    frame[-1:] = b"\x01\x07\0"  # one tag, number 7, empty

    assert match(known, frame) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_a_batch_of_a_transaction_is_left_to_those_who_ask_the_coordinator(version: int) -> None:
    records = batch(2, is_transactional=True, producer_id=4, producer_epoch=0, base_sequence=0)

    assert match(shape(version), request(version, records=bytes(records))) is None


@pytest.mark.parametrize("version", range(FLEXIBLE_FROM, 14))
def test_a_length_in_more_bytes_than_it_needs_is_never_misread(version: int) -> None:
    records = bytes(batch(2))
    frame = request(version, records=records)
    start = frame.index(records)
    long_length = struct.pack("BBB", (len(records) + 1) & 0x7F | 0x80, (len(records) + 1) >> 7 | 0x80, 0)
    frame[start - (1 if len(records) < 127 else 2) : start] = long_length

    learnt = learnt_from(frame)

    assert learnt is None or match(learnt, frame) is None
    alike = match(shape(version), frame)
    assert alike is None or (BEFORE + frame)[alike[2] : alike[3]] == records


@pytest.mark.parametrize(
    "frame",
    [
        request(4),
        request(9, transactional_id="tx"),
        request(9, partitions=(1, 2)),
        request(9, records=b""),
    ],
    ids=["an old version", "a transaction", "two partitions", "no records"],
)
def test_some_requests_have_no_shape(frame: bytearray) -> None:
    assert learnt_from(frame) is None
