"""What an operator asks of the frame it is given: columns that exist and have the type. Refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from riverlog.errors import RiverlogError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MICROSECOND = timedelta(microseconds=1)


class ColumnRefused(RiverlogError):
    """An argument that names a column which is missing, of a wrong type, or there already."""


def require(frame: DataFrame, argument: str, *names: str) -> None:
    """Refuse names that are no columns of the frame."""
    for name in names:
        if name not in frame.columns:
            raise ColumnRefused(
                f"{argument}={name!r} names no column of the frame, which has: {', '.join(frame.columns)}"
            )


def require_time(frame: DataFrame, argument: str, *names: str) -> None:
    """Refuse names that are no columns, or not of type timestamp."""
    require(frame, argument, *names)
    for name in names:
        kind = frame.schema[name].dataType.simpleString()
        if kind != "timestamp":
            raise ColumnRefused(f"{argument}={name!r} is of type {kind}: a timestamp is expected")


def require_new(frame: DataFrame, argument: str, *names: str) -> None:
    """Refuse names for new columns that the frame has already."""
    for name in names:
        if name in frame.columns:
            raise ColumnRefused(f"{argument}={name!r} is a column of the frame already: choose another name")


def require_some(argument: str, names: Sequence[str]) -> None:
    """Refuse an empty list of columns, and a text where a list is expected."""
    if isinstance(names, str) or not names:
        raise ColumnRefused(f"{argument}={names!r}: a list with at least one name of a column is expected")


def microseconds(argument: str, duration: timedelta) -> int:
    """Give a duration as a whole number of microseconds, Spark's unit; refuse one that is not positive."""
    if duration <= timedelta(0):
        raise RiverlogError(f"{argument}={duration} is not accepted: a duration above zero is expected")
    return duration // MICROSECOND
