"""The codecs of Produce and Fetch that were written by hand, against the compiled ones, in every version."""

from random import Random
from typing import Any

import pytest

from riverlog.protocol import codec, fetch, headers, messages, produce, produce_shape, wire
from tests.property.random_messages import MessageBuilder, versions_of

EXAMPLES_PER_VERSION = 25
BEFORE, AFTER = b"\xff" * 5, b"\xff" * 11


class Records:
    """Records whose bytes are sent apart from the rest."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.length = len(content)


def topic_of(message: Any, version: int, ids_from: int) -> Any:
    if version >= ids_from:
        return message.topic_id
    return message.name if hasattr(message, "name") else message.topic


@pytest.mark.parametrize("seed", range(EXAMPLES_PER_VERSION))
@pytest.mark.parametrize("version", versions_of("ProduceRequest"))
def test_a_produce_request_says_where_its_records_lie(version: int, seed: int) -> None:
    message = MessageBuilder("ProduceRequest", version, seed).message()
    body = codec.encode(message, version)
    buffer = BEFORE + body + AFTER

    request = produce.read_produce(version, buffer, len(BEFORE), len(BEFORE) + len(body))

    assert (request.transactional_id, request.acks, request.timeout_ms) == (
        message.transactional_id,
        message.acks,
        message.timeout_ms,
    )
    assert [
        (topic, index, None if start == end == -1 else buffer[start:end])
        for topic, index, start, end in request.partitions
    ] == [
        (topic_of(topic, version, produce.TOPIC_IDS_FROM), partition.index, partition.records)
        for topic in message.topic_data
        for partition in topic.partition_data
    ]


@pytest.mark.parametrize("seed", range(EXAMPLES_PER_VERSION))
@pytest.mark.parametrize("version", versions_of("ProduceResponse"))
def test_a_produce_response_is_written_as_the_compiled_codec_writes_it(version: int, seed: int) -> None:
    message = MessageBuilder("ProduceResponse", version, seed).message()
    topics = [
        (
            topic_of(topic, version, produce.TOPIC_IDS_FROM),
            [(reply.index, produce_reply(reply)) for reply in topic.partition_responses],
        )
        for topic in message.responses
    ]
    endpoints = [(node.node_id, node.host, node.port, node.rack) for node in message.node_endpoints]

    frame = produce.write_produce_response(version, seed, topics, message.throttle_time_ms, endpoints)

    assert frame == wire.write_response(0, version, seed, message)


def produce_reply(reply: Any) -> produce.PartitionReply:
    leader = reply.current_leader
    return produce.PartitionReply(
        error_code=reply.error_code,
        base_offset=reply.base_offset,
        log_append_time_ms=reply.log_append_time_ms,
        log_start_offset=reply.log_start_offset,
        record_errors=[(error.batch_index, error.batch_index_error_message) for error in reply.record_errors],
        error_message=reply.error_message,
        current_leader=None if leader == type(leader)() else (leader.leader_id, leader.leader_epoch),
    )


@pytest.mark.parametrize("seed", range(EXAMPLES_PER_VERSION))
@pytest.mark.parametrize("version", versions_of("FetchRequest"))
def test_a_fetch_request_is_read_as_the_compiled_codec_reads_it(version: int, seed: int) -> None:
    message = MessageBuilder("FetchRequest", version, seed).message()
    body = codec.encode(message, version)
    buffer = bytearray(BEFORE + body + AFTER)

    request = fetch.read_fetch(version, buffer, len(BEFORE), len(BEFORE) + len(body))

    replica = message.replica_state if version >= 15 else message
    assert request.replica_id == replica.replica_id
    assert request.replica_epoch == message.replica_state.replica_epoch
    for name in ("max_wait_ms", "min_bytes", "max_bytes", "isolation_level", "session_id", "session_epoch"):
        assert getattr(request, name) == getattr(message, name)
    assert (request.cluster_id, request.rack_id) == (message.cluster_id, message.rack_id)
    assert request.topics == [
        (topic_of(topic, version, 13), [fetch_partition(partition) for partition in topic.partitions])
        for topic in message.topics
    ]
    assert request.forgotten == [
        (topic_of(topic, version, 13), topic.partitions) for topic in message.forgotten_topics_data
    ]


def fetch_partition(partition: Any) -> fetch.FetchPartition:
    return fetch.FetchPartition(
        index=partition.partition,
        current_leader_epoch=partition.current_leader_epoch,
        fetch_offset=partition.fetch_offset,
        last_fetched_epoch=partition.last_fetched_epoch,
        log_start_offset=partition.log_start_offset,
        max_bytes=partition.partition_max_bytes,
        replica_directory_id=partition.replica_directory_id,
        high_watermark=partition.high_watermark,
    )


@pytest.mark.parametrize("seed", range(EXAMPLES_PER_VERSION))
@pytest.mark.parametrize("version", versions_of("FetchResponse"))
def test_a_fetch_response_is_written_as_the_compiled_codec_writes_it(version: int, seed: int) -> None:
    message = MessageBuilder("FetchResponse", version, seed).message()
    for topic in message.responses:
        for partition in topic.partitions:
            partition.records = partition.records or b""  # the hand-written codec never sends null ...
            partition.snapshot_id = messages.SnapshotId()  # ... nor the snapshots of Kafka's own metadata log
    topics = [
        (topic_of(topic, version, 13), [fetched_partition(partition) for partition in topic.partitions])
        for topic in message.responses
    ]
    endpoints = [(node.node_id, node.host, node.port, node.rack) for node in message.node_endpoints]

    chunks = fetch.write_fetch_response(
        version, seed, message.throttle_time_ms, message.error_code, message.session_id, topics, endpoints
    )

    assert b"".join(chunk.content if isinstance(chunk, Records) else chunk for chunk in chunks) == (  # type: ignore[misc]
        wire.write_response(1, version, seed, message)
    )


def fetched_partition(partition: Any) -> fetch.FetchedPartition:
    diverging, leader = partition.diverging_epoch, partition.current_leader
    aborted = partition.aborted_transactions
    return fetch.FetchedPartition(
        index=partition.partition_index,
        error_code=partition.error_code,
        high_watermark=partition.high_watermark,
        last_stable_offset=partition.last_stable_offset,
        log_start_offset=partition.log_start_offset,
        aborted=None if aborted is None else [(one.producer_id, one.first_offset) for one in aborted],
        preferred_read_replica=partition.preferred_read_replica,
        records=Records(partition.records) if partition.records else None,
        diverging_epoch=None if diverging == type(diverging)() else (diverging.epoch, diverging.end_offset),
        current_leader=None if leader == type(leader)() else (leader.leader_id, leader.leader_epoch),
    )


@pytest.mark.parametrize("version", versions_of("ProduceRequest"))
def test_a_produce_request_is_read_behind_its_header(version: int) -> None:
    message = MessageBuilder("ProduceRequest", version, seed=0).message()
    frame = wire.write_request(0, version, 7, "client", message)

    header = headers.read_request_header(frame, 4, len(frame))
    request = produce.read_produce(header.api_version, frame, header.body_start, len(frame))

    assert request.acks == message.acks


@pytest.mark.parametrize("seed", range(EXAMPLES_PER_VERSION))
@pytest.mark.parametrize("version", range(produce_shape.FIRST_VERSION, 14))
def test_what_is_recognised_by_its_shape_reads_the_same_field_by_field(version: int, seed: int) -> None:
    random = Random(seed)
    partition = messages.PartitionProduceData(index=seed, records=random.randbytes(61 + 40 * seed))
    topic = messages.TopicProduceData(name="t", topic_id=bytes(16), partition_data=[partition])
    message = messages.ProduceRequest(acks=seed % 2, timeout_ms=seed, topic_data=[topic])
    frame = bytearray(wire.write_request(0, version, seed, "client", message)[4:])
    body_start = headers.read_request_header(frame, 0, len(frame)).body_start
    shape = produce_shape.shape_of(
        version, frame, 0, produce.read_produce(version, frame, body_start, len(frame))
    )
    assert shape is not None

    for _ in range(300):
        changed = bytearray(frame)
        for _ in range(random.randint(0, 2)):
            changed[random.randrange(len(changed))] = random.choice((0, 1, 127, 128, 255))
        alike = shape.match(changed, 0, len(changed))
        if alike is None:
            continue
        header = headers.read_request_header(changed, 0, len(changed))
        read = produce.read_produce(version, changed, header.body_start, len(changed))
        assert alike == (header.correlation_id, *read.partitions[0][1:])
        assert (header.api_version, read.transactional_id, read.acks) == (version, None, shape.acks)
        assert [each[0] for each in read.partitions] == [shape.topic]
