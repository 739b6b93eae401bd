"""Groups that the broker assigns for (`group.protocol=consumer`), as librdkafka and Java know them.

The broker under test asks for heartbeats in quick succession, since members learn by them what is new.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewPartitions

from .drivers import Message, await_that
from .drivers.librdkafka import Librdkafka

NEW, OLD = "consumer", "classic"


class Member:
    """A consumer that polls in a thread of its own, and what happened to it."""

    def __init__(
        self, bootstrap: str, group: str, *topics: str, protocol: str = NEW, **settings: Any
    ) -> None:
        self.assigned: set[int] = set()
        self.revocations: list[set[int]] = []
        self.values: list[bytes] = []
        self.errors: list[str] = []
        if protocol == OLD:
            settings = {
                "partition.assignment.strategy": "cooperative-sticky",
                "heartbeat.interval.ms": 100,
                "session.timeout.ms": 10_000,
                **settings,
            }
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "auto.commit.interval.ms": 100,
                **settings,
            }
        )
        self._ends = threading.Event()
        self.consumer.subscribe(list(topics), on_assign=self._assign, on_revoke=self._revoke)
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def _assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.assigned |= {each.partition for each in partitions}
        consumer.incremental_assign(partitions)

    def _revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        gone = {each.partition for each in partitions}
        self.revocations.append(gone)
        self.assigned -= gone
        consumer.incremental_unassign(partitions)

    def _poll(self) -> None:
        while not self._ends.is_set():
            message = self.consumer.poll(0.05)
            if message is None:
                continue
            if message.error() is not None:
                self.errors.append(str(message.error()))
            else:
                self.values.append(message.value() or b"")

    def close(self) -> None:
        if not self._ends.is_set():
            self._ends.set()
            self._thread.join()
            self.consumer.close()


Join = Callable[..., Member]


@pytest.fixture
def join(bootstrap: str) -> Iterator[Join]:
    """Start members, which end with the test."""
    members: list[Member] = []

    def started(group: str, *topics: str, **how: Any) -> Member:
        members.append(Member(bootstrap, group, *topics, **how))
        return members[-1]

    yield started
    for member in members:
        member.close()


@pytest.fixture
def admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap})


def fill(witness: Librdkafka, topic: str, partitions: int, *, start: int = 0, count: int = 20) -> set[bytes]:
    values = set()
    for partition in range(partitions):
        sent = [Message(value=b"%d.%d" % (partition, number)) for number in range(start, start + count)]
        witness.produce(topic, sent, partition=partition)
        values |= {message.value or b"" for message in sent}
    return values


def state_of(admin: AdminClient, group: str) -> tuple[ConsumerGroupState, ConsumerGroupType]:
    described = admin.describe_consumer_groups([group])[group].result()
    return described.state, described.type


def test_a_lone_member_reads_everything(
    join: Join, new_topic: Callable[..., str], witness: Librdkafka, admin: AdminClient
) -> None:
    topic = new_topic(partitions=3)
    sent = fill(witness, topic, 3)

    member = join(topic, topic)

    await_that(lambda: len(member.values) >= len(sent), "all is read")
    assert set(member.values) == sent
    assert state_of(admin, topic) == (ConsumerGroupState.STABLE, ConsumerGroupType.CONSUMER)


def test_a_newcomer_takes_over_its_part_and_nobody_stops(
    join: Join, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic(partitions=6)
    first = join(topic, topic)
    await_that(lambda: first.assigned == set(range(6)), "the first has all")
    sent = fill(witness, topic, 6)

    second = join(topic, topic)
    await_that(lambda: len(second.assigned) == 3 == len(first.assigned), "each has half")
    sent |= fill(witness, topic, 6, start=20)
    await_that(lambda: {*first.values, *second.values} == sent, "all is read")

    assert first.assigned.isdisjoint(second.assigned)
    assert first.revocations == [second.assigned], "what stays was never taken away"
    assert len(first.values) + len(second.values) == len(sent), "and nothing is read twice"
    assert not first.errors + second.errors


def test_who_leaves_is_replaced_by_the_others(join: Join, new_topic: Callable[..., str]) -> None:
    topic = new_topic(partitions=4)
    members = [join(topic, topic) for _ in range(2)]
    await_that(lambda: all(len(member.assigned) == 2 for member in members), "each has half")

    revocations = len(members[1].revocations)

    members[0].close()

    await_that(lambda: members[1].assigned == set(range(4)), "the other has all")
    assert len(members[1].revocations) == revocations, "what it had was not taken away for that"


def test_a_static_member_that_is_restarted_finds_its_partitions_and_nobody_else_notices(
    join: Join, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=4)
    static = join(topic, topic, **{"group.instance.id": "static-1"})
    other = join(topic, topic)
    await_that(lambda: len(static.assigned) == 2 == len(other.assigned), "each has half")
    had = set(static.assigned)

    static.close()
    again = join(topic, topic, **{"group.instance.id": "static-1"})

    await_that(lambda: again.assigned == had, "it has what it had")
    assert other.assigned == set(range(4)) - had
    assert len(other.revocations) <= 1, "none since the two became a group"


def test_topics_are_read_by_regular_expression_as_they_come(
    join: Join, new_topic: Callable[..., str], witness: Librdkafka, admin: AdminClient
) -> None:
    first = new_topic()
    member = join(first, f"^{first}-.*")
    await_that(lambda: state_of(admin, first)[0] is ConsumerGroupState.STABLE, "it reads nothing so far")

    witness.create_topic(f"{first}-more", partitions=1)
    await_that(lambda: member.assigned == {0}, "what has come is its own")
    witness.produce(f"{first}-more", [Message(value=b"read")], partition=0)

    await_that(lambda: member.values == [b"read"], "and is read")


def test_new_partitions_are_read(
    join: Join, new_topic: Callable[..., str], witness: Librdkafka, admin: AdminClient
) -> None:
    topic = new_topic(partitions=1)
    member = join(topic, topic)
    await_that(lambda: member.assigned == {0}, "it has the one")

    admin.create_partitions([NewPartitions(topic, 3)])[topic].result()

    await_that(lambda: member.assigned == {0, 1, 2}, "it has the new ones")
    sent = fill(witness, topic, 3)
    await_that(lambda: set(member.values) == sent, "and reads them")


def test_a_group_goes_on_where_it_committed_and_where_it_is_set_to(
    bootstrap: str, new_topic: Callable[..., str], witness: Librdkafka, admin: AdminClient
) -> None:
    topic = new_topic()
    fill(witness, topic, 1, count=10)

    def read(count: int, **settings: Any) -> list[int]:
        consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": topic,
                "group.protocol": NEW,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                **settings,
            }
        )
        consumer.subscribe([topic])
        offsets = [message.offset() or 0 for message in consumer.consume(count, 20.0)]
        consumer.commit(asynchronous=False)
        consumer.close()
        return offsets

    assert read(4) == [0, 1, 2, 3]
    assert read(2) == [4, 5]
    reset = ConsumerGroupTopicPartitions(topic, [TopicPartition(topic, 0, 1)])
    admin.alter_consumer_group_offsets([reset])[topic].result()
    assert read(3) == [1, 2, 3]


def test_a_live_group_passes_to_the_new_protocol_and_back(
    join: Join, new_topic: Callable[..., str], witness: Librdkafka, admin: AdminClient
) -> None:
    topic = new_topic(partitions=4)
    old = join(topic, topic, protocol=OLD)
    await_that(lambda: old.assigned == set(range(4)), "the old one has all")
    sent = fill(witness, topic, 4)
    assert state_of(admin, topic) == (ConsumerGroupState.STABLE, ConsumerGroupType.CLASSIC)

    new = join(topic, topic)
    await_that(lambda: len(new.assigned) == 2 == len(old.assigned), "each has half")
    assert state_of(admin, topic)[1] is ConsumerGroupType.CONSUMER
    sent |= fill(witness, topic, 4, start=20)
    await_that(lambda: {*old.values, *new.values} == sent, "all is read")
    new.close()
    await_that(lambda: old.assigned == set(range(4)), "the old one has all again")
    sent |= fill(witness, topic, 4, start=40)
    await_that(lambda: {*old.values, *new.values} == sent, "all is read")

    assert state_of(admin, topic)[1] is ConsumerGroupType.CLASSIC
    assert len(old.values) + len(new.values) == len(sent), "nothing was read twice"


@pytest.mark.java
def test_java_s_consumer_and_its_tool_for_groups(
    kafka_tool: Callable[..., str], new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic(partitions=2)
    fill(witness, topic, 2, count=5)
    reader: list[str] = []

    def consume() -> None:
        reader.append(
            kafka_tool(
                *("kafka-console-consumer", "--topic", topic, "--group", topic, "--from-beginning"),
                *("--command-property", "group.protocol=consumer", "--timeout-ms", "8000"),
            )
        )

    thread = threading.Thread(target=consume)
    thread.start()
    groups = ("kafka-consumer-groups", "--group", topic)
    printed: list[str] = []

    def is_assigned() -> bool:
        printed.append(kafka_tool(*groups, "--describe", "--members", "--verbose"))
        return re.search(rf"^{topic} .* {topic}:0,1", printed[-1], re.MULTILINE) is not None

    await_that(is_assigned, "the tool shows a member with its partitions")
    state = kafka_tool(*groups, "--describe", "--state")
    thread.join()

    assert re.search(rf"{topic}\s.*(uniform|Stable)", state), state
    assert len(re.findall(r"^\d\.\d$", reader[0], re.MULTILINE)) == 10
    assert re.search(rf"{topic}\s+Consumer", kafka_tool("kafka-consumer-groups", "--list", "--type"))
    kafka_tool(*groups, "--reset-offsets", "--to-offset", "2", "--topic", topic, "--execute")
    offsets = kafka_tool(*groups, "--describe", "--offsets")
    assert re.search(rf"{topic}\s+{topic}\s+1\s+2\s+5\s+3", offsets), offsets
    assert "was successful" in kafka_tool(*groups, "--delete")
