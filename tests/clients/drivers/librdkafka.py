"""librdkafka, through confluent-kafka: the newest protocol features, its own retry and batching rules.

The partitioner is set to `murmur2_random`, the one that agrees with the Java client; librdkafka's own
default hashes with CRC32. CRCs are checked on reading, which librdkafka leaves off by default.
"""

from __future__ import annotations

import time
from concurrent.futures import Future
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)
from confluent_kafka.admin import OffsetSpec as Spec

from . import DEADLINE_S, Cluster, Message, Placed, Reader, Refused, Stored
from .member import HEARTBEAT_MS, POLL_SECONDS, RANGE, SESSION_MS, Place, ThreadMember

# Lost connections are what some tests are about: librdkafka's complaints of them would hide real ones.
QUIET = {"log_level": 2}


def refused(error: KafkaError) -> Refused:
    return Refused(error.code(), retriable=error.retriable(), text=error.str())


class LibrdkafkaMember(ThreadMember):
    """A consumer that remembers what it was given and what it had to give up."""

    def __init__(self, topic: str, settings: dict[str, Any]) -> None:
        self.given: list[set[int]] = []
        self.revoked: list[set[int]] = []
        self._topic = topic
        self._settings = settings
        super().__init__()

    def open(self) -> None:
        self._consumer = Consumer(self._settings)
        self._consumer.subscribe([self._topic], on_assign=self._on_assign, on_revoke=self._on_revoke)

    def _on_assign(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.given.append({each.partition for each in partitions})

    def _on_revoke(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        gone = {each.partition for each in partitions}
        self.revoked.append(gone)
        self.give_up(gone)

    def poll(self) -> list[Place]:
        # one at a time: what a rebalance takes away while several are gathered would be lost
        message = self._consumer.poll(POLL_SECONDS)
        if message is None:
            return []
        if message.error() is not None:
            raise refused(message.error())
        return [Place(message.partition(), message.offset())]

    def commit(self, places: list[Place]) -> bool:
        ends = {place.partition: place.offset + 1 for place in places}
        try:
            # named, since librdkafka by itself commits no offset that is lower than the last one
            self._consumer.commit(
                offsets=[TopicPartition(self._topic, *end) for end in ends.items()], asynchronous=False
            )
        except KafkaException:
            return False
        return True

    def go_to(self, place: Place) -> None:
        self._consumer.seek(TopicPartition(self._topic, *place))

    def close(self) -> None:
        self._consumer.close()


class Librdkafka(Reader):
    name = "confluent-kafka"

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self.admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})

    def produce(
        self,
        topic: str,
        messages: list[Message],
        *,
        partition: int | None = None,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
        request_bytes_max: int = 1_000_000,
    ) -> list[Placed]:
        producer = Producer(
            {
                **QUIET,
                "bootstrap.servers": self.bootstrap,
                "acks": acks,
                "enable.idempotence": idempotent,
                "compression.type": codec,
                "partitioner": "murmur2_random",
                "linger.ms": 20,
                "message.max.bytes": request_bytes_max,
                "message.timeout.ms": int(DEADLINE_S * 1000),
                "retry.backoff.ms": 20,
                "reconnect.backoff.ms": 10,
            }
        )
        placed: dict[int, Placed] = {}
        errors: list[KafkaError] = []

        def on_delivery(index: int, error: KafkaError | None, report: Any) -> None:
            if error is not None:
                errors.append(error)
            else:
                offset = -1 if report.offset() is None or report.offset() < 0 else report.offset()
                placed[index] = Placed(report.partition(), offset)

        for index, message in enumerate(messages):
            producer.produce(
                topic,
                key=message.key,
                value=message.value,
                headers=list(message.headers) or None,
                partition=-1 if partition is None else partition,
                timestamp=message.timestamp or 0,
                on_delivery=lambda error, report, index=index: on_delivery(index, error, report),
            )
        left = producer.flush(DEADLINE_S)
        assert left == 0, f"{left} messages were neither acknowledged nor refused in {DEADLINE_S} s"
        if errors:
            raise refused(errors[0])
        return [placed[index] for index in range(len(messages))]

    def _consumer(self, group: str, **settings: Any) -> Consumer:
        return Consumer(
            {
                **QUIET,
                "bootstrap.servers": self.bootstrap,
                "group.id": group,
                "enable.auto.commit": False,
                "check.crcs": True,
                **settings,
            }
        )

    @staticmethod
    def _take(consumer: Consumer, count: int) -> list[Stored]:
        taken: list[Stored] = []
        deadline = time.monotonic() + DEADLINE_S
        while len(taken) < count and time.monotonic() < deadline:
            for message in consumer.consume(count - len(taken), timeout=0.5):
                if message.error() is not None:
                    raise refused(message.error())
                taken.append(
                    Stored(
                        message.partition(),
                        message.offset(),
                        message.timestamp()[1],
                        message.key(),
                        message.value(),
                        tuple(message.headers() or ()),
                    )
                )
        assert len(taken) == count, f"{len(taken)} of {count} records within {DEADLINE_S} s"
        return taken

    def consume(
        self,
        topic: str,
        partition: int,
        count: int,
        *,
        start: int = 0,
        reset: str = "none",
        fetch_bytes_max: int | None = None,
    ) -> list[Stored]:
        settings: dict[str, Any] = {"auto.offset.reset": "error" if reset == "none" else reset}
        if fetch_bytes_max is not None:
            settings["max.partition.fetch.bytes"] = fetch_bytes_max
            settings["message.max.bytes"] = max(fetch_bytes_max, 1000)
            settings["fetch.max.bytes"] = max(fetch_bytes_max, 1000)
        consumer = self._consumer("unused", **settings)
        try:
            consumer.assign([TopicPartition(topic, partition, start)])
            return self._take(consumer, count)
        finally:
            consumer.close()

    def consume_in_group(self, topic: str, group: str, count: int) -> list[Stored]:
        consumer = self._consumer(group, **{"auto.offset.reset": "earliest"})
        try:
            consumer.subscribe([topic])
            taken = self._take(consumer, count)
            consumer.commit(asynchronous=False)
            return taken
        finally:
            consumer.close()

    def member(
        self, topic: str, group: str, name: str, *, instance_id: str | None = None, assignor: str = RANGE
    ) -> LibrdkafkaMember:
        settings = {
            **QUIET,
            "bootstrap.servers": self.bootstrap,
            "group.id": group,
            "client.id": name,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "partition.assignment.strategy": assignor,
            "fetch.wait.max.ms": 100,
        }
        if instance_id is not None:
            settings["group.instance.id"] = instance_id
        return LibrdkafkaMember(topic, settings)

    def members(self, group: str) -> dict[str, set[int]]:
        """By client id, the partitions that each member of a group has."""
        (described,) = self._await(self.admin.describe_consumer_groups([group]))
        return {
            member.client_id: {each.partition for each in member.assignment.topic_partitions}
            for member in described.members
        }

    def offset_at(self, topic: str, partition: int, timestamp: int) -> int | None:
        consumer = self._consumer("unused")
        try:
            (found,) = consumer.offsets_for_times([TopicPartition(topic, partition, timestamp)], DEADLINE_S)
        finally:
            consumer.close()
        if found.error is not None:
            raise refused(found.error)
        return None if found.offset < 0 else found.offset

    def offset_range(self, topic: str, partition: int) -> tuple[int, int]:
        place = TopicPartition(topic, partition)
        earliest = self.admin.list_offsets({place: Spec.earliest()})[place].result(DEADLINE_S)
        latest = self.admin.list_offsets({place: Spec.latest()})[place].result(DEADLINE_S)
        return earliest.offset, latest.offset

    @staticmethod
    def _await(answers: dict[Any, Future[Any]]) -> list[Any]:
        try:
            return [answer.result(DEADLINE_S) for answer in answers.values()]
        except KafkaException as error:
            raise refused(error.args[0]) from error

    def create_topic(
        self,
        topic: str,
        *,
        partitions: int = 1,
        replicas: int = 1,
        settings: dict[str, str] | None = None,
        validate_only: bool = False,
    ) -> None:
        new = NewTopic(topic, num_partitions=partitions, replication_factor=replicas, config=settings or {})
        self._await(self.admin.create_topics([new], validate_only=validate_only))

    def delete_topic(self, topic: str) -> None:
        self._await(self.admin.delete_topics([topic]))

    def grow_topic(self, topic: str, partitions: int) -> None:
        self._await(self.admin.create_partitions([NewPartitions(topic, partitions)]))

    def topics(self) -> dict[str, int]:
        metadata = self.admin.list_topics(timeout=DEADLINE_S)
        return {topic.topic: len(topic.partitions) for topic in metadata.topics.values()}

    def topic_settings(self, topic: str) -> dict[str, str | None]:
        (entries,) = self._await(self.admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]))
        return {name: entry.value for name, entry in entries.items()}

    def set_topic_settings(self, topic: str, settings: dict[str, str]) -> None:
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in settings.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
        self._await(self.admin.incremental_alter_configs([resource]))

    def cluster(self) -> Cluster:
        seen = self.admin.describe_cluster().result(DEADLINE_S)
        return Cluster(seen.cluster_id, seen.controller.id, tuple(sorted(node.id for node in seen.nodes)))

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        self._await(self.admin.delete_records([TopicPartition(topic, partition, before)]))
