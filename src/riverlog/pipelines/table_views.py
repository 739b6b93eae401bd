"""The join of two tables, each a stream of changes, as a view kept up to date: a timeline, a catalogue.

    changes of posts   ──▶┐  state by join key:  posts by their key   ┌──▶ insert / retract
    changes of follows ──▶┘                      follows by theirs    └

Spark joins two streams of events within a span of time and never takes a result back. Two tables have no such
span: a row joins as long as it is there, and its pairs go when it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from riverlog.pipelines.columns import ColumnRefused, require, require_new, require_some

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

OPERATION = "operation"
_LEFT, _RIGHT = 0, 1


def table_view(
    right: DataFrame,
    *,
    on: Sequence[str],
    left_key: Sequence[str],
    right_key: Sequence[str],
    order: str,
    deleted: str | None = None,
) -> Callable[[DataFrame], DataFrame]:
    """Join two streams of changes into the changes of their join.

    Each side has the columns `on`; a key of its own, `left_key` and `right_key`, that names a row among
    those of the same `on`; `order`, by which the newer of two changes of a row is told; and, where given, a
    boolean column `deleted`. A row whose `on` changes is two changes: it is deleted where it was and comes
    where it is now, as change capture writes an update of a key.

    Out come `on`, `operation` (`insert` or `retract`) and the columns of both sides. Added up, insertions
    less retractions, they are the join of both tables as far as they have arrived; a batch's retractions of
    a join key come before its insertions. A change older than what is known changes nothing, so disorder and
    repetition do no harm; nothing is late. Only the difference of a batch is said: its size may depend on
    how changes fall into batches, its sum does not. State: both tables, and the keys of deleted rows.
    """
    require_some("on", on)
    require_some("left_key", left_key)
    require_some("right_key", right_key)

    def transform(left: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F
        from pyspark.sql.types import StringType, StructField, StructType

        from riverlog.pipelines.ordered import quoted, stored
        from riverlog.pipelines.view_processor import MaintainView

        apart = {*on, order, deleted}
        for frame, argument, key in ((left, "left_key", left_key), (right, "right_key", right_key)):
            require(frame, "on", *on)
            require(frame, argument, *key)
            require(frame, "order", order)
            if deleted is not None:
                require(frame, "deleted", deleted)
        for name in (*on, order):
            if left.schema[name].dataType != right.schema[name].dataType:
                raise ColumnRefused(
                    f"{name!r} is of another type on the right than on the left: cast one of them"
                )
        rows_were = [
            StructType(
                [StructField(field.name, field.dataType) for field in frame.schema if field.name not in apart]
            )
            for frame in (left, right)
        ]
        require_new(left, "the right side's column", *rows_were[_RIGHT].names)
        rows = [
            StructType([StructField(field.name, stored(field.dataType)) for field in each])
            for each in rows_were
        ]
        keys = [
            StructType([StructField(name, stored(frame.schema[name].dataType)) for name in key])
            for frame, key in ((left, left_key), (right, right_key))
        ]
        position = stored(left.schema[order].dataType)

        def packed(names: StructType) -> Column:
            return F.struct(*(quoted(each.name).cast(each.dataType).alias(each.name) for each in names))

        def side(frame: DataFrame, which: int) -> DataFrame:
            here = packed(rows[which])
            if deleted is not None:
                here = F.when(~F.coalesce(quoted(deleted), F.lit(False)), here)
            columns = [*(quoted(name) for name in on), F.lit(which).alias("_side")]
            columns.append(quoted(order).cast(position).alias("_order"))
            for each in (_LEFT, _RIGHT):
                of_this = each == which
                columns.append((here if of_this else F.lit(None).cast(rows[each])).alias(f"_row{each}"))
                key = packed(keys[each]) if of_this else F.lit(None).cast(keys[each])
                columns.append(key.alias(f"_key{each}"))
            return frame.select(*columns)

        both = side(left, _LEFT).unionByName(side(right, _RIGHT))
        versions = [StructType([StructField("order", position), StructField("row", each)]) for each in rows]
        output = StructType(
            [
                *(StructField(name, left.schema[name].dataType) for name in on),
                StructField(OPERATION, StringType()),
                StructField("_left", rows[_LEFT]),
                StructField("_right", rows[_RIGHT]),
            ]
        )
        changes = both.groupBy(*(quoted(name) for name in on)).transformWithState(
            MaintainView(keys, versions, [each.names for each in rows], output.names),
            output,
            "Append",
            "None",
        )
        unpacked = [
            quoted(packed_in)[each.name].cast(each.dataType).alias(each.name)
            for packed_in, fields in (("_left", rows_were[_LEFT]), ("_right", rows_were[_RIGHT]))
            for each in fields
        ]
        return changes.select(*(quoted(name) for name in on), OPERATION, *unpacked)

    return transform
