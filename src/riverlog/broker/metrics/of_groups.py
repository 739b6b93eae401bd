"""Metrics of groups: who is there, how far each has come, and whether retention is about to overtake one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from riverlog.broker.metrics.exposition import Family, Kind, Sample, labels
from riverlog.broker.metrics.scrape import Metric, Scrape

_PAIR = ("group", "topic", "partition")


def _states(scrape: Scrape) -> Iterable[Sample]:
    for (kind, state), count in sorted(scrape.groups_by_state.items()):
        yield labels(type=kind, state=state), count


METRICS: Final[tuple[Metric, ...]] = (
    (
        Family("riverlog_groups", Kind.GAUGE, "Groups that are coordinated here.", ("type", "state")),
        _states,
    ),
    (
        Family("riverlog_group_members", Kind.GAUGE, "Members of a group.", ("group",)),
        lambda scrape: ((labels(group=group.group_id), len(group.member_ids)) for group in scrape.groups),
    ),
    (
        Family(
            "riverlog_group_committed_offset",
            Kind.GAUGE,
            "Where a group goes on, as it has committed.",
            _PAIR,
        ),
        lambda scrape: ((pair.labels, pair.committed) for pair in scrape.pairs),
    ),
    (
        Family(
            "riverlog_group_lag",
            Kind.GAUGE,
            "Offsets from what a group has committed to the high watermark. A group that reads only what is"
            " committed cannot come closer than the first open transaction.",
            _PAIR,
        ),
        lambda scrape: ((pair.labels, pair.lag.offsets) for pair in scrape.pairs if pair.lag),
    ),
    (
        Family(
            "riverlog_group_headroom",
            Kind.GAUGE,
            "Offsets from the oldest that is kept to what a group has committed.",
            _PAIR,
        ),
        lambda scrape: ((pair.labels, pair.lag.headroom) for pair in scrape.pairs if pair.lag),
    ),
    (
        Family(
            "riverlog_group_retention_left_ratio",
            Kind.GAUGE,
            "What share of the retention (of its time or of its bytes, whichever ends first) is left until"
            " the records are deleted that a group reads next: from 1, all of it, to 0.",
            _PAIR,
        ),
        lambda scrape: (
            (pair.labels, 0.0 if pair.lag.lost_offsets else pair.lag.outlook.left_share)
            for pair in scrape.pairs
            if pair.lag
        ),
    ),
    (
        Family(
            "riverlog_group_at_risk",
            Kind.GAUGE,
            "1 if records that a group has not read will be deleted before long (lag.alarm.retention.percent)"
            " or were deleted, else 0.",
            _PAIR,
        ),
        lambda scrape: ((pair.labels, int(pair.is_at_risk)) for pair in scrape.pairs if pair.lag),
    ),
    (
        Family(
            "riverlog_group_lost_offsets",
            Kind.GAUGE,
            "Offsets that were deleted before a group had read them; 0 again once it goes on behind them.",
            _PAIR,
        ),
        lambda scrape: ((pair.labels, pair.lag.lost_offsets) for pair in scrape.pairs if pair.lag),
    ),
)
