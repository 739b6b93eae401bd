"""What a cluster is asked about the partitions of a query, and with how much patience."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from riverlog.errors import ConfigError, RequestRefused
from riverlog.pipelines.source import watching
from riverlog.pipelines.source.offsets import Bounds
from riverlog.pipelines.source.options import source_options
from riverlog.pipelines.source.watching import Watch
from riverlog.protocol import messages
from riverlog.types import TopicPartition
from tests.scripted_broker import LIST_OFFSETS, METADATA, ScriptedBroker

ZERO, ONE = TopicPartition("orders", 0), TopicPartition("orders", 1)
EARLIEST = -2


class Log:
    """Answers for partitions of `orders`; `latest` is taken from in turn, its last value again and again."""

    def __init__(self) -> None:
        self.latest = [90]

    def __call__(self, request: messages.ListOffsetsRequest) -> messages.ListOffsetsResponse:
        is_end = request.topics[0].partitions[0].timestamp != EARLIEST
        offset = self.latest[0] if is_end else 5
        if is_end and len(self.latest) > 1:
            self.latest.pop(0)
        return messages.ListOffsetsResponse(
            topics=[
                messages.ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[
                        messages.ListOffsetsPartitionResponse(
                            partition_index=asked.partition_index, offset=offset
                        )
                        for asked in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def broker(log: Log, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedBroker]:
    monkeypatch.setattr(watching, "_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(watching, "SETTLE_SECONDS", 0.1)
    with ScriptedBroker() as scripted:
        scripted.leaders = {0: 1, 1: 1}
        scripted.answers[LIST_OFFSETS] = log
        yield scripted


@pytest.fixture
def watch(broker: ScriptedBroker) -> Iterator[Callable[..., Watch]]:
    """Make watches with these options; they are closed in the end."""
    with ExitStack() as stack:

        def made(**given: Any) -> Watch:
            options = {"bootstrap": broker.bootstrap, "timeoutSeconds": "5", **given}
            return stack.enter_context(closing(Watch(source_options(options, is_stream=True))))

        yield made


def test_all_partitions_are_asked_about_at_once(broker: ScriptedBroker, watch: Callable[..., Watch]) -> None:
    assert watch(subscribe="orders").bounds() == {ZERO: Bounds(5, 90), ONE: Bounds(5, 90)}
    assert len(broker.asked(messages.ListOffsetsRequest)) == 2  # for either end
    assert len(broker.asked(messages.MetadataRequest)) == 1


def test_partitions_that_are_assigned_are_those_and_must_be_there(watch: Callable[..., Watch]) -> None:
    assert list(watch(assign='{"orders": [1]}').bounds()) == [ONE]
    with pytest.raises(ConfigError, match="orders-7"):
        watch(assign='{"orders": [1, 7]}').bounds()


def test_a_pattern_is_for_whole_names(broker: ScriptedBroker, watch: Callable[..., Watch]) -> None:
    known = broker.answers[METADATA]

    def answer(request: messages.MetadataRequest) -> messages.MetadataResponse:
        if request.topics is not None:
            return known(request)  # type: ignore[no-any-return]  # a script's answer
        names = ("orders", "old-orders", "orders2")
        return messages.MetadataResponse(topics=[messages.MetadataResponseTopic(name=each) for each in names])

    broker.answers[METADATA] = answer

    assert {place.topic for place in watch(subscribePattern="orders.?").bounds()} == {
        "orders",
        "orders2",
    }


def test_a_leader_that_does_not_know_the_end_of_its_log_yet_is_asked_again(
    watch: Callable[..., Watch], log: Log
) -> None:
    log.latest = [70, 70, 90]
    bounds, losses = watch(subscribe="orders").settled({ZERO: 80})

    assert losses == []
    assert bounds[ZERO] == Bounds(5, 90)


def test_a_log_that_stays_too_short_is_a_loss(watch: Callable[..., Watch], log: Log) -> None:
    log.latest = [70]
    _, losses = watch(subscribe="orders").settled({ZERO: 80})

    assert [loss.place for loss in losses] == [ZERO]


def test_a_topic_that_is_not_there_is_refused_unless_it_was_or_need_not_be(
    broker: ScriptedBroker, watch: Callable[..., Watch], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("riverlog.columnar.fetching.cluster.ABSENCE_SECONDS_MAX", 0.01)
    absent = messages.MetadataResponseTopic(name="orders", error_code=3)
    broker.answers[METADATA] = lambda _: messages.MetadataResponse(topics=[absent])

    with pytest.raises(RequestRefused, match="UNKNOWN_TOPIC_OR_PARTITION"):
        watch(subscribe="orders").bounds()
    assert watch(subscribe="orders").bounds(known=[ZERO]) == {}
    assert watch(subscribe="orders").bounds(known=None) == {}
    _, losses = watch(subscribe="orders", failOnDataLoss="false").settled({ZERO: 3})
    assert [loss.text for loss in losses] == ["orders-0 is gone, which was read up to offset 3"]
