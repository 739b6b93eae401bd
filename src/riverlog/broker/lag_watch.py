"""Looks at the lag of all groups from time to time, and warns of those that are about to lose records.

    every lag.check.interval.ms, in short steps      all that groups have committed
    before retention deletes segments of a partition, what they have committed there

What is a risk, what is new of it and how it is said are decided in `groups.lag`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from riverlog.groups import Lag, LagAlarms, Pair, Risk, warning

if TYPE_CHECKING:
    from collections.abc import Callable

    from riverlog.broker.partitions import Partitions
    from riverlog.config import MonitoringSettings
    from riverlog.groups import CommittedPlace, GroupCoordinator
    from riverlog.log import PartitionLog

PLACES_PER_STEP = 64
"""How many commits a step looks at where the group has read everything."""

WARNINGS_MAX = 100
"""How many warnings are written from one look to the next; others are counted, and metrics tell of them."""

logger = logging.getLogger("riverlog.broker.lag")


class LagWatch:
    """The lag of all groups that are served here."""

    def __init__(
        self,
        groups: GroupCoordinator,
        partitions: Partitions,
        *,
        settings: Callable[[], MonitoringSettings],
        now_ms: Callable[[], int],
    ) -> None:
        self.alarms = LagAlarms()
        self._groups = groups
        self._partitions = partitions
        self._settings = settings
        self._now_ms = now_ms
        self._next_look_ms = 0
        self._warnings = 0
        """Since the last look, those that were left out included."""
        self._written: dict[PartitionLog, tuple[int, int]] = {}
        """How much had been written to partitions with lag at the last look, and when that was."""

    @property
    def alarm_share(self) -> float:
        """What share of the retention has to be left for nobody to be warned."""
        return self._settings().lag_alarm_retention_percent / 100

    def lag_of(self, place: CommittedPlace, now_ms: int) -> Lag | None:
        """Tell how a group stands in one partition; None where that is not here."""
        log = self._partitions.find(place.topic, place.partition)
        return None if log is None else _lag(log, place.offset, now_ms)

    def housekeeping(self) -> Iterator[None]:
        """Look at everything, if it is time to, in short steps."""
        now_ms = self._now_ms()
        interval_ms = self._settings().lag_check_interval_ms
        # A clock that was set back must not put the next look off.
        if now_ms < self._next_look_ms <= now_ms + interval_ms:
            return
        self._next_look_ms = now_ms + interval_ms
        seen: set[Pair] = set()
        written: dict[PartitionLog, tuple[int, int]] = {}
        for number, place in enumerate(self._groups.committed()):
            log = self._partitions.find(place.topic, place.partition)
            if log is not None:
                lag = _lag(log, place.offset, now_ms)
                pair = (place.group_id, place.topic, place.partition)
                seen.add(pair)
                self._note(pair, lag, log, now_ms)
                if lag.offsets:
                    written[log] = (log.appended_bytes, now_ms)
                    yield
            if not number % PLACES_PER_STEP:
                yield
        if self._warnings > WARNINGS_MAX:
            logger.warning("%d more warnings of lag are left out", self._warnings - WARNINGS_MAX)
        self._warnings = 0
        self._written = written
        self.alarms.keep_only(seen)

    def before_deletion(self, log: PartitionLog, start_offset: int) -> None:
        """Warn of those who have not read what is about to be deleted, below `start_offset`."""
        now_ms = self._now_ms()
        topic, partition = log.topic_partition
        for place in self._groups.committed_for(topic, partition):
            if place.offset < start_offset:
                lag = _lag(log, place.offset, now_ms)
                self._note((place.group_id, topic, partition), lag, log, now_ms)

    def _note(self, pair: Pair, lag: Lag, log: PartitionLog, now_ms: int) -> None:
        risk = self.alarms.note(pair, lag, self.alarm_share)
        if risk is Risk.NONE:
            return
        self._warnings += 1
        if self._warnings <= WARNINGS_MAX:
            logger.warning("%s", warning(pair, lag, risk, now_ms, self._bytes_per_second(log, now_ms)))

    def _bytes_per_second(self, log: PartitionLog, now_ms: int) -> float:
        """How fast the partition was written to since the last look; 0 if that is not known."""
        before = self._written.get(log)
        if before is None or now_ms <= before[1]:
            return 0.0
        return (log.appended_bytes - before[0]) * 1000 / (now_ms - before[1])


def _lag(log: PartitionLog, committed: int, now_ms: int) -> Lag:
    lag = Lag(committed, log.log_start_offset, log.high_watermark)
    if lag.offsets and not lag.lost_offsets:
        try:
            return lag._replace(outlook=log.outlook(committed, now_ms))
        except OSError as error:
            # The age of old segments may have to be read. Their reader will be told what the disk said.
            logger.debug("%s: %s", log, error)
    return lag
