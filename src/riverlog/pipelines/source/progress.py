"""The lag of a query from what Spark tells of its progress. Pure.

query_lag(query.lastProgress) ──▶ {"clicks": {0: 17, 1: 0}}
"""

from __future__ import annotations

import json
from typing import Any

from riverlog.pipelines.source.offsets import Offsets, lag


def query_lag(progress: Any) -> dict[str, dict[int, int]]:
    """Count how many offsets each partition had beyond what the batch read, by topic and partition.

    `progress` is a query's `lastProgress` or one of `recentProgress`; a source that is no log is passed over.
    Where two sources of a query read the same partition, the larger lag is told.
    """
    found: dict[str, dict[int, int]] = {}
    for source in progress["sources"] if progress else ():
        end, latest = _offsets(source["endOffset"]), _offsets(source["latestOffset"])
        if end is None or latest is None:
            continue
        for place, behind in lag(end, latest).items():
            told = found.setdefault(place.topic, {})
            told[place.partition] = max(behind, told.get(place.partition, 0))
    return found


def _offsets(text: str | None) -> Offsets | None:
    try:
        return Offsets.from_json(json.loads(text or ""))
    except (ValueError, AttributeError, TypeError):
        return None
