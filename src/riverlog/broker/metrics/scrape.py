"""What one request for metrics reads: first what several metrics share, in short steps, then each of them.

A collector comes every few seconds and must not be felt: with ten thousand partitions it reads for a while,
in slices between which the broker serves. What is read first and what is read last may be a moment apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from riverlog.broker.metrics.exposition import Family, Sample, labels
from riverlog.groups import Risk

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.listening import Listeners
    from riverlog.broker.request_memory import RequestMemory
    from riverlog.groups import GroupOverview, Lag

ITEMS_PER_STEP = 64


class Sources(NamedTuple):
    """Where metrics come from."""

    broker: Broker
    listeners: Listeners
    memory: RequestMemory
    started: float
    """When the broker was started, in seconds since 1970."""


class TopicTotals:
    """What was written to the partitions of one topic since the broker was started."""

    __slots__ = ("labels", "written_bytes", "written_records")

    def __init__(self, topic: str) -> None:
        self.labels = labels(topic=topic)
        self.written_bytes = 0
        self.written_records = 0


class PartitionNumbers(NamedTuple):
    """One partition as it stands now."""

    labels: str
    size: int
    segments: int
    log_start: int
    log_end: int
    high_watermark: int


class PairNumbers(NamedTuple):
    """A group in one partition as it stands now; without a lag where the partition is not here."""

    labels: str
    committed: int
    lag: Lag | None
    is_at_risk: bool


class Scrape:
    """What is read for one answer. `gather` first; then everything is there."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.series_max = sources.broker.settings.monitoring.metrics_series_max
        self.topics: dict[str, TopicTotals] = {}
        self.topic_count = 0
        self.partitions: list[PartitionNumbers] = []
        self.partition_count = 0
        self.offline_count = 0
        self.groups: list[GroupOverview] = []
        self.groups_by_state: dict[tuple[str, str], int] = {}
        self.pairs: list[PairNumbers] = []
        self.omitted = {"topics": 0, "partitions": 0, "groups": 0, "group_partitions": 0}
        """How many have no metrics of their own, since there are too many."""

    def gather(self) -> Iterator[None]:
        """Read what several metrics share, in short steps."""
        yield from self._gather_partitions()
        yield from self._gather_groups()
        yield from self._gather_pairs()

    def _gather_partitions(self) -> Iterator[None]:
        broker = self.sources.broker
        names = set()
        for number, log in enumerate(broker.logs):
            topic, partition = log.topic_partition
            names.add(topic)
            self.partition_count += 1
            self.offline_count += log.is_offline is not None
            totals = self.topics.get(topic)
            if totals is None and len(self.topics) < self.series_max:
                totals = self.topics[topic] = TopicTotals(topic)
            if totals is not None:
                totals.written_bytes += log.appended_bytes
                totals.written_records += log.appended_records
            if len(self.partitions) < self.series_max:
                self.partitions.append(
                    PartitionNumbers(
                        labels(topic=topic, partition=partition),
                        log.size,
                        log.segment_count,
                        log.log_start_offset,
                        log.log_end_offset,
                        log.high_watermark,
                    )
                )
            if not number % ITEMS_PER_STEP:
                yield
        failed = len(broker.logs.failed)
        self.partition_count += failed
        self.offline_count += failed
        self.topic_count = len(names | {partition.topic for partition in broker.logs.failed})
        self.omitted["topics"] = self.topic_count - len(self.topics)
        self.omitted["partitions"] = self.partition_count - len(self.partitions)

    def _gather_groups(self) -> Iterator[None]:
        for number, group in enumerate(self.sources.broker.groups.overview()):
            kind_and_state = (group.kind, group.state)
            self.groups_by_state[kind_and_state] = self.groups_by_state.get(kind_and_state, 0) + 1
            if len(self.groups) < self.series_max:
                self.groups.append(group)
            else:
                self.omitted["groups"] += 1
            if not number % ITEMS_PER_STEP:
                yield

    def _gather_pairs(self) -> Iterator[None]:
        broker = self.sources.broker
        watch = broker.lag
        now_ms, alarm_share = broker.now_ms(), watch.alarm_share
        alarming = set(watch.alarms)
        # What an operator must see comes first, however much there is.
        for is_alarming_wanted in (True, False):
            for number, place in enumerate(broker.groups.committed()):
                group_id, topic, partition, offset = place
                if ((group_id, topic, partition) in alarming) is is_alarming_wanted:
                    if len(self.pairs) >= self.series_max:
                        self.omitted["group_partitions"] += 1
                    else:
                        lag = watch.lag_of(place, now_ms)
                        is_at_risk = lag is not None and lag.risk(alarm_share) is not Risk.NONE
                        shown = labels(group=group_id, topic=topic, partition=partition)
                        self.pairs.append(PairNumbers(shown, offset, lag, is_at_risk))
                        # It may have taken a look at all segments.
                        yield
                if not number % ITEMS_PER_STEP:
                    yield


Metric: TypeAlias = tuple[Family, Callable[[Scrape], Iterable[Sample]]]
"""A metric, and how its samples are read."""
