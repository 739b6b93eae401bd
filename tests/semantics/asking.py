"""Requests as the tests put them, in any version, and the one part of the reply that a test asks for.

Nothing here judges a reply: errors are values, since they are what most tests are about.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from riverlog.protocol import messages
from riverlog.protocol.batches import BatchHeader, WalkStop, split_batches
from riverlog.protocol.records import Record, read_records
from tests.process.raw_client import ALL, CREATE_TOPICS, FETCH, LIST_OFFSETS, METADATA, PRODUCE, RawClient

DELETE_TOPICS, DELETE_RECORDS, OFFSET_FOR_LEADER_EPOCH, DESCRIBE_CONFIGS = 20, 21, 23, 32
CREATE_PARTITIONS, INCREMENTAL_ALTER_CONFIGS = 37, 44

PRODUCE_VERSIONS = (3, 7, 8, 9, 12, 13)
"""The ends of the range, and where batches, record errors, flexible fields and topic ids came in."""
FETCH_VERSIONS = (4, 7, 11, 12, 13, 18)
FIRST_PRODUCE_WITH_IDS = 13
FIRST_FETCH_WITH_IDS = 13

EVENTUALLY_SECONDS = 30.0
_BETWEEN_LOOKS_SECONDS = 0.02


class Topic(NamedTuple):
    """A topic as requests name it: by name, in newer versions by id."""

    name: str
    id: bytes


class StoredBatch(NamedTuple):
    """One batch as it was fetched."""

    header: BatchHeader
    records: list[Record]


def eventually(is_so: Callable[[], bool], what: str) -> None:
    """Look again and again until something has come about."""
    deadline = time.monotonic() + EVENTUALLY_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, f"not within {EVENTUALLY_SECONDS:g} s: {what}"
        time.sleep(_BETWEEN_LOOKS_SECONDS)


def is_silent(client: RawClient) -> bool:
    """Say whether nothing has come on the connection that was not read yet."""
    readable, _, _ = select.select([client.socket], [], [], 0)
    return not readable


def is_closed(client: RawClient) -> bool:
    """Wait for the broker's next word, and say whether it was to hang up."""
    try:
        return client.socket.recv(1) == b""
    except ConnectionResetError:
        return True


# Produce


def produce_request(
    topic: Topic, batch: bytes | bytearray | None, *, partition: int = 0, acks: int = ALL
) -> messages.ProduceRequest:
    """Ask to append one batch."""
    data = messages.PartitionProduceData(index=partition, records=None if batch is None else bytes(batch))
    return messages.ProduceRequest(
        acks=acks,
        timeout_ms=30_000,
        topic_data=[messages.TopicProduceData(name=topic.name, topic_id=topic.id, partition_data=[data])],
    )


def produce(
    client: RawClient,
    topic: Topic,
    batch: bytes | bytearray | None,
    *,
    partition: int = 0,
    acks: int = ALL,
    version: int = 13,
) -> Any:
    """Append one batch; give the partition's part of the reply."""
    request = produce_request(topic, batch, partition=partition, acks=acks)
    (answered,) = client.call(PRODUCE, version, request).responses
    (reply,) = answered.partition_responses
    return reply


def append(client: RawClient, topic: Topic, *batches: bytes | bytearray, partition: int = 0) -> int:
    """Append batches that must be accepted; give the offset behind the last of them."""
    for batch in batches:
        reply = produce(client, topic, batch, partition=partition)
        assert reply.error_code == 0, f"{topic.name}: error {reply.error_code}, {reply.error_message}"
    return log_end(client, topic, partition=partition)


# Fetch


def wanted(partition: int = 0, offset: int = 0, **fields: int) -> messages.FetchRequestFetchPartition:
    """Ask for one partition from `offset` on."""
    return messages.FetchRequestFetchPartition(
        partition=partition, fetch_offset=offset, **{"partition_max_bytes": 1 << 20, **fields}
    )


def fetch_request(
    partitions: Mapping[Topic, Iterable[messages.FetchRequestFetchPartition]],
    *,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 16 << 20,
    forgotten: Mapping[Topic, list[int]] | None = None,
    session_id: int = 0,
    session_epoch: int = -1,
) -> messages.FetchRequest:
    """Ask for several partitions, in a session or without one."""
    return messages.FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=[
            messages.FetchRequestFetchTopic(topic=topic.name, topic_id=topic.id, partitions=list(asked))
            for topic, asked in partitions.items()
        ],
        forgotten_topics_data=[
            messages.FetchRequestForgottenTopic(topic=topic.name, topic_id=topic.id, partitions=indexes)
            for topic, indexes in (forgotten or {}).items()
        ],
    )


def fetched_of(response: Any) -> dict[int, Any]:
    """Give the partitions of a reply that is about one topic, by index."""
    assert len(response.responses) <= 1
    return {each.partition_index: each for topic in response.responses for each in topic.partitions}


def fetch(
    client: RawClient,
    topic: Topic,
    offset: int = 0,
    *,
    partition: int = 0,
    version: int = 18,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    **fields: int,
) -> Any:
    """Read one partition; give its part of the reply."""
    request = fetch_request(
        {topic: [wanted(partition, offset, **fields)]}, max_wait_ms=max_wait_ms, min_bytes=min_bytes
    )
    response = client.call(FETCH, version, request)
    assert response.error_code == 0, f"the fetch as a whole: error {response.error_code}"
    (reply,) = fetched_of(response).values()
    return reply


def batches_of(records: bytes | None) -> list[StoredBatch]:
    """Cut fetched bytes into batches, all whole and with the CRC that their bytes give."""
    content = records or b""
    walk = split_batches(content, 0, len(content))
    assert walk.stop == WalkStop.END, f"after {len(walk.batches)} good batches: {walk.stop}"
    return [StoredBatch(header, list(read_records(content, position))) for position, header in walk.batches]


def stored(client: RawClient, topic: Topic, *, partition: int = 0, version: int = 18) -> list[StoredBatch]:
    """Read a small partition from its start to its end."""
    start = list_offset(client, topic, -2, partition=partition).offset
    reply = fetch(client, topic, start, partition=partition, version=version)
    assert reply.error_code == 0, f"{topic.name}: error {reply.error_code}"
    return batches_of(reply.records)


# Offsets


def list_offset(
    client: RawClient,
    topic: Topic,
    timestamp: int,
    *,
    partition: int = 0,
    version: int = 11,
    current_leader_epoch: int = -1,
) -> Any:
    """Look up an offset by time, or a special one; give the partition's part of the reply."""
    asked = messages.ListOffsetsPartition(
        partition_index=partition, timestamp=timestamp, current_leader_epoch=current_leader_epoch
    )
    request = messages.ListOffsetsRequest(
        replica_id=-1, topics=[messages.ListOffsetsTopic(name=topic.name, partitions=[asked])]
    )
    (answered,) = client.call(LIST_OFFSETS, version, request).topics
    (reply,) = answered.partitions
    return reply


def log_end(client: RawClient, topic: Topic, *, partition: int = 0) -> int:
    """Give the high watermark, which with one replica is the end of the log."""
    reply = list_offset(client, topic, -1, partition=partition)
    assert reply.error_code == 0, f"{topic.name}: error {reply.error_code}"
    return int(reply.offset)


def end_of_epoch(
    client: RawClient,
    topic: Topic,
    leader_epoch: int,
    *,
    partition: int = 0,
    version: int = 4,
    current_leader_epoch: int = -1,
) -> Any:
    """Ask where a leader epoch ends; give the partition's part of the reply."""
    asked = messages.OffsetForLeaderPartition(
        partition=partition, leader_epoch=leader_epoch, current_leader_epoch=current_leader_epoch
    )
    request = messages.OffsetForLeaderEpochRequest(
        replica_id=-1, topics=[messages.OffsetForLeaderTopic(topic=topic.name, partitions=[asked])]
    )
    (answered,) = client.call(OFFSET_FOR_LEADER_EPOCH, version, request).topics
    (reply,) = answered.partitions
    return reply


def delete_records(
    client: RawClient, topic: Topic, offset: int, *, partition: int = 0, version: int = 2
) -> Any:
    """Let a partition start later; give its part of the reply."""
    asked = messages.DeleteRecordsPartition(partition_index=partition, offset=offset)
    request = messages.DeleteRecordsRequest(
        timeout_ms=30_000, topics=[messages.DeleteRecordsTopic(name=topic.name, partitions=[asked])]
    )
    (answered,) = client.call(DELETE_RECORDS, version, request).topics
    (reply,) = answered.partitions
    return reply


# Topics and settings


def topics_described(client: RawClient, *names: str, version: int = 13, create: bool = False) -> list[Any]:
    """Ask Metadata for these topics."""
    request = messages.MetadataRequest(
        topics=[messages.MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=create
    )
    return list(client.call(METADATA, version, request).topics)


def create_topics(
    client: RawClient, *topics: messages.CreatableTopic, validate_only: bool = False, version: int = 7
) -> list[Any]:
    """Ask for topics; give what became of each."""
    request = messages.CreateTopicsRequest(
        topics=list(topics), timeout_ms=30_000, validate_only=validate_only
    )
    return list(client.call(CREATE_TOPICS, version, request).topics)


def delete_topic(client: RawClient, topic: Topic) -> None:
    """Delete a topic that is there."""
    request = messages.DeleteTopicsRequest(
        topics=[messages.DeleteTopicState(name=topic.name)], timeout_ms=30_000
    )
    (deleted,) = client.call(DELETE_TOPICS, 6, request).responses
    assert deleted.error_code == 0, f"{topic.name}: error {deleted.error_code}, {deleted.error_message}"


def create_again(client: RawClient, name: str) -> Topic:
    """Create a topic whose name a deletion has just set free; give it once it is led."""
    created = Topic(name, b"")

    def is_created() -> bool:
        nonlocal created
        (result,) = create_topics(
            client, messages.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        )
        created = Topic(name, bytes(result.topic_id))
        return bool(result.error_code == 0)

    def is_led() -> bool:
        (told,) = topics_described(client, name)
        return told.topic_id == created.id and not list_offset(client, created, -1).error_code

    eventually(is_created, f"{name} is created again")
    eventually(is_led, f"{name} is led again")
    return created


def create_partitions(client: RawClient, *counts: tuple[str, int], version: int = 3) -> list[Any]:
    """Ask that topics have so many partitions; give what became of each."""
    request = messages.CreatePartitionsRequest(
        topics=[
            messages.CreatePartitionsTopic(name=name, count=count, assignments=None) for name, count in counts
        ],
        timeout_ms=30_000,
    )
    return list(client.call(CREATE_PARTITIONS, version, request).results)


TOPIC, BROKER = 2, 4
"""Kinds of things that have settings."""
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3


def alter(
    client: RawClient,
    topic: Topic,
    *edits: tuple[int, str, str | None],
    validate_only: bool = False,
    version: int = 1,
) -> Any:
    """Edit a topic's settings by (operation, name, value); give the reply."""
    request = messages.IncrementalAlterConfigsRequest(
        resources=[
            messages.IncrementalAlterConfigsRequestAlterConfigsResource(
                resource_type=TOPIC,
                resource_name=topic.name,
                configs=[
                    messages.IncrementalAlterConfigsRequestAlterableConfig(
                        name=name, config_operation=operation, value=value
                    )
                    for operation, name, value in edits
                ],
            )
        ],
        validate_only=validate_only,
    )
    (reply,) = client.call(INCREMENTAL_ALTER_CONFIGS, version, request).responses
    return reply


def settings_of(
    client: RawClient,
    kind: int,
    name: str,
    *,
    only: list[str] | None = None,
    synonyms: bool = False,
    documentation: bool = False,
    version: int = 4,
) -> dict[str, Any]:
    """Describe the settings of a topic or broker, by name."""
    request = messages.DescribeConfigsRequest(
        resources=[
            messages.DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=only)
        ],
        include_synonyms=synonyms,
        include_documentation=documentation,
    )
    (result,) = client.call(DESCRIBE_CONFIGS, version, request).results
    assert result.error_code == 0, f"{name}: error {result.error_code}, {result.error_message}"
    return {each.name: each for each in result.configs}
