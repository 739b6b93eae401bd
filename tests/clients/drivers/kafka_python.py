"""kafka-python: pure Python, blocking, with an admin client that speaks most of Kafka's admin requests."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

with warnings.catch_warnings():
    # it reads its schemas on import, in a way that Python 3.11 alone calls deprecated
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import (
        ConsumerRebalanceListener,
        KafkaAdminClient,
        KafkaConsumer,
        KafkaProducer,
        TopicPartition,
    )
    from kafka.admin import ConfigResource, ConfigResourceType
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.errors import KafkaError

from . import DEADLINE_S, Cluster, Message, Placed, Reader, Refused, Stored
from .member import (
    COOPERATIVE,
    HEARTBEAT_MS,
    POLL_SECONDS,
    RANGE,
    SESSION_MS,
    Place,
    Revocations,
    ThreadMember,
)


@contextmanager
def refusals() -> Iterator[None]:
    """Turn what the broker refused into `Refused`; the client's own errors have no number."""
    try:
        yield
    except KafkaError as error:
        if getattr(error, "errno", None) is None:
            raise
        raise Refused(error.errno, retriable=error.retriable, text=str(error)) from error


def stored(record: Any) -> Stored:
    return Stored(
        record.partition, record.offset, record.timestamp, record.key, record.value, tuple(record.headers)
    )


ASSIGNORS = {RANGE: RangePartitionAssignor, COOPERATIVE: CooperativeStickyAssignor}


class KafkaPythonMember(ThreadMember):
    """A consumer in its thread."""

    def __init__(self, topic: str, settings: dict[str, Any]) -> None:
        self._topic = topic
        self._settings = settings
        super().__init__()

    def open(self) -> None:
        self._consumer = KafkaConsumer(**self._settings)
        self._consumer.subscribe([self._topic], listener=_Listener(self))

    def poll(self) -> list[Place]:
        found = self._consumer.poll(timeout_ms=int(POLL_SECONDS * 1000))
        return [Place(each.partition, each.offset) for records in found.values() for each in records]

    def commit(self, places: list[Place]) -> bool:
        try:
            self._consumer.commit()
        except KafkaError:
            return False
        return True

    def go_to(self, place: Place) -> None:
        self._consumer.seek(TopicPartition(self._topic, place.partition), place.offset)

    def close(self) -> None:
        self._consumer.close()


class _Listener(Revocations, ConsumerRebalanceListener): ...


class KafkaPython(Reader):
    name = "kafka-python"

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
        producer = KafkaProducer(
            bootstrap_servers=self.bootstrap,
            acks=acks,
            enable_idempotence=idempotent,
            compression_type=None if codec == "none" else codec,
            linger_ms=20,
            max_request_size=request_bytes_max,
            retry_backoff_ms=20,
            reconnect_backoff_ms=10,
            delivery_timeout_ms=int(DEADLINE_S * 1000) + 1000,
        )
        with closing(producer), refusals():
            sent = [
                producer.send(
                    topic,
                    key=message.key,
                    value=message.value,
                    headers=list(message.headers),
                    partition=partition,
                    timestamp_ms=message.timestamp,
                )
                for message in messages
            ]
            answers = [future.get(timeout=DEADLINE_S) for future in sent]
        return [
            Placed(answer.partition, -1 if answer.offset is None else answer.offset) for answer in answers
        ]

    def _consumer(self, *topics: str, **settings: Any) -> KafkaConsumer:
        return KafkaConsumer(
            *topics,
            bootstrap_servers=self.bootstrap,
            enable_auto_commit=False,
            check_crcs=True,
            **settings,
        )

    @staticmethod
    def _take(consumer: KafkaConsumer, count: int) -> list[Stored]:
        taken: list[Stored] = []
        deadline = time.monotonic() + DEADLINE_S
        while len(taken) < count and time.monotonic() < deadline:
            for records in consumer.poll(timeout_ms=500, max_records=count - len(taken)).values():
                taken.extend(stored(record) for record in records)
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
        settings: dict[str, Any] = {"auto_offset_reset": reset}
        if fetch_bytes_max is not None:
            settings["fetch_max_bytes"] = settings["max_partition_fetch_bytes"] = fetch_bytes_max
        with closing(self._consumer(**settings)) as consumer, refusals():
            place = TopicPartition(topic, partition)
            consumer.assign([place])
            consumer.seek(place, start)
            return self._take(consumer, count)

    def consume_in_group(self, topic: str, group: str, count: int) -> list[Stored]:
        consumer = self._consumer(topic, group_id=group, auto_offset_reset="earliest")
        with closing(consumer), refusals():
            taken = self._take(consumer, count)
            consumer.commit()
            return taken

    def member(
        self, topic: str, group: str, name: str, *, instance_id: str | None = None, assignor: str = RANGE
    ) -> KafkaPythonMember:
        settings = {
            "bootstrap_servers": self.bootstrap,
            "group_id": group,
            "client_id": name,
            "group_instance_id": instance_id,
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "session_timeout_ms": SESSION_MS,
            "heartbeat_interval_ms": HEARTBEAT_MS,
            "partition_assignment_strategy": [ASSIGNORS[assignor]],
        }
        return KafkaPythonMember(topic, settings)

    def offset_at(self, topic: str, partition: int, timestamp: int) -> int | None:
        place = TopicPartition(topic, partition)
        with closing(self._consumer()) as consumer, refusals():
            found = consumer.offsets_for_times({place: timestamp})[place]
            return None if found is None else found.offset

    def offset_range(self, topic: str, partition: int) -> tuple[int, int]:
        place = TopicPartition(topic, partition)
        with closing(self._consumer()) as consumer, refusals():
            return consumer.beginning_offsets([place])[place], consumer.end_offsets([place])[place]

    def _ask(self, question: Callable[[KafkaAdminClient], Any]) -> Any:
        with closing(KafkaAdminClient(bootstrap_servers=self.bootstrap)) as admin, refusals():
            return question(admin)

    def create_topic(
        self,
        topic: str,
        *,
        partitions: int = 1,
        replicas: int = 1,
        settings: dict[str, str] | None = None,
        validate_only: bool = False,
    ) -> None:
        wanted = {"num_partitions": partitions, "replication_factor": replicas, "configs": settings or {}}
        self._ask(lambda admin: admin.create_topics({topic: wanted}, validate_only=validate_only))

    def delete_topic(self, topic: str) -> None:
        self._ask(lambda admin: admin.delete_topics([topic]))

    def grow_topic(self, topic: str, partitions: int) -> None:
        self._ask(lambda admin: admin.create_partitions({topic: partitions}))

    def topics(self) -> dict[str, int]:
        topics = self._ask(lambda admin: admin.describe_topics())
        return {topic["name"]: len(topic["partitions"]) for topic in topics}

    def topic_settings(self, topic: str) -> dict[str, str | None]:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        answer = self._ask(lambda admin: admin.describe_configs([resource], config_filter="all"))
        return {name: entry["value"] for name, entry in answer["topic"][topic].items()}

    def set_topic_settings(self, topic: str, settings: dict[str, str]) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, settings)
        answer = self._ask(lambda admin: admin.alter_configs([resource], raise_on_unknown=False))
        if answer["topic"][topic] != "OK":
            code = int(answer["topic"][topic].split("[Error ")[1].split("]")[0])
            raise Refused(code, retriable=False, text=answer["topic"][topic])

    def cluster(self) -> Cluster:
        seen = self._ask(lambda admin: admin.describe_cluster())
        brokers = tuple(sorted(broker["broker_id"] for broker in seen["brokers"]))
        return Cluster(seen["cluster_id"], seen["controller_id"], brokers)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        self._ask(lambda admin: admin.delete_records({TopicPartition(topic, partition): before}))
