"""Spark's side of a maintained view: the tables of a join key, maps from a row's key to its version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import StructType

from riverlog.pipelines.maintained_view import Key, deltas, newer_versions
from riverlog.pipelines.versions import Version

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle, TimerValues


class MaintainView(StatefulProcessor):
    """Apply a batch's changes of one join key to both tables, and say what that changes in their join."""

    def __init__(
        self,
        keys: Sequence[StructType],
        versions: Sequence[StructType],
        columns: Sequence[Sequence[str]],
        results: Sequence[str],
    ) -> None:
        self._keys = list(keys)
        self._versions = list(versions)
        self._names = [list(each) for each in columns]
        self._row = Row(*results)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Spark's call at the start of a task."""
        self._tables = [
            handle.getMapState(name, self._keys[side], self._versions[side])
            for side, name in enumerate(("left", "right"))
        ]

    def handleInputRows(  # noqa: N802  # Spark's name
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[Row]:
        """Apply changes and give the difference."""
        changes: list[list[tuple[Key, Version]]] = [[], []]
        for row in rows:
            side = row["_side"]
            version = Version(row["_order"], _values(row[f"_row{side}"]))
            changes[side].append((_values(row[f"_key{side}"]), version))
        # A side is read whole only if the other one changes: its rows are what that change meets.
        tables = [
            _whole(table) if changes[1 - side] else _some(table, changes[side])
            for side, table in enumerate(self._tables)
        ]
        new = [newer_versions(table, changes[side]) for side, table in enumerate(tables)]
        for side, table in enumerate(self._tables):
            for row_key, version in new[side].items():
                table.updateValue(row_key, tuple(version))
        for delta in deltas(tables[0], tables[1], new[0], new[1]):
            left, right = (Row(*names)(*row) for names, row in zip(self._names, delta[1:], strict=True))
            yield self._row(*key, delta.operation, left, right)


def _values(struct: Any) -> Any:
    """Give a struct as a plain tuple, whether Spark brought it as a row or as a dictionary."""
    if struct is None:
        return None
    return tuple(struct.values()) if isinstance(struct, dict) else tuple(struct)


def _whole(table: MapState) -> dict[Key, Version]:
    return {_values(key): Version(order, _values(row)) for key, (order, row) in table.iterator()}


def _some(table: MapState, changes: list[tuple[Key, Version]]) -> dict[Key, Version]:
    known = {key: table.getValue(key) for key, _ in changes}
    return {key: Version(value[0], _values(value[1])) for key, value in known.items() if value is not None}
