"""Metrics of compaction: how much waits for it, what it does, and what it cannot clean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from riverlog.broker.metrics.exposition import Family, Kind
from riverlog.broker.metrics.scrape import Metric, Scrape

if TYPE_CHECKING:
    from riverlog.log import CleanerFigures


def _figures(scrape: Scrape) -> CleanerFigures:
    return scrape.sources.broker.cleaner.figures


METRICS: Final[tuple[Metric, ...]] = (
    (
        Family(
            "riverlog_compaction_max_dirty_ratio",
            Kind.GAUGE,
            "The largest share of a log that waits for compaction, at the last look.",
        ),
        lambda scrape: [("", _figures(scrape).max_dirty_ratio)],
    ),
    (
        Family(
            "riverlog_compaction_max_delay_seconds",
            Kind.GAUGE,
            "By how much max.compaction.lag.ms was exceeded somewhere, at the last look.",
        ),
        lambda scrape: [("", _figures(scrape).max_overdue_ms / 1000)],
    ),
    (
        Family(
            "riverlog_compaction_uncleanable_partitions",
            Kind.GAUGE,
            "Partitions that cannot be compacted; the log says why.",
        ),
        lambda scrape: [("", _figures(scrape).left_out)],
    ),
    (
        Family("riverlog_compaction_failures_total", Kind.COUNTER, "Cleanings that failed."),
        lambda scrape: [("", _figures(scrape).failures)],
    ),
    (
        Family("riverlog_compaction_cleaned_logs_total", Kind.COUNTER, "Cleanings that came to their end."),
        lambda scrape: [("", _figures(scrape).cleaned_logs)],
    ),
    (
        Family(
            "riverlog_compaction_read_bytes_total",
            Kind.COUNTER,
            "Bytes read by cleanings: what is dirty, up to twice.",
        ),
        lambda scrape: [("", _figures(scrape).read_bytes)],
    ),
    (
        Family("riverlog_compaction_written_bytes_total", Kind.COUNTER, "Bytes that cleanings left."),
        lambda scrape: [("", _figures(scrape).written_bytes)],
    ),
    (
        Family(
            "riverlog_compaction_read_records_total", Kind.COUNTER, "Records that cleanings had to look at."
        ),
        lambda scrape: [("", _figures(scrape).read_records)],
    ),
    (
        Family(
            "riverlog_compaction_last_cleaned_timestamp_seconds",
            Kind.GAUGE,
            "When a log was last cleaned, in seconds since 1970; 0 before.",
        ),
        lambda scrape: [("", _figures(scrape).last_cleaned_seconds)],
    ),
    (
        Family("riverlog_compaction_last_duration_seconds", Kind.GAUGE, "How long the last cleaning took."),
        lambda scrape: [("", _figures(scrape).last_duration_seconds)],
    ),
    (
        Family(
            "riverlog_compaction_last_map_ratio",
            Kind.GAUGE,
            "How full the memory for keys was at the end of the last cleaning.",
        ),
        lambda scrape: [("", _figures(scrape).map_utilization)],
    ),
)
