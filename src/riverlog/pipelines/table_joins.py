"""A stream joined with a table that is kept locally from its changes.

    changes of the table ──▶ state of each key ◀── events         no look-up in a database, none to wait for

    stream_table_join    the newest version that has arrived; each event is answered at once
    temporal_join        the version valid at the event's time; answered when the watermark has passed it

Spark joins a stream with a static frame, read anew or not at all, and a stream with a stream within a span of
time. A table that changes beside the stream, and an event that wants the row of its own time, are neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

from riverlog.errors import RiverlogError
from riverlog.pipelines.columns import ColumnRefused, require, require_new, require_some, require_time
from riverlog.pipelines.versions import CHANGE, EVENT, TemporalMachine

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

_NOTHING = "_nothing"
"""The field of a struct that would have none."""

How = Literal["left", "inner"]


def temporal_join(
    versions: DataFrame,
    *,
    on: Sequence[str],
    event_time: str,
    valid_from: str,
    deleted: str | None = None,
    how: How = "left",
) -> Callable[[DataFrame], DataFrame]:
    """Add to each event the columns of the row of `versions` that was valid at the event's time.

    `versions` is a stream of changes with the columns `on`: a row is valid from `valid_from` until the next
    one of its key. Where the boolean column `deleted` is true, the key has no row from then on. An event at
    the very time of a change gets the new version; of changes at the same time one is chosen the same way
    always.

    `event_time` of the events needs a watermark, which alone decides when: an event comes out once the
    watermark has passed it, and a version should arrive before that. One that comes later is not dropped; it
    holds for events that are not out yet. `versions` needs no watermark, so a table at rest delays nothing.
    Late events are dropped by Spark and counted. State: one version per key, and what the watermark has not
    passed.
    """
    _check(on, how)

    def transform(events: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F
        from pyspark.sql.types import IntegerType, LongType, StructField, StructType

        from riverlog.pipelines.ordered import TIME, in_order, quoted, require_watermark

        require_watermark(events, event_time)
        require_time(versions, "valid_from", valid_from)
        sides = _Sides(events, versions, on, deleted, apart=(event_time,))
        time = F.unix_micros(quoted(valid_from))
        both = sides.union(event_time, event={TIME: F.unix_micros(quoted(event_time))}, change={TIME: time})
        state = StructType([StructField(TIME, LongType()), both.schema["_version"]])
        out = in_order(
            both.withColumn("_side", quoted("_side").cast(IntegerType())),
            TemporalMachine(keeps_unmatched=how == "left"),
            by=on,
            event_time=event_time,
            columns=["_side", "_event", "_version"],
            state=state,
            results=StructType([both.schema["_event"], both.schema["_version"]]),
        )
        return sides.unpacked(out)

    return transform


def stream_table_join(
    changes: DataFrame,
    *,
    on: Sequence[str],
    order: str,
    deleted: str | None = None,
    snapshot: DataFrame | None = None,
    how: How = "left",
) -> Callable[[DataFrame], DataFrame]:
    """Add to each event the columns of the newest row of its key that has arrived from a table's changes.

    Of two changes of a key the one with the larger `order` is newer, such as the offset in a change topic or
    the number of a commit; where the boolean column `deleted` is true, the key has no row. In a micro-batch
    changes go before events. Each event comes out at once, with what is known then: a change that arrives
    later does not reach it, and the same events in other batches may meet other versions. Use
    `temporal_join` where the result must not depend on that. `snapshot` is a batch frame with the columns of
    `changes`, loaded before the first event. No event is late; the result carries no watermark. State: one
    row per key.
    """
    _check(on, how)

    def transform(events: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F
        from pyspark.sql.types import StructField, StructType

        from riverlog.pipelines.ordered import bare, quoted
        from riverlog.pipelines.processors import JoinTable

        require(changes, "order", order)
        sides = _Sides(events, changes, on, deleted, apart=())
        kind = changes.schema[order].dataType
        if "timestamp" in kind.simpleString():
            position = F.unix_micros(quoted(order).cast("timestamp"))
        else:
            position = quoted(order)
        both = sides.union(None, event={"_order": F.lit(None)}, change={"_order": position})
        version = StructType([StructField("_order", both.schema["_order"].dataType), both.schema["_version"]])
        output = StructType(
            [*(events.schema[name] for name in on), both.schema["_event"], both.schema["_version"]]
        )
        initial = None
        if snapshot is not None:
            require(snapshot, "snapshot", *changes.columns)
            initial = sides.changes(snapshot.select(*changes.columns), {"_order": position}).groupBy(*on)
        joined = both.groupBy(*(quoted(name) for name in on)).transformWithState(
            JoinTable(bare(version), output.names, keeps_unmatched=how == "left"),
            bare(output),
            "Append",
            "None",
            initialState=initial,
        )
        return sides.unpacked(joined)

    return transform


class _Sides:
    """Two frames as one stream: `_side` says which, `_event` and `_version` hold what is not a key."""

    def __init__(
        self,
        events: DataFrame,
        versions: DataFrame,
        on: Sequence[str],
        deleted: str | None,
        apart: Sequence[str],
    ) -> None:
        from pyspark.sql.types import BooleanType, StructField, StructType

        from riverlog.pipelines.ordered import stored

        for frame in (events, versions):
            require(frame, "on", *on)
        for name in on:
            kinds = (events.schema[name].dataType, versions.schema[name].dataType)
            if kinds[0] != kinds[1]:
                raise ColumnRefused(
                    f"on={name!r} is of type {kinds[0].simpleString()} in the events and "
                    f"{kinds[1].simpleString()} in the table: cast one of them"
                )
        if deleted is not None:
            require(versions, "deleted", deleted)
        self._on = list(on)
        self._deleted = deleted
        self._columns = events.columns
        self._event = [field for field in events.schema if field.name not in (*on, *apart)]
        self._version = [field for field in versions.schema if field.name not in (*on, deleted)]
        if not self._version:
            raise ColumnRefused(f"the table has no column beside on={self._on!r}: there is nothing to join")
        require_new(events, "the table's column", *(field.name for field in self._version))
        nothing = [StructField(_NOTHING, BooleanType())]
        self._kinds: dict[str, StructType] = {
            packed: StructType([StructField(each.name, stored(each.dataType)) for each in fields or nothing])
            for packed, fields in (("_event", self._event), ("_version", self._version))
        }
        self._events_frame = events
        self._versions_frame = versions

    def union(
        self, event_time: str | None, *, event: dict[str, Column], change: dict[str, Column]
    ) -> DataFrame:
        """Put both into one frame, events first, so that their watermark is that of the whole."""
        from pyspark.sql import functions as F

        from riverlog.pipelines.ordered import quoted

        timed = [quoted(event_time)] if event_time else []
        events = self._events_frame.select(
            *(quoted(name) for name in self._on),
            *timed,
            F.lit(EVENT).alias("_side"),
            self._packed("_event").alias("_event"),
            F.lit(None).cast(self._kinds["_version"]).alias("_version"),
            *(column.alias(name) for name, column in event.items()),
        )
        changes = self.changes(self._versions_frame, change)
        if event_time:
            changes = changes.withColumn(event_time, F.lit(None).cast("timestamp"))
        return events.unionByName(changes)

    def changes(self, frame: DataFrame, more: dict[str, Column]) -> DataFrame:
        """Give changes of the table in the form of the union, without a time."""
        from pyspark.sql import functions as F

        from riverlog.pipelines.ordered import quoted

        packed = self._packed("_version")
        if self._deleted is not None:
            packed = F.when(~F.coalesce(quoted(self._deleted), F.lit(False)), packed)
        return frame.select(
            *(quoted(name) for name in self._on),
            F.lit(CHANGE).alias("_side"),
            F.lit(None).cast(self._kinds["_event"]).alias("_event"),
            packed.alias("_version"),
            *(column.alias(name) for name, column in more.items()),
        )

    def unpacked(self, frame: DataFrame) -> DataFrame:
        """Give the columns of the events, then those of the table, in the types that they had."""
        from riverlog.pipelines.ordered import quoted

        inside = {
            field.name: quoted(packed)[field.name].cast(field.dataType).alias(field.name)
            for packed, fields in (("_event", self._event), ("_version", self._version))
            for field in fields
        }
        columns = [*self._columns, *(field.name for field in self._version)]
        return frame.select(*(inside.get(name, quoted(name)) for name in columns))

    def _packed(self, packed: str) -> Column:
        from pyspark.sql import functions as F

        from riverlog.pipelines.ordered import quoted

        kinds = self._kinds[packed]
        known = [F.lit(None) if name == _NOTHING else quoted(name) for name in kinds.names]
        return F.struct(
            *(
                column.cast(kinds[name].dataType).alias(name)
                for name, column in zip(kinds.names, known, strict=True)
            )
        )


def _check(on: Sequence[str], how: str) -> None:
    require_some("on", on)
    if how not in ("left", "inner"):
        raise RiverlogError(f"how={how!r} is not accepted: 'left' (unmatched events too) or 'inner'")
