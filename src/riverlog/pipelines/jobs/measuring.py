"""What Spark says of a query's batches, as numbers for people: pure.

Spark tells of each batch by a JSON document. Its rates are those of one batch; here they are those of an
interval.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from riverlog.pipelines.jobs.checkpoint import position_of

BAD_RECORDS = "bad records of "
"""Begins the name under which a source's records are counted that could not be decoded."""
REASON_LINES_MAX = 12
REASON_CHARACTERS_MAX = 2000

Ends = Mapping[str, Mapping[int, int]]
"""For each topic and partition an offset."""


@dataclass(slots=True)
class Tally:
    """What has been seen of a query since it started; `take` is the only way it changes."""

    batch: int = -1
    rows_in: int = 0
    rows_out: int | None = None
    late_rows: int = 0
    bad_rows: int = 0
    batch_ms: int = 0
    watermark: str = ""
    ends: dict[str, dict[int, int]] = field(default_factory=dict)

    def take(self, documents: Iterable[Mapping[str, Any]]) -> None:
        """Take in batches, oldest first; those that were taken before are passed over."""
        for document in documents:
            if document["batchId"] <= self.batch and self.batch_ms:
                continue
            if not document["durationMs"].get("addBatch"):
                continue  # nothing ran: Spark only says that it is alive
            self.batch = document["batchId"]
            self.rows_in += document["numInputRows"]
            written = document.get("sink", {}).get("numOutputRows", -1)
            if written is not None and written >= 0:
                self.rows_out = (self.rows_out or 0) + written
            self.late_rows += sum(
                each.get("numRowsDroppedByWatermark", 0) for each in document.get("stateOperators", ())
            )
            self.bad_rows += sum(
                counted["bad"]
                for name, counted in document.get("observedMetrics", {}).items()
                if name.startswith(BAD_RECORDS)
            )
            self.batch_ms = int(document["durationMs"].get("triggerExecution", 0))
            watermark = document.get("eventTime", {}).get("watermark", "")
            self.watermark = "" if watermark.startswith("1970-01-01T00:00:00.000") else watermark
            self.ends = ends_of(document)


def ends_of(document: Mapping[str, Any]) -> dict[str, dict[int, int]]:
    """How far a batch has read in each topic; of two sources of one topic, the one that is behind."""
    named = {str(number): each["endOffset"] for number, each in enumerate(document.get("sources", ()))}
    found: dict[str, dict[int, int]] = {}
    for topics in position_of({name: value for name, value in named.items() if value}).values():
        for topic, parts in topics.items():
            known = found.setdefault(topic, {})
            for index, offset in parts.items():
                known[index] = min(offset, known.get(index, offset))
    return found


def lag_of(ends: Ends, newest: Ends) -> dict[str, int]:
    """Count for each topic what lies behind the offsets that were read."""
    return {
        topic: sum(max(0, offset - ends[topic].get(index, 0)) for index, offset in parts.items())
        for topic, parts in newest.items()
        if topic in ends
    }


def per_second(before: int | None, after: int | None, seconds: float) -> float | None:
    """How much came in an interval, for each of its seconds; None where nobody counts."""
    if after is None:
        return None
    return round((after - (before or 0)) / seconds, 1) if seconds else 0.0


def reason_of(text: str) -> str:
    """Cut Spark's account of a failure down to what says why: no stacks, no plans.

    Of a failure in Python the last line of its traceback comes first: that is the user's own error.
    """
    body = re.split(r"\n=== Streaming Query ===|\n\nDriver stacktrace|\nJVM stacktrace", text)[0]
    lines = [line.rstrip() for line in body.splitlines() if not line.lstrip().startswith(("at ", "\tat "))]
    told = [line for line in lines if line.strip() and not _STACK_LEFT.match(line.strip())]
    own = [line for line in told if _PYTHON_ERROR.match(line.strip())]
    first = own[-1:] if "Traceback (most recent call last)" in body else []
    kept = [*first, *(line for line in told if line not in first)][:REASON_LINES_MAX]
    if first:
        kept = [line for line in kept if not line.lstrip().startswith(("File ", "Traceback ", "^", "~"))]
    return "\n".join(kept)[:REASON_CHARACTERS_MAX]


_STACK_LEFT = re.compile(r"\.\.\. \d+ more$")
_PYTHON_ERROR = re.compile(r"([A-Za-z_][\w.]*(Error|Exception|Refused|Missing|Warning|Interrupt))(: .*)?$")
