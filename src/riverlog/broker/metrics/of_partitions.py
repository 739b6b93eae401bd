"""Metrics of topics and their partitions."""

from __future__ import annotations

from typing import Final

from riverlog.broker.metrics.exposition import Family, Kind, labels
from riverlog.broker.metrics.scrape import Metric

_PLACE = ("topic", "partition")

METRICS: Final[tuple[Metric, ...]] = (
    (
        Family("riverlog_topics", Kind.GAUGE, "Topics with partitions here, internal ones included."),
        lambda scrape: [("", scrape.topic_count)],
    ),
    (
        Family("riverlog_partitions", Kind.GAUGE, "Partitions that are here."),
        lambda scrape: [("", scrape.partition_count)],
    ),
    (
        Family(
            "riverlog_partitions_offline",
            Kind.GAUGE,
            "Partitions that take no appends or cannot be opened, because of their disk.",
        ),
        lambda scrape: [("", scrape.offline_count)],
    ),
    (
        Family("riverlog_segment_files_open", Kind.GAUGE, "Segment files that are open."),
        lambda scrape: [("", scrape.sources.broker.logs.open_file_count)],
    ),
    (
        Family(
            "riverlog_topic_written_records_total",
            Kind.COUNTER,
            "Offsets given out, by the counts in the headers of batches: records, and ends of transactions.",
            ("topic",),
        ),
        lambda scrape: [(topic.labels, topic.written_records) for topic in scrape.topics.values()],
    ),
    (
        Family(
            "riverlog_topic_written_bytes_total",
            Kind.COUNTER,
            "Bytes appended, compressed as they came.",
            ("topic",),
        ),
        lambda scrape: [(topic.labels, topic.written_bytes) for topic in scrape.topics.values()],
    ),
    (
        Family("riverlog_partition_size_bytes", Kind.GAUGE, "Bytes in segment files.", _PLACE),
        lambda scrape: ((each.labels, each.size) for each in scrape.partitions),
    ),
    (
        Family("riverlog_partition_segments", Kind.GAUGE, "Segments, the active one included.", _PLACE),
        lambda scrape: ((each.labels, each.segments) for each in scrape.partitions),
    ),
    (
        Family("riverlog_partition_start_offset", Kind.GAUGE, "The oldest offset that is kept.", _PLACE),
        lambda scrape: ((each.labels, each.log_start) for each in scrape.partitions),
    ),
    (
        Family("riverlog_partition_end_offset", Kind.GAUGE, "The offset that the next record gets.", _PLACE),
        lambda scrape: ((each.labels, each.log_end) for each in scrape.partitions),
    ),
    (
        Family(
            "riverlog_partition_high_watermark",
            Kind.GAUGE,
            "Where reading ends: what lies below is on all replicas in sync.",
            _PLACE,
        ),
        lambda scrape: ((each.labels, each.high_watermark) for each in scrape.partitions),
    ),
    (
        Family(
            "riverlog_metrics_omitted",
            Kind.GAUGE,
            "How many of a thing have no metrics of their own: there are more than metrics.series.max.",
            ("what",),
        ),
        lambda scrape: [(labels(what=what), count) for what, count in scrape.omitted.items()],
    ),
)
