"""A table in PostgreSQL: the rows of a batch and its number in one transaction.

    clicks.writeStream.foreachBatch(PostgresSink("dbname=shop", "clicks"))
    totals.writeStream.outputMode("update").foreachBatch(PostgresSink("dbname=shop", "totals", key=["page"]))

    BEGIN ─ riverlog_sinks: lock the sink's row; is the batch in? ─ COPY ─ upsert ─ its number ─ COMMIT

Readers see a batch whole or not at all. The lock makes one of two drivers wait that write the same batch,
and the second finds it written; a driver that hangs loses its transaction after `IDLE_SECONDS_MAX`.

A batch passes through the driver: it may have as many bytes as `spark.driver.maxResultSize` says. The table
must be there, with the columns of the frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from riverlog.errors import RiverlogError
from riverlog.pipelines.columns import require
from riverlog.pipelines.sinks.foreach import BatchSink

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa
    from psycopg.sql import Composed, Identifier
    from pyspark.sql import DataFrame

MARKERS = "riverlog_sinks"
DELETIONS = ("retract", "delete")
IDLE_SECONDS_MAX = 60
_STAGE = "riverlog_batch"
_OPERATION = "riverlog_operation"


class PostgresMissing(RiverlogError):
    """The driver for PostgreSQL is not installed: ends the start of a query."""


class PostgresSink(BatchSink):
    """Appends rows to a table or, with a `key`, keeps one row for each key: the newest batch's.

    `operation` names a column that says of each row whether it is deleted (`retract` or `delete`) or
    written (anything else), as `correcting_windows` and `table_view` publish it; it wants a `key`, and what a
    batch deletes goes before what it writes. A batch may write a key once.
    `name` tells sinks of one query apart that write to one table.
    """

    def __init__(
        self,
        connection: str,
        table: str,
        *,
        key: Sequence[str] = (),
        operation: str | None = None,
        name: str = "",
    ) -> None:
        super().__init__(f"{table}-{name}" if name else table)
        if isinstance(key, str):
            raise RiverlogError(f"key={key!r} is not accepted: a list of names of columns is expected")
        if operation is not None and not key:
            raise RiverlogError(f"operation={operation!r} wants a `key`: it says which row is deleted")
        self._connection = connection
        self._table = table
        self._key = tuple(key)
        self._operation = operation

    def write(self, frame: DataFrame, sink: str, batch: int) -> None:
        """Write a batch, unless it is there."""
        require(frame, "key", *self._key)
        if self._operation is not None:
            require(frame, "operation", self._operation)
        rows = frame.toArrow()
        with self._connected() as connection, connection.cursor() as cursor:
            if _is_free(cursor, sink, batch):
                self._store(cursor, rows)
                cursor.execute(f"UPDATE {MARKERS} SET batch = %s WHERE sink = %s", (batch, sink))

    def _connected(self) -> psycopg.Connection[Any]:
        """A connection whose `with` block is one transaction."""
        try:
            import psycopg
        except ImportError as error:
            raise PostgresMissing(
                "the sink for PostgreSQL needs psycopg: run `pip install 'riverlog[postgres]'`"
            ) from error
        return psycopg.connect(self._connection)

    def _store(self, cursor: psycopg.Cursor[Any], rows: pa.Table) -> None:
        from psycopg.sql import SQL, Identifier

        table = Identifier(*self._table.split("."))
        names = [name for name in rows.column_names if name != self._operation]
        columns = _listed(names)
        if not self._key:
            _copy(cursor, SQL("COPY {} ({}) FROM STDIN").format(table, columns), rows)
            return
        stage = Identifier(_STAGE)
        cursor.execute(
            SQL(
                "CREATE TEMPORARY TABLE {} ON COMMIT DROP AS SELECT {}, ''::text AS {} FROM {} WITH NO DATA"
            ).format(stage, columns, Identifier(_OPERATION), table)
        )
        staged = rows.rename_columns(
            [_OPERATION if name == self._operation else name for name in rows.column_names]
        )
        _copy(cursor, SQL("COPY {} ({}) FROM STDIN").format(stage, _listed(staged.column_names)), staged)
        is_deletion = SQL("coalesce({}, '') = ANY(%s)").format(Identifier(_OPERATION))
        same = SQL(" AND ").join(
            SQL("{table}.{name} = {stage}.{name}").format(table=table, stage=stage, name=Identifier(name))
            for name in self._key
        )
        cursor.execute(
            SQL("DELETE FROM {} USING {} WHERE {} AND {}").format(table, stage, same, is_deletion),
            (list(DELETIONS),),
        )
        cursor.execute(
            SQL("INSERT INTO {} ({}) SELECT {} FROM {} WHERE NOT {} ON CONFLICT ({}) DO {}").format(
                table, columns, columns, stage, is_deletion, _listed(self._key), self._update(names)
            ),
            (list(DELETIONS),),
        )

    def _update(self, names: Sequence[str]) -> Composed:
        from psycopg.sql import SQL, Identifier

        rest = [Identifier(name) for name in names if name not in self._key]
        if not rest:
            return SQL("NOTHING").format()
        return SQL("UPDATE SET {}").format(
            SQL(", ").join(SQL("{0} = EXCLUDED.{0}").format(name) for name in rest)
        )


def _is_free(cursor: psycopg.Cursor[Any], sink: str, batch: int) -> bool:
    """Lock the sink, and say whether the batch is still to be written."""
    cursor.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{IDLE_SECONDS_MAX}s'")
    cursor.execute("SELECT to_regclass(%s)", (MARKERS,))
    if cursor.fetchone() == (None,):
        # Two that create a table at once are not told that it exists, they fail.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (MARKERS,))
        cursor.execute(f"CREATE TABLE IF NOT EXISTS {MARKERS} (sink text PRIMARY KEY, batch bigint NOT NULL)")
    cursor.execute(f"INSERT INTO {MARKERS} VALUES (%s, -1) ON CONFLICT DO NOTHING", (sink,))
    cursor.execute(f"SELECT batch FROM {MARKERS} WHERE sink = %s FOR UPDATE", (sink,))
    found = cursor.fetchone()
    assert found is not None, "the row was just inserted, or was there"
    return int(found[0]) < batch


def _copy(cursor: psycopg.Cursor[Any], statement: Composed, rows: pa.Table) -> None:
    with cursor.copy(statement) as copy:
        for row in _tuples(rows):
            copy.write_row(row)


def _tuples(rows: pa.Table) -> Iterator[tuple[Any, ...]]:
    for batch in rows.to_batches(max_chunksize=10_000):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _listed(names: Sequence[str]) -> Composed:
    from psycopg.sql import SQL, Identifier

    columns: list[Identifier] = [Identifier(name) for name in names]
    return SQL(", ").join(columns)
