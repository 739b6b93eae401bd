"""A table in a DuckDB file: the rows of a batch and its number in one transaction.

    sink = DuckDBSink("shop.duckdb", "totals", key=["page"])
    totals.writeStream.outputMode("update").foreachBatch(sink).start()

The file is open while a batch is written, and closed in between, so that others can read it; DuckDB lets one
process at a time write. A batch passes through the driver, as with PostgreSQL. The table is made from
the first batch's columns where it is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riverlog.errors import RiverlogError
from riverlog.pipelines.columns import require
from riverlog.pipelines.sinks.foreach import BatchSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MARKERS = "riverlog_sinks"


class DuckDBSink(BatchSink):
    """Appends rows to a table or, with a `key`, keeps one row for each key: the newest batch's.

    A batch may write a key once. `name` tells sinks of one query apart that write to one table.
    """

    def __init__(self, path: str | Path, table: str, *, key: Sequence[str] = (), name: str = "") -> None:
        super().__init__(f"{table}-{name}" if name else table)
        if isinstance(key, str):
            raise RiverlogError(f"key={key!r} is not accepted: a list of names of columns is expected")
        self._path = str(path)
        self._table = table
        self._key = tuple(key)

    def write(self, frame: DataFrame, sink: str, batch: int) -> None:
        """Write a batch, unless it is there."""
        require(frame, "key", *self._key)
        rows = frame.toArrow()
        connection = self._connected()
        try:
            connection.begin()
            if _is_free(connection, sink, batch):
                connection.register("riverlog_batch", rows)
                self._store(connection)
                connection.execute(f"INSERT OR REPLACE INTO {MARKERS} VALUES (?, ?)", (sink, batch))
            connection.commit()
        finally:
            # What was not committed is gone with the connection.
            connection.close()

    def _connected(self) -> Any:
        try:
            import duckdb
        except ImportError as error:
            raise RiverlogError("the sink for DuckDB needs it: run `pip install duckdb`") from error
        return duckdb.connect(self._path)

    def _store(self, connection: Any) -> None:
        table = _quoted(self._table)
        connection.execute(f"CREATE TABLE IF NOT EXISTS {table} AS FROM riverlog_batch LIMIT 0")
        if self._key:
            same = " AND ".join(f"{table}.{_quoted(name)} = b.{_quoted(name)}" for name in self._key)
            connection.execute(f"DELETE FROM {table} USING riverlog_batch AS b WHERE {same}")
        connection.execute(f"INSERT INTO {table} BY NAME FROM riverlog_batch")


def _is_free(connection: Any, sink: str, batch: int) -> bool:
    connection.execute(f"CREATE TABLE IF NOT EXISTS {MARKERS} (sink VARCHAR PRIMARY KEY, batch BIGINT)")
    found = connection.execute(f"SELECT batch FROM {MARKERS} WHERE sink = ?", (sink,)).fetchall()
    return not found or int(found[0][0]) < batch


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
