"""A client of one connection that sends exactly what a test says and reads exactly what comes back.

No retries, no metadata, no background threads. Requests may be pipelined: replies come in the order of
the requests, and `receive` checks that they do.
"""

from __future__ import annotations

import itertools
import socket
import struct
from collections import deque
from typing import Any

from riverlog.protocol import messages, wire

PRODUCE, FETCH, LIST_OFFSETS, METADATA, API_VERSIONS = 0, 1, 2, 3, 18
CREATE_TOPICS, DELETE_TOPICS, INIT_PRODUCER_ID = 19, 20, 22
ALL = -1
"""acks=all."""
EARLIEST, LATEST = -2, -1

DEADLINE_SECONDS = 30.0
_SIZE = struct.Struct(">i")


class Refused(Exception):
    """The broker answered with an error."""

    def __init__(self, attempted: str, error_code: int, message: str | None = None) -> None:
        super().__init__(f"{attempted}: error {error_code}{f' ({message})' if message else ''}")
        self.error_code = error_code


class RawClient:
    """One connection to a broker. Raises OSError (ConnectionError, TimeoutError) when it breaks."""

    def __init__(self, bootstrap: str, *, deadline: float = DEADLINE_SECONDS) -> None:
        host, _, port = bootstrap.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), deadline)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._numbers = itertools.count()
        self._asked: deque[tuple[int, int, int]] = deque()
        self._unread = bytearray()

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def in_flight(self) -> int:
        """How many replies are outstanding."""
        return len(self._asked)

    def send(self, api_key: int, version: int, message: Any) -> None:
        """Send a request; its reply is read by `receive`, after those of all before it."""
        number = next(self._numbers)
        frame = wire.write_request(api_key, version, number, "raw", message)
        self._asked.append((api_key, version, number))
        self.socket.sendall(frame)

    def receive(self) -> Any:
        """Read the reply to the oldest request that is not answered."""
        api_key, version, number = self._asked.popleft()
        frame = self.read_frame()
        correlation_id, message = wire.read_response(api_key, version, frame, 0, len(frame))
        assert correlation_id == number, f"reply {correlation_id} came where {number} was due"
        return message

    def call(self, api_key: int, version: int, message: Any) -> Any:
        """Send one request and read its reply."""
        self.send(api_key, version, message)
        return self.receive()

    def read_frame(self) -> bytes:
        """Read one frame, without the size in front of it."""
        (size,) = _SIZE.unpack(self._read(4))
        return self._read(size)

    def _read(self, size: int) -> bytes:
        unread = self._unread
        while len(unread) < size:
            piece = self.socket.recv(max(65536, min(size - len(unread), 1 << 20)))
            if not piece:
                raise ConnectionError("the broker closed the connection")
            unread += piece
        data = bytes(unread[:size])
        del unread[:size]
        return data

    # What many tests ask for

    def create_topic(self, name: str, partitions: int = 1, **settings: str) -> bytes:
        """Create a topic (settings with `_` for `.`) and give its id."""
        topic = messages.CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[
                messages.CreatableTopicConfig(name=key.replace("_", "."), value=value)
                for key, value in settings.items()
            ],
        )
        (created,) = self.call(CREATE_TOPICS, 7, messages.CreateTopicsRequest(topics=[topic])).topics
        if created.error_code:
            raise Refused(f"creating {name}", created.error_code, created.error_message)
        return bytes(created.topic_id)

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        request = messages.DeleteTopicsRequest(topics=[messages.DeleteTopicState(name=name)])
        (deleted,) = self.call(DELETE_TOPICS, 6, request).responses
        if deleted.error_code:
            raise Refused(f"deleting {name}", deleted.error_code, deleted.error_message)

    def topics(self) -> dict[str, bytes]:
        """Give all topics: name to id."""
        answer = self.call(METADATA, 12, messages.MetadataRequest(topics=None))
        return {topic.name: bytes(topic.topic_id) for topic in answer.topics}

    def send_batches(
        self, batches: list[tuple[str, int, bytes | bytearray]], *, acks: int = ALL, version: int = 9
    ) -> None:
        """Send one produce request with these (topic, partition, batch)."""
        by_topic: dict[str, list[Any]] = {}
        for topic, partition, batch in batches:
            data = messages.PartitionProduceData(index=partition, records=bytes(batch))
            by_topic.setdefault(topic, []).append(data)
        topics = [
            messages.TopicProduceData(name=name, partition_data=data) for name, data in by_topic.items()
        ]
        request = messages.ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=topics)
        self.send(PRODUCE, version, request)

    def receive_produced(self) -> dict[tuple[str, int], Any]:
        """Read the reply to `send_batches`: (topic, partition) to its part of it."""
        return {
            (topic.name, partition.index): partition
            for topic in self.receive().responses
            for partition in topic.partition_responses
        }

    def produce(self, topic: str, partition: int, batch: bytes | bytearray, *, acks: int = ALL) -> int:
        """Append one batch and give its base offset."""
        self.send_batches([(topic, partition, batch)], acks=acks)
        (reply,) = self.receive_produced().values()
        if reply.error_code:
            raise Refused(f"producing to {topic}-{partition}", reply.error_code, reply.error_message)
        return int(reply.base_offset)

    def offset(self, topic: str, partition: int, timestamp: int = LATEST) -> int:
        """Give the partition's earliest or latest offset."""
        asked = messages.ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
        request = messages.ListOffsetsRequest(
            replica_id=-1, topics=[messages.ListOffsetsTopic(name=topic, partitions=[asked])]
        )
        reply = self.call(LIST_OFFSETS, 7, request).topics[0].partitions[0]
        if reply.error_code:
            raise Refused(f"offset of {topic}-{partition}", reply.error_code)
        return int(reply.offset)

    def send_fetch(
        self, positions: dict[tuple[str, int], int], *, max_wait_ms: int = 0, min_bytes: int = 1
    ) -> None:
        """Ask for what (topic, partition) hold from these offsets on."""
        by_topic: dict[str, list[Any]] = {}
        for (topic, partition), offset in positions.items():
            wanted = messages.FetchRequestFetchPartition(
                partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20
            )
            by_topic.setdefault(topic, []).append(wanted)
        request = messages.FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            max_bytes=16 << 20,
            topics=[
                messages.FetchRequestFetchTopic(topic=name, partitions=wanted)
                for name, wanted in by_topic.items()
            ],
        )
        self.send(FETCH, 12, request)

    def receive_fetched(self) -> dict[tuple[str, int], Any]:
        """Read the reply to `send_fetch`: (topic, partition) to its part of it."""
        answer = self.receive()
        if answer.error_code:
            raise Refused("fetching", answer.error_code)
        return {
            (topic.topic, partition.partition_index): partition
            for topic in answer.responses
            for partition in topic.partitions
        }

    def fetch(self, topic: str, partition: int, offset: int) -> Any:
        """Read one partition from `offset` on; give its part of the reply."""
        self.send_fetch({(topic, partition): offset})
        (reply,) = self.receive_fetched().values()
        if reply.error_code:
            raise Refused(f"fetching {topic}-{partition} at {offset}", reply.error_code)
        return reply
