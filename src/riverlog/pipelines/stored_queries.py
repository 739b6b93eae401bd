"""Stored queries against the events that flow past them: alerts, subscriptions, saved searches.

Nothing is kept of an event, so nothing is late and the operator serves streams and batches alike. Queries are
those given when the pipeline was made; to change them while it runs, match inside `foreachBatch` with the
queries of that moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from riverlog.pipelines.columns import ColumnRefused, require_new
from riverlog.pipelines.query_index import Query, QueryIndex

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ASKABLE: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "timestamp": (datetime,),
    "date": (date,),
    **dict.fromkeys(
        ("byte", "short", "integer", "long", "float", "double", "decimal"), (int, float, Decimal)
    ),
}
"""Spark's names of types, and what a query may compare them with."""


def match_queries(queries: Iterable[Query], *, into: str = "query") -> Callable[[DataFrame], DataFrame]:
    """Give a row for each event and query that it answers: the event, and the query's name in column `into`.

    An event that answers none is left out. What a query may ask, and what it costs, is said in
    `query_index.py`. A watermark of the events stays.
    """
    index = QueryIndex(queries)

    def transform(frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        require_new(frame, "into", into)
        for query in index.queries():
            check_columns(query, frame)
        asked = index.columns()
        if not asked:
            return frame.withColumn(into, F.lit(None).cast("string")).where(F.lit(False))
        # Events stay inside Spark: Python sees the columns that are asked for, and says which queries.
        found = F.arrow_udf(_finder(index), "array<string>")  # type: ignore[attr-defined]  # not in its stub
        event = F.struct(*(F.col(f"`{name}`").alias(name) for name in asked))
        return frame.withColumn(into, F.explode(found(event)))

    return transform


def check_columns(query: Query, frame: DataFrame) -> None:
    """Refuse a query that asks of a column which is not there, or could never compare with what is in it."""
    asked: list[tuple[str, Any]] = [(column, "") for column in query.words]
    for column, wanted in query.equals.items():
        asked += [(column, each) for each in (wanted if isinstance(wanted, frozenset) else [wanted])]
    for column, bounds in query.ranges.items():
        asked += [(column, bound) for bound in bounds if bound is not None]
    for column, value in asked:
        if column not in frame.columns:
            raise ColumnRefused(
                f"query {query.name!r} asks of {column!r}, which is no column of the frame: "
                f"it has {', '.join(frame.columns)}"
            )
        kind = frame.schema[column].dataType
        if not isinstance(value, _ASKABLE.get(kind.typeName(), ())):
            raise ColumnRefused(
                f"query {query.name!r} compares {column!r}, of type {kind.simpleString()}, with {value!r}"
                if value != ""
                else f"query {query.name!r} looks for words in {column!r}, of type {kind.simpleString()}"
            )


def _finder(index: QueryIndex) -> Callable[[Any], Any]:
    import pyarrow

    def found(events: Any) -> Any:
        names = [index.match(event) for event in events.to_pylist()]
        return pyarrow.array(names, pyarrow.list_(pyarrow.string()))

    # Spark tells by these what kind of function it is.
    found.__annotations__ = {"events": pyarrow.Array, "return": pyarrow.Array}
    return found
