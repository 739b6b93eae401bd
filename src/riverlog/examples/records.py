"""Rows as records of a topic and back: JSON, keyed as the topic's input says. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from riverlog.examples.example import Arrival, Input, Row, text_of


def value_of(arrival: Arrival) -> bytes | None:
    """Give the value of a record; a tombstone has none."""
    if arrival.row is None:
        return None
    return json.dumps(arrival.row, default=_plain, separators=(",", ":")).encode()


def key_of(arrival: Arrival, topic: Input) -> bytes:
    """Give the key of a record, by which it goes to a partition."""
    key = arrival.key
    if key is None:
        assert arrival.row is not None, f"a tombstone on {topic.topic} says its key"
        key = arrival.row[topic.key]
    return str(key).encode()


def row_of(value: bytes) -> Row:
    """Read a row out of a record's value; times stay texts."""
    row: Row = json.loads(value)
    return row


def steps(arrivals: Sequence[Arrival], count: int) -> list[Sequence[Arrival]]:
    """Cut what arrives into so many parts, in order; no part is empty."""
    size = max(1, -(-len(arrivals) // count))
    return [arrivals[start : start + size] for start in range(0, len(arrivals), size)]


def _plain(value: Any) -> str:
    if isinstance(value, datetime):
        return text_of(value)
    raise TypeError(f"{value!r} of type {type(value).__name__} has no form in a record")
