"""The reference page of metrics, written from their table: `docs/reference/metrics.md`.

    python -m riverlog.broker.metrics.reference > docs/reference/metrics.md

A test compares the page with the table, so neither can be changed alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from riverlog.broker.metrics.counters import BUCKETS
from riverlog.broker.metrics.table import SECTIONS

_INTRODUCTION = """\
# Metrics

<!-- Written by `python -m riverlog.broker.metrics.reference`: change src/riverlog/broker/metrics instead. -->

`riverlog up --set metrics.port=9464` serves these as `http://127.0.0.1:9464/metrics`, in the text format that
Prometheus and those who speak its format collect. Port 0 is any free one; the line that `riverlog up` prints
tells which. [Watch the lag of consumers](../how-to/watch-consumer-lag.md) shows them at work.

- There is no password: who reaches the address reads the metrics. It is on this machine alone unless
  `metrics.host` says otherwise.
- A counter counts from the start of the broker on. A gauge is what was so when it was read.
- A metric is there once there is anything to tell: without groups there are none of groups.
- Topics, partitions, groups, and pairs of a group and a partition have metrics of their own up to
  `metrics.series.max` of each; `riverlog_metrics_omitted` counts the rest. Pairs at risk come first.
"""


def page() -> str:
    """Write the page."""
    return "\n".join((_INTRODUCTION, *_sections(), _buckets()))


def _sections() -> Iterator[str]:
    for title, rows in SECTIONS.items():
        yield f"## {title}\n"
        yield "| Metric | Kind | Labels | Meaning |"
        yield "|---|---|---|---|"
        for family, _read in rows:
            names = ", ".join(f"`{name}`" for name in family.label_names)
            yield f"| `{family.name}` | {family.kind} | {names} | {family.meaning} |"
        yield ""


def _buckets() -> str:
    ends = ", ".join(f"{end:g}" for end in BUCKETS)
    return f"A histogram has the buckets (`_bucket`, by `le`) {ends} and `+Inf`, with `_sum` and `_count`.\n"


if __name__ == "__main__":
    sys.stdout.write(page())
