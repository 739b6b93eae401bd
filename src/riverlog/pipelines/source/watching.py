"""What the cluster has of what a query reads: partitions and offsets, with one question for all.

A watch lives as long as its query, on one connection to each broker. It is made where it is used and never
leaves the process.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping

from riverlog.columnar import Cluster
from riverlog.errors import ConfigError
from riverlog.pipelines.source.anchors import EARLIEST, LATEST
from riverlog.pipelines.source.offsets import Bounds, Loss, lost, topics_of
from riverlog.pipelines.source.options import SourceOptions
from riverlog.types import TopicPartition

SETTLE_SECONDS = 3.0
"""How long a log may appear to end too early, as it does for a moment after its leader has changed."""

_PAUSE_SECONDS = 0.1


class Watch:
    """Asks a cluster about the partitions that options name. Raises ClusterUnavailable, RequestRefused."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._cluster = Cluster(options.bootstrap, options.timeout_seconds)

    def close(self) -> None:
        """End the connections."""
        self._cluster.close()

    def bounds(self, *, known: Collection[TopicPartition] | None = ()) -> dict[TopicPartition, Bounds]:
        """Give what the partitions hold that are there now.

        A topic or partition that was asked for by name must be there, unless it is `known` from before, or
        none has to be (None).
        """
        places = self._places(known)
        is_committed = self._options.is_committed
        earliest = self._cluster.offsets_at(dict.fromkeys(places, EARLIEST), committed=is_committed)
        latest = self._cluster.offsets_at(dict.fromkeys(places, LATEST), committed=is_committed)
        return {
            place: Bounds(min(earliest[place] or 0, latest[place] or 0), latest[place] or 0)
            for place in places
        }

    def settled(self, read: Mapping[TopicPartition, int]) -> tuple[dict[TopicPartition, Bounds], list[Loss]]:
        """Give what the partitions hold, and what is lost of what comes after `read`.

        A leader that is new may not know the end of its log for a moment: it is asked again.
        """
        deadline = time.monotonic() + SETTLE_SECONDS
        while True:
            bounds = self.bounds(known=read if self._options.fails_on_loss else None)
            losses = lost(read, bounds)
            if not any(loss.may_pass for loss in losses) or time.monotonic() >= deadline:
                return bounds, losses
            time.sleep(_PAUSE_SECONDS)

    def at(self, moments: Mapping[TopicPartition, int]) -> dict[TopicPartition, int | None]:
        """Find the first offset at or after a time in each partition; None where no record is so young."""
        return self._cluster.offsets_at(moments, committed=self._options.is_committed)

    def _places(self, known: Collection[TopicPartition] | None) -> list[TopicPartition]:
        options = self._options
        if options.pattern is not None:
            fits = re.compile(options.pattern).fullmatch
            return self._cluster.partitions_of([name for name in self._cluster.topics() if fits(name)])
        if options.assigned:
            found = set(self._cluster.partitions_of(topics_of(options.assigned)))
            missing = set(options.assigned) - found - set(known or ())
            if missing and known is not None:
                named = ", ".join(map(str, sorted(missing)))
                raise ConfigError("assign", named, f"partitions that {options.bootstrap} has")
            return sorted(found & set(options.assigned))
        places = self._cluster.partitions_of(options.topics)
        if known is not None:
            for topic in sorted(set(options.topics) - set(topics_of([*places, *known]))):
                places += self._cluster.partitions(topic)  # refused, unless it has just been made
        return sorted(places)
