"""The table of all metrics, and their text.

`TABLE` holds for each metric what it is called and means, and how its samples are read. What is served and
the reference page both come from here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from riverlog.broker.metrics import of_compaction, of_groups, of_partitions, of_process, of_requests
from riverlog.broker.metrics.exposition import write
from riverlog.broker.metrics.scrape import Metric, Scrape, Sources

SECTIONS: Final[dict[str, tuple[Metric, ...]]] = {
    "The process": of_process.METRICS,
    "Connections and requests": of_requests.METRICS,
    "Topics and partitions": of_partitions.METRICS,
    "Groups": of_groups.METRICS,
    "Compaction": of_compaction.METRICS,
}

TABLE: Final = tuple(row for rows in SECTIONS.values() for row in rows)


def metrics_text(sources: Sources) -> Iterator[str]:
    """Read and write all metrics, in short steps; a step may bring no text."""
    scrape = Scrape(sources)
    for _ in scrape.gather():
        yield ""
    for family, read in TABLE:
        yield from write(family, read(scrape))
