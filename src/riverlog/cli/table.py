"""Results for people and for programs: aligned columns, or one JSON object per line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def print_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print columns under headings: numbers to the right, with separators; nothing at all without rows."""
    table = list(rows)
    if not table:
        return
    shown = [[_cell(value) for value in row] for row in table]
    is_number = [
        all(value is None or type(value) is int for value in column) for column in zip(*table, strict=True)
    ]
    widths = [max(map(len, column)) for column in zip(headings, *shown, strict=True)]
    for row in ([*headings], *shown):
        cells = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, is_number, strict=True)
        ]
        print("  ".join(cells).rstrip())


def print_json(value: Mapping[str, Any]) -> None:
    """Print one object on one line."""
    import json

    print(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def quantity(number: int, noun: str) -> str:
    """Say `1 record` or `1,234 records`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def size(byte_count: float) -> str:
    """Say a number of bytes as people do: 512 B, 1.5 KB, 3.2 MB."""
    for unit in ("B", "KB", "MB", "GB"):
        if byte_count < 1000 or unit == "GB":
            break
        byte_count /= 1000
    return f"{byte_count:.0f} {unit}" if unit == "B" else f"{byte_count:.1f} {unit}"


def show_time(time_ms: int) -> str:
    """Say a time in the zone of whoever reads it: 2025-01-31T12:00:00.000+01:00."""
    from datetime import datetime

    try:
        return datetime.fromtimestamp(time_ms / 1000).astimezone().isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return f"@{time_ms}"  # a producer may write any number


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value))
    return str(value)
