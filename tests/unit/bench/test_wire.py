"""The bench's hand-written bytes against riverlog's own codecs: two readers of one specification."""

from typing import Any

import pytest

from bench import wire
from bench.errors import Malformed, Refused
from riverlog.protocol import headers, messages
from riverlog.protocol import wire as codec
from riverlog.protocol.batches import crc_is_valid, read_header
from riverlog.protocol.message import Message
from riverlog.protocol.records import read_records


def decoded(request: bytes) -> Any:
    """Read a request back with riverlog's codec; a wrong frame size or a stray byte raises."""
    assert int.from_bytes(request[:4], "big") == len(request) - 4
    header = headers.read_request_header(request, 4, len(request))
    return codec.read_request(header.api_key, header.api_version, request, header.body_start, len(request))


def response(api_key: int, version: int, message: Message) -> bytes:
    """A response frame without its size."""
    return codec.write_response(api_key, version, 7, message)[4:]


def produce_response(error_code: int = 0) -> Message:
    partition = messages.PartitionProduceResponse(index=0, error_code=error_code, base_offset=41)
    topic = messages.TopicProduceResponse(name="topic", partition_responses=[partition])
    return messages.ProduceResponse(responses=[topic])


def fetch_response(records: bytes | None, error_code: int = 0) -> Message:
    partition = messages.FetchResponsePartitionData(
        partition_index=0, error_code=error_code, high_watermark=9, records=records
    )
    topic = messages.FetchableTopicResponse(topic="topic", partitions=[partition])
    return messages.FetchResponse(responses=[topic])


def test_a_batch_is_valid_and_holds_its_values_in_order() -> None:
    values = [b"first", b"x" * 300, b""]

    batch = wire.batch_of(values, timestamp_ms=1234)

    header = read_header(batch)
    assert crc_is_valid(batch, 0, header)
    assert header.size == len(batch)
    assert (header.producer_id, header.base_sequence) == (-1, -1)
    assert [(record.offset, record.timestamp, record.value) for record in read_records(batch, 0)] == [
        (0, 1234, b"first"),
        (1, 1234, b"x" * 300),
        (2, 1234, b""),
    ]


@pytest.mark.parametrize("bytes_max", [16_384, 1_000_000])
def test_a_batch_up_to_a_size_fills_it_and_counts_its_records(bytes_max: int) -> None:
    batch = wire.batch_up_to(bytes_max, value_size=100, timestamp_ms=1234)

    assert bytes_max - 120 < len(batch.data) <= bytes_max
    assert read_header(batch.data).record_count == batch.record_count


def test_a_produce_request_carries_its_batch() -> None:
    batch = wire.batch_of([b"value"], timestamp_ms=1234)

    request = decoded(wire.produce_request("topic", 3, batch, acks=-1, timeout_ms=500))

    partition = messages.PartitionProduceData(index=3, records=batch)
    assert request == messages.ProduceRequest(
        acks=-1,
        timeout_ms=500,
        topic_data=[messages.TopicProduceData(name="topic", partition_data=[partition])],
    )


def test_a_fetch_request_asks_outside_of_any_session() -> None:
    request = decoded(wire.fetch_request("topic", 3, offset=1 << 40, bytes_max=1 << 20, wait_ms=250))

    partition = messages.FetchRequestFetchPartition(
        partition=3, fetch_offset=1 << 40, partition_max_bytes=1 << 20
    )
    assert request == messages.FetchRequest(
        replica_id=-1,
        max_wait_ms=250,
        min_bytes=1,
        max_bytes=1 << 20,
        session_epoch=-1,
        topics=[messages.FetchRequestFetchTopic(topic="topic", partitions=[partition])],
    )


def test_requests_about_topics_say_what_was_asked() -> None:
    assert decoded(wire.metadata_request(None)) == messages.MetadataRequest(
        topics=None, allow_auto_topic_creation=False
    )
    assert decoded(wire.metadata_request(["topic"], may_create=True)) == messages.MetadataRequest(
        topics=[messages.MetadataRequestTopic(name="topic")], allow_auto_topic_creation=True
    )
    assert decoded(wire.create_topics_request({"topic": 5}, timeout_ms=500)) == messages.CreateTopicsRequest(
        topics=[messages.CreatableTopic(name="topic", num_partitions=5, replication_factor=1)],
        timeout_ms=500,
    )
    assert decoded(wire.delete_topic_request("topic", timeout_ms=500)) == messages.DeleteTopicsRequest(
        topic_names=["topic"], timeout_ms=500
    )


def test_a_request_for_end_offsets_names_every_partition() -> None:
    request = decoded(wire.end_offsets_request("topic", 2))

    partitions = [
        messages.ListOffsetsPartition(partition_index=index, timestamp=-1, current_leader_epoch=-1)
        for index in range(2)
    ]
    assert request == messages.ListOffsetsRequest(
        replica_id=-1, topics=[messages.ListOffsetsTopic(name="topic", partitions=partitions)]
    )


def test_the_error_code_of_a_produce_response_is_where_it_is_said_to_be() -> None:
    good = response(0, 12, produce_response())
    bad = response(0, 12, produce_response(error_code=0x0102))

    position = wire.read_produced(good).error_position

    assert wire.read_produced(good)[:2] == (0, 41)
    assert len(good) == len(bad)
    assert bad[position : position + 2] == b"\x01\x02"
    assert bad[:position] + b"\0\0" + bad[position + 2 :] == good


@pytest.mark.parametrize("size", [1, 126, 127, 20_000])
def test_fetched_records_are_found_in_place(size: int) -> None:
    records = b"r" * size

    frame = response(1, 12, fetch_response(records))
    fetched = wire.read_fetched(frame)

    assert fetched[:2] == (0, 9)
    assert frame[fetched.records_start : fetched.records_start + fetched.records_size] == records


def test_an_empty_fetch_holds_no_records() -> None:
    assert wire.read_fetched(response(1, 12, fetch_response(None))).records_size == 0


def test_a_refused_fetch_tells_its_error() -> None:
    assert wire.read_fetched(response(1, 12, fetch_response(None, error_code=1))).error_code == 1


def test_metadata_counts_the_partitions_that_have_a_leader() -> None:
    partitions = [
        messages.MetadataResponsePartition(
            partition_index=index, leader_id=leader, replica_nodes=[1], isr_nodes=[1]
        )
        for index, leader in enumerate([1, -1, 1])
    ]
    broker = messages.MetadataResponseBroker(node_id=1, host="127.0.0.1", port=9092)
    topic = messages.MetadataResponseTopic(name="topic", partitions=partitions)
    message = messages.MetadataResponse(brokers=[broker], cluster_id="id", controller_id=1, topics=[topic])

    metadata = wire.read_metadata(response(3, 4, message))

    assert metadata == (1, {"topic": (0, 2)})


def test_end_offsets_are_read_unless_one_is_refused() -> None:
    def answer(error_code: int) -> bytes:
        partitions = [
            messages.ListOffsetsPartitionResponse(partition_index=0, offset=5),
            messages.ListOffsetsPartitionResponse(partition_index=1, offset=6, error_code=error_code),
        ]
        topic = messages.ListOffsetsTopicResponse(name="topic", partitions=partitions)
        return response(2, 2, messages.ListOffsetsResponse(topics=[topic]))

    assert wire.read_end_offsets(answer(0)) == [5, 6]
    with pytest.raises(Refused, match="error 6"):
        wire.read_end_offsets(answer(6))


def test_a_truncated_response_is_malformed() -> None:
    frame = response(0, 12, produce_response())

    with pytest.raises(Malformed):
        wire.read_produced(frame[:12])
