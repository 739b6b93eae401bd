"""Topics of a cluster to record batches: which offsets of which partitions, and their records.

    read("orders")  ──▶  splits: [orders-0 0..912) [orders-1 17..850)  ──▶  batches(split), one by one

A Source says where and how, a Split says what. Both are plain values that can be pickled, so that the splits
of one plan can be read in other processes or on other machines, each by whoever gets it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, TypeAlias

import pyarrow as pa

from riverlog.columnar.batches import BadBatch, Collector
from riverlog.columnar.fetching.cluster import Cluster
from riverlog.columnar.fetching.partition import PartitionFetcher
from riverlog.columnar.fetching.requests import EARLIEST, LATEST, addresses
from riverlog.columnar.isolation import AbortedList, Verdict
from riverlog.columnar.nearby import partition_directory
from riverlog.columnar.options import READ_COMMITTED, RecordsLost, is_read_committed
from riverlog.columnar.schema import checked_columns, schema
from riverlog.columnar.segments import read_segments
from riverlog.errors import ConfigError, StorageError
from riverlog.protocol.records import RECORDS_BYTES_MAX
from riverlog.types import TopicPartition

logger = logging.getLogger("riverlog.columnar")

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
TIMEOUT_SECONDS = 30.0
FETCH_BYTES = 8 * 1024 * 1024
"""How much is asked for at once. A batch comes whole, even if it is larger."""

FETCH_BYTES_MAX = RECORDS_BYTES_MAX

Position: TypeAlias = int | datetime
"""An offset; or a time, which means the first record that is not older. Without a zone it is local time."""

Positions: TypeAlias = Position | Mapping[int, Position] | None
"""One for all partitions, or some by their numbers. None: from the oldest record, to the newest."""


class Split(NamedTuple):
    """Records to read: those of one partition with offsets in [start, end)."""

    topic: str
    partition: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A cluster and how to read from it. Raises ConfigError for what makes no sense.

    bootstrap        addresses of brokers, riverlog or Apache Kafka: HOST:PORT[,HOST:PORT]...
    isolation        "read_committed", or "read_uncommitted" to see open and aborted transactions too
    columns          which columns, in which order; None: all
    timeout_seconds  how long to go on trying while nothing is received
    fetch_bytes      how much to ask for at once: bounds the memory, but for single larger batches
    directories      the log directories of a broker that may be on this machine: what it leads is read there
    skip_lost        go on where records were deleted before they were read, instead of raising RecordsLost
    """

    bootstrap: str = DEFAULT_BOOTSTRAP
    isolation: str = READ_COMMITTED
    columns: Sequence[str] | None = None
    timeout_seconds: float = TIMEOUT_SECONDS
    fetch_bytes: int = FETCH_BYTES
    skip_lost: bool = False
    directories: Sequence[str] = ()

    def __post_init__(self) -> None:
        addresses(self.bootstrap)
        is_read_committed(self.isolation)
        checked_columns(self.columns)
        if not self.timeout_seconds > 0:
            raise ConfigError("timeout_seconds", self.timeout_seconds, "a number above 0")
        if not 0 < self.fetch_bytes <= FETCH_BYTES_MAX:
            raise ConfigError("fetch_bytes", self.fetch_bytes, f"a number of 1 to {FETCH_BYTES_MAX}")

    def splits(
        self,
        topics: str | Sequence[str],
        *,
        partitions: Sequence[int] | None = None,
        start: Positions = None,
        end: Positions = None,
    ) -> list[Split]:
        """Plan what to read: a split for each partition that has offsets in the range, in their order.

        Offsets that are no longer (or not yet) there are moved to the nearest one. The newest record is that
        of now, under read_committed the last one before an open transaction.
        Raises ClusterUnavailable, RequestRefused.
        """
        planned = []
        with Cluster(self.bootstrap, self.timeout_seconds) as cluster:
            for topic in [topics] if isinstance(topics, str) else topics:
                for place in self._chosen(cluster, topic, partitions):
                    split = self._planned(cluster, place, start, end)
                    if split.start < split.end:
                        planned.append(split)
        return planned

    def batches(self, split: Split) -> Iterator[pa.RecordBatch]:
        """Read a split. Raises BadBatch, RecordsLost, ClusterUnavailable, RequestRefused."""
        with Cluster(self.bootstrap, self.timeout_seconds) as cluster:
            yield from self._nearest(cluster, split)

    def read(self, splits: Iterable[Split]) -> pa.RecordBatchReader:
        """Read splits one after the other, each when its first records are asked for."""

        def batches() -> Iterator[pa.RecordBatch]:
            with Cluster(self.bootstrap, self.timeout_seconds) as cluster:
                for split in splits:
                    yield from self._nearest(cluster, split)

        return pa.RecordBatchReader.from_batches(schema(self.columns), batches())

    def _chosen(self, cluster: Cluster, topic: str, partitions: Sequence[int] | None) -> list[TopicPartition]:
        found = cluster.partitions(topic)
        if partitions is None:
            return found
        chosen = [TopicPartition(topic, partition) for partition in sorted(set(partitions))]
        if not set(chosen) <= set(found):
            numbers = ", ".join(str(place.partition) for place in found)
            raise ConfigError("partitions", list(partitions), f"those of topic {topic!r}: {numbers}")
        return chosen

    def _planned(self, cluster: Cluster, place: TopicPartition, start: Positions, end: Positions) -> Split:
        committed = is_read_committed(self.isolation)
        oldest = cluster.offset_at(place, EARLIEST, committed=committed) or 0
        newest = cluster.offset_at(place, LATEST, committed=committed) or 0

        def offset(positions: Positions, default: int) -> int:
            position = positions.get(place.partition) if isinstance(positions, Mapping) else positions
            if position is None:
                return default
            if isinstance(position, datetime):
                found = cluster.offset_at(place, int(position.timestamp() * 1000), committed=committed)
                position = newest if found is None else found
            if position < 0:
                raise ConfigError("position", position, "an offset of 0 or more, or a datetime")
            return min(max(position, oldest), newest)

        return Split(place.topic, place.partition, offset(start, oldest), offset(end, newest))

    def _nearest(self, cluster: Cluster, split: Split) -> Iterator[pa.RecordBatch]:
        """Read from files where they are at hand, and from the broker what these do not give.

        They may be another broker's, may have been deleted meanwhile, or be damaged.
        """
        start = split.start
        place = TopicPartition(split.topic, split.partition)
        path = None
        if self.directories:
            path = partition_directory(self.directories, place, cluster.home(place))
        if path is not None:
            wanted = checked_columns(self.columns)
            columns = wanted if "offset" in wanted else (*wanted, "offset")
            try:
                for batch in read_segments(
                    path, start=start, end=split.end, isolation=self.isolation, columns=columns
                ):
                    start = batch.column("offset")[-1].as_py() + 1
                    yield batch.select(wanted)
                return
            except (OSError, StorageError, RecordsLost, BadBatch) as error:
                logger.info("%s: reading on from the broker at offset %d: %s", path, start, error)
        if start < split.end:
            yield from self._read(cluster, split._replace(start=start))

    def _read(self, cluster: Cluster, split: Split) -> Iterator[pa.RecordBatch]:
        place = TopicPartition(split.topic, split.partition)
        committed = is_read_committed(self.isolation)
        rule = AbortedList()
        collector = Collector(place, checked_columns(self.columns))
        fetcher = PartitionFetcher(
            cluster,
            place,
            split.start,
            split.end,
            committed=committed,
            fetch_bytes=self.fetch_bytes,
            skips_lost=self.skip_lost,
        )
        for reply in fetcher.replies():
            rule.begin_reply(reply.aborted)
            for position, header in reply.batches:
                if header.base_offset >= split.end:
                    break
                if rule.judge(header, reply.buffer, position) is Verdict.TAKE:
                    collector.add(reply.buffer, position, header)
                    if collector.is_full:
                        yield from collector.drain(fetcher.start, split.end)
            yield from collector.drain(fetcher.start, split.end)


def read(
    topics: str | Sequence[str],
    *,
    partitions: Sequence[int] | None = None,
    start: Positions = None,
    end: Positions = None,
    bootstrap: str = DEFAULT_BOOTSTRAP,
    isolation: str = READ_COMMITTED,
    columns: Sequence[str] | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
    fetch_bytes: int = FETCH_BYTES,
    skip_lost: bool = False,
) -> pa.RecordBatchReader:
    """Read topics from a cluster, from the oldest record to the newest there is now, or a part of that.

    Records come by topic, partition and offset, as they are asked for, in bounded memory. What is to be read
    is settled when this returns. See `Source` for how to read, `Source.splits` for what, and what is raised.
    """
    source = Source(
        bootstrap=bootstrap,
        isolation=isolation,
        columns=columns,
        timeout_seconds=timeout_seconds,
        fetch_bytes=fetch_bytes,
        skip_lost=skip_lost,
    )
    return source.read(source.splits(topics, partitions=partitions, start=start, end=end))
