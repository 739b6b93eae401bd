"""Members of groups that come, go and come back: who has which partitions, and what becomes of the records.

A broker decides when a group rebalances and what its members are told; what they make of it is their
clients' doing. So each client is held to the same claims, with its own way of assigning partitions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests import kafka_jars
from tests.absence import stand_down
from tests.feed import Numbers
from tests.process.command import Riverlog

from .drivers import Driver, Message, await_that, kafkajs
from .drivers.aio import Aiokafka
from .drivers.java_console import JavaConsole
from .drivers.kafka_python import KafkaPython
from .drivers.librdkafka import Librdkafka
from .drivers.member import COOPERATIVE, Member, Place, SeekingMember

PARTITIONS = 4
PAUSE_SECONDS = 0.002

JAVA = pytest.param(JavaConsole, marks=pytest.mark.java, id="java-console")
NODE = pytest.param(kafkajs.KafkaJS, marks=pytest.mark.node)


@pytest.fixture
def joiner(
    request: pytest.FixtureRequest, bootstrap: str, open_driver: Callable[..., Driver]
) -> Driver | JavaConsole:
    """The client under test, Java's console consumer among them."""
    if request.param is JavaConsole:
        missing = kafka_jars.what_is_missing()
        if missing is not None:
            stand_down(missing)
        return JavaConsole(bootstrap)
    return open_driver(request.param)


def each_of(*clients: Any) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("joiner", clients, indirect=True)


@pytest.fixture
def topic(new_topic: Callable[..., str]) -> str:
    """A topic that several members can share."""
    return new_topic(partitions=PARTITIONS)


@pytest.fixture
def feed(bootstrap: str, topic: str) -> Iterator[Numbers]:
    """Somebody who keeps writing into the topic."""
    numbers = Numbers(bootstrap, topic, PARTITIONS, pause_seconds=PAUSE_SECONDS)
    numbers.start()
    yield numbers
    numbers.finish()


def goes_on(member: Member, partitions: set[int]) -> None:
    """Wait until a member reads from each of these partitions."""
    before = len(member.read())
    await_that(
        lambda: {place.partition for place in member.read()[before:]} >= partitions,
        f"partitions {partitions} are read",
    )


def share(witness: Librdkafka, group: str, *names: str) -> dict[str, set[int]]:
    """Wait until these members, and no others, have all partitions between them; give who has which."""
    seen: list[dict[str, set[int]]] = []

    def is_shared() -> bool:
        seen.append(witness.members(group))
        parts = sorted(itertools.chain.from_iterable(seen[-1].values()))
        return set(seen[-1]) == set(names) and parts == list(range(PARTITIONS)) and all(seen[-1].values())

    await_that(is_shared, f"{names} share all partitions of {group}")
    return seen[-1]


@each_of(Librdkafka, Aiokafka, KafkaPython, NODE, JAVA)
def test_members_share_the_partitions_and_each_record_is_read_once(
    joiner: Any, topic: str, feed: Numbers, witness: Librdkafka
) -> None:
    group = f"group-{topic}"
    with joiner.member(topic, group, "first") as first:
        goes_on(first, set(range(PARTITIONS)))
        with joiner.member(topic, group, "second") as second:
            parts = share(witness, group, "first", "second")
            goes_on(first, parts["first"])
            goes_on(second, parts["second"])
        share(witness, group, "first")
        goes_on(first, set(range(PARTITIONS)))
        feed.finish()
        written = [
            Place(index, offset) for index in range(PARTITIONS) for offset in range(feed.counts[index])
        ]
        await_that(lambda: len(first.read()) + len(second.read()) >= len(written), "everything is read")

    assert {len(partitions) for partitions in parts.values()} == {PARTITIONS // 2}
    assert sorted(first.read() + second.read()) == written


@each_of(Librdkafka, Aiokafka, KafkaPython, JAVA)
def test_a_static_member_comes_back_to_its_partitions_without_a_rebalance(
    joiner: Any, topic: str, feed: Numbers, witness: Librdkafka
) -> None:
    group = f"group-{topic}"
    with witness.member(topic, group, "other", instance_id="other") as other:
        goes_on(other, set(range(PARTITIONS)))
        with joiner.member(topic, group, "first life", instance_id="static") as first_life:
            parts = share(witness, group, "other", "first life")
            goes_on(first_life, parts["first life"])
        rebalances = len(other.given)
        with joiner.member(topic, group, "second life", instance_id="static") as second_life:
            goes_on(second_life, parts["first life"])
            after = share(witness, group, "other", "second life")
            goes_on(other, parts["other"])

    assert after == {"other": parts["other"], "second life": parts["first life"]}
    assert len(other.given) == rebalances
    read = first_life.read() + second_life.read()
    for index in parts["first life"]:
        offsets = [place.offset for place in read if place.partition == index]
        assert offsets == list(range(offsets[0], offsets[0] + len(offsets)))


@each_of(Librdkafka, JAVA)
def test_a_cooperative_hand_over_takes_only_what_moves(
    joiner: Any, topic: str, feed: Numbers, witness: Librdkafka
) -> None:
    """Whoever keeps a partition reads on while others join and leave."""
    group = f"group-{topic}"
    with joiner.member(topic, group, "first", assignor=COOPERATIVE) as first:
        goes_on(first, set(range(PARTITIONS)))
        with joiner.member(topic, group, "second", assignor=COOPERATIVE) as second:
            parts = share(witness, group, "first", "second")
            goes_on(second, parts["second"])
            goes_on(first, parts["first"])
            taken = revoked(first)
        share(witness, group, "first")
        goes_on(first, set(range(PARTITIONS)))
        still_taken = revoked(first)
        feed.finish()
        written = {Place(index, offset) for index, end in enumerate(feed.counts) for offset in range(end)}
        await_that(lambda: {*first.read(), *second.read()} >= written, "everything is read")

    assert taken == [parts["second"]]
    assert still_taken == taken
    # Java commits no more for what moves away, between its last commit and the hand-over
    kept = [place for place in first.read() + second.read() if place.partition in parts["first"]]
    assert len(kept) == len(set(kept))


def revoked(member: Any) -> list[set[int]]:
    """What a member had to give up; neither client counts it as a loss to give up nothing."""
    told = member.revoked() if callable(member.revoked) else member.revoked
    return [partitions for partitions in told if partitions]


@each_of(Librdkafka, Aiokafka, KafkaPython, NODE)
def test_a_member_reads_again_from_where_it_was_sent(joiner: Any, topic: str, witness: Librdkafka) -> None:
    witness.produce(topic, [Message(value=b"%d" % n) for n in range(10)], partition=1)

    with joiner.member(topic, f"group-{topic}", "member") as member:
        assert isinstance(member, SeekingMember)
        await_that(lambda: len(member.read()) == 10, "everything is read")
        member.seek(Place(1, 6))
        await_that(lambda: len(member.read()) == 14, "the rest is read again")

    assert [place.offset for place in member.read()] == [*range(10), *range(6, 10)]


@each_of(Librdkafka, Aiokafka, KafkaPython, NODE)
def test_a_group_goes_on_from_where_it_was_reset(
    joiner: Driver, topic: str, bootstrap: str, witness: Librdkafka
) -> None:
    group = f"group-{topic}"
    witness.produce(topic, [Message(value=b"%d" % n) for n in range(10)], partition=1)

    joiner.consume_in_group(topic, group, 10)
    Riverlog(bootstrap)("groups", "reset", group, "--topic", topic, "-p", "1", "--to-offset", "7")
    read = joiner.consume_in_group(topic, group, 3)

    assert [record.offset for record in read] == [7, 8, 9]
