"""aiokafka: asyncio, with an admin client of the oldest versions that are still allowed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import KafkaError, for_code

from . import DEADLINE_S, Cluster, Message, Placed, Reader, Refused, Stored
from .member import HEARTBEAT_MS, POLL_SECONDS, SESSION_MS, Place, Revocations, ThreadMember


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """Run to the end within the deadline, on an event loop of its own."""

    async def bounded() -> Any:
        async with asyncio.timeout(2 * DEADLINE_S):
            return await work

    try:
        return asyncio.run(bounded())
    except KafkaError as error:
        if getattr(error, "errno", None) is None:
            raise
        raise Refused(error.errno, retriable=error.retriable, text=str(error)) from error


def raise_for(code: int, text: str | None) -> None:
    """The admin client hands most refusals back inside its answers instead of raising them."""
    if code:
        raise Refused(code, retriable=for_code(code).retriable, text=text or "")


class AiokafkaMember(ThreadMember):
    """A consumer with an event loop in its thread, which runs whenever something is asked of it."""

    def __init__(self, topic: str, settings: dict[str, Any]) -> None:
        self._topic = topic
        self._settings = settings
        super().__init__()

    def open(self) -> None:
        self._runner = asyncio.Runner()

        async def started() -> AIOKafkaConsumer:
            consumer = AIOKafkaConsumer(**self._settings)
            consumer.subscribe([self._topic], listener=_Listener(self))
            await consumer.start()
            return consumer

        self._consumer = self._runner.run(started())

    def poll(self) -> list[Place]:
        found = self._runner.run(self._consumer.getmany(timeout_ms=int(POLL_SECONDS * 1000)))
        return [Place(each.partition, each.offset) for records in found.values() for each in records]

    def commit(self, places: list[Place]) -> bool:
        try:
            self._runner.run(self._consumer.commit())
        except KafkaError:
            return False
        return True

    def go_to(self, place: Place) -> None:
        self._consumer.seek(TopicPartition(self._topic, place.partition), place.offset)

    def close(self) -> None:
        self._runner.run(self._consumer.stop())
        self._runner.close()


class _Listener(Revocations, ConsumerRebalanceListener): ...


class Aiokafka(Reader):
    name = "aiokafka"

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
        async def work() -> list[Placed]:
            producer = AIOKafkaProducer(
                bootstrap_servers=self.bootstrap,
                acks="all" if acks == -1 else acks,
                enable_idempotence=idempotent,
                compression_type=None if codec == "none" else codec,
                linger_ms=20,
                max_request_size=request_bytes_max,
                max_batch_size=65536,
                request_timeout_ms=int(DEADLINE_S * 1000),
                retry_backoff_ms=20,
            )
            async with producer:
                sent = [
                    await producer.send(
                        topic,
                        key=message.key,
                        value=message.value,
                        headers=list(message.headers),
                        partition=partition,
                        timestamp_ms=message.timestamp,
                    )
                    for message in messages
                ]
                answers = await asyncio.gather(*sent)
            # with acks=0 the client has nothing to report
            return [
                Placed(-1, -1) if answer is None else Placed(answer.partition, answer.offset)
                for answer in answers
            ]

        return run(work())

    def _consumer(self, *topics: str, **settings: Any) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            *topics, bootstrap_servers=self.bootstrap, enable_auto_commit=False, check_crcs=True, **settings
        )

    @staticmethod
    async def _take(consumer: AIOKafkaConsumer, count: int) -> list[Stored]:
        taken: list[Stored] = []
        deadline = time.monotonic() + DEADLINE_S
        while len(taken) < count and time.monotonic() < deadline:
            answer = await consumer.getmany(timeout_ms=500, max_records=count - len(taken))
            for records in answer.values():
                taken.extend(
                    Stored(
                        record.partition,
                        record.offset,
                        record.timestamp,
                        record.key,
                        record.value,
                        tuple(record.headers),
                    )
                    for record in records
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
        settings: dict[str, Any] = {"auto_offset_reset": reset}
        if fetch_bytes_max is not None:
            settings["fetch_max_bytes"] = settings["max_partition_fetch_bytes"] = fetch_bytes_max

        async def work() -> list[Stored]:
            async with self._consumer(**settings) as consumer:
                place = TopicPartition(topic, partition)
                consumer.assign([place])
                consumer.seek(place, start)
                return await self._take(consumer, count)

        return run(work())

    def consume_in_group(self, topic: str, group: str, count: int) -> list[Stored]:
        async def work() -> list[Stored]:
            async with self._consumer(topic, group_id=group, auto_offset_reset="earliest") as consumer:
                taken = await self._take(consumer, count)
                await consumer.commit()
                return taken

        return run(work())

    def member(self, topic: str, group: str, name: str, *, instance_id: str | None = None) -> AiokafkaMember:
        settings = {
            "bootstrap_servers": self.bootstrap,
            "group_id": group,
            "client_id": name,
            "group_instance_id": instance_id,
            "auto_offset_reset": "earliest",
            "enable_auto_commit": False,
            "session_timeout_ms": SESSION_MS,
            "heartbeat_interval_ms": HEARTBEAT_MS,
            "partition_assignment_strategy": [RangePartitionAssignor],
        }
        return AiokafkaMember(topic, settings)

    def offset_at(self, topic: str, partition: int, timestamp: int) -> int | None:
        async def work() -> int | None:
            async with self._consumer() as consumer:
                place = TopicPartition(topic, partition)
                found = (await consumer.offsets_for_times({place: timestamp}))[place]
                return None if found is None else found.offset

        return run(work())

    def offset_range(self, topic: str, partition: int) -> tuple[int, int]:
        async def work() -> tuple[int, int]:
            async with self._consumer() as consumer:
                place = TopicPartition(topic, partition)
                earliest = await consumer.beginning_offsets([place])
                return earliest[place], (await consumer.end_offsets([place]))[place]

        return run(work())

    @asynccontextmanager
    async def _admin(self) -> AsyncIterator[AIOKafkaAdminClient]:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        try:
            await admin.start()
            yield admin
        finally:
            await admin.close()

    def _ask(self, question: Callable[[AIOKafkaAdminClient], Awaitable[Any]]) -> Any:
        async def work() -> Any:
            async with self._admin() as admin:
                return await question(admin)

        return run(work())

    def create_topic(
        self,
        topic: str,
        *,
        partitions: int = 1,
        replicas: int = 1,
        settings: dict[str, str] | None = None,
        validate_only: bool = False,
    ) -> None:
        new = NewTopic(topic, partitions, replicas, topic_configs=settings)
        answer = self._ask(lambda admin: admin.create_topics([new], validate_only=validate_only))
        for _, code, text, *_ in answer.topic_errors:
            raise_for(code, text)

    def delete_topic(self, topic: str) -> None:
        answer = self._ask(lambda admin: admin.delete_topics([topic]))
        for _, code, *_ in answer.topic_error_codes:
            raise_for(code, None)

    def grow_topic(self, topic: str, partitions: int) -> None:
        self._ask(lambda admin: admin.create_partitions({topic: NewPartitions(partitions)}))

    def topics(self) -> dict[str, int]:
        topics = self._ask(lambda admin: admin.describe_topics())
        return {topic["topic"]: len(topic["partitions"]) for topic in topics}

    def topic_settings(self, topic: str) -> dict[str, str | None]:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        (answer,) = self._ask(lambda admin: admin.describe_configs([resource]))
        ((code, text, _, _, entries),) = answer.resources
        raise_for(code, text)
        return {name: value for name, value, *_ in entries}

    def set_topic_settings(self, topic: str, settings: dict[str, str]) -> None:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, settings)
        (answer,) = self._ask(lambda admin: admin.alter_configs([resource]))
        for code, text, *_ in answer.resources:
            raise_for(code, text)

    def cluster(self) -> Cluster:
        seen = self._ask(lambda admin: admin.describe_cluster())
        brokers = tuple(sorted(broker["node_id"] for broker in seen["brokers"]))
        return Cluster(seen["cluster_id"], seen["controller_id"], brokers)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        place = TopicPartition(topic, partition)
        self._ask(lambda admin: admin.delete_records({place: RecordsToDelete(before)}))
