"""Where streams end: sinks whose effect is there once, however often Spark runs a batch again.

    topic.py         a topic of any Kafka cluster: `format("riverlog")`, and `TopicSink` for `foreachBatch`
      options.py       its options, pure
      markers.py       what a task left behind when it had written its batch, and what follows from it; pure
      rows.py          rows of a frame as records of a topic
      transaction.py   one task's transaction: fence, ask, write, commit
    foreach.py       what the sinks for `foreachBatch` share
    postgres.py      a table in PostgreSQL
    parquet.py       Parquet files, with manifests that say which of them count
    duckdb.py        a table in a DuckDB file

Spark runs a batch again after a crash, and a task after a failure, and both at a time when their
predecessor may still be alive. So each sink remembers a batch in the same act that makes its rows visible,
and asks before it writes. How, and what is left out: docs/decisions/0011-a-sink-that-writes-once.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from riverlog.pipelines.sinks.duckdb import DuckDBSink
    from riverlog.pipelines.sinks.parquet import ParquetSink, committed_files
    from riverlog.pipelines.sinks.postgres import PostgresSink
    from riverlog.pipelines.sinks.topic import TopicSink

__all__ = ["TopicSink", "PostgresSink", "ParquetSink", "committed_files", "DuckDBSink"]

_HOMES = {
    "TopicSink": "topic",
    "PostgresSink": "postgres",
    "ParquetSink": "parquet",
    "committed_files": "parquet",
    "DuckDBSink": "duckdb",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
