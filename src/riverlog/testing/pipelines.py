"""Streams inside your tests: feed events with their times, advance the watermark, look at what came out.

    def test_totals(riverlog_streams):
        orders = riverlog_streams.source("customer string, at timestamp, cents long", event_time="at")
        totals = riverlog_streams.start(per_minute(orders.frame))

        orders.feed(("ada", "10:00:05", 100), ("ada", "10:00:50", 20))
        orders.advance("10:01:00")

        assert totals.rows() == [("ada", 120)]

Each `feed` is one micro-batch of a real query with a real checkpoint; it returns once Spark has nothing left
to do, so nothing here waits for time to pass. `advance` moves the watermark by a row that no pipeline sees.

    feed ──▶ a file in a folder of its own ──▶ Spark's file source ──▶ your pipeline ──▶ a table in memory
"""

from __future__ import annotations

import base64
import itertools
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from riverlog.errors import RiverlogError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAY = datetime(2026, 1, 1, tzinfo=UTC)
"""The day of times that are given without one."""

SETTINGS: Mapping[str, str] = {
    # What is quick with a handful of rows, where the defaults are for millions.
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.streaming.minBatchesToRetain": "2",
    "spark.sql.streaming.pollingDelay": "1ms",
    "spark.sql.streaming.stateStore.maintenanceInterval": "1h",
}

_TICK = "_riverlog_tick"
_names = itertools.count(1)


def at(text: str) -> datetime:
    """Give the time that a text means: ISO 8601, or a time of day, on `DAY`; UTC unless it says other.

    `at("10:00:05")` -> 2026-01-01 10:00:05+00:00
    """
    moment = datetime.fromisoformat(text if len(text) > 8 and text[4] == "-" else f"{DAY:%Y-%m-%d}T{text}")
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def rows_of(frame: DataFrame) -> list[tuple[Any, ...]]:
    """Give the rows of a batch frame as tuples with times in UTC: the form in which an output is compared."""
    return [_in_utc(tuple(row)) for row in frame.collect()]


class Source:
    """A stream that a test feeds; made by `Streams.source`."""

    def __init__(
        self, streams: Streams, schema: str, event_time: str | None, delay: timedelta, directory: Path
    ) -> None:
        directory.mkdir()
        reader = streams.spark.readStream.schema(f"{schema}, {_TICK} timestamp").option(
            "maxFilesPerTrigger", 1
        )
        frame = reader.json(str(directory))
        names = [name for name in frame.columns if name != _TICK]
        if event_time is not None and event_time not in names:
            raise RiverlogError(f"event_time={event_time!r} names no column, of: {', '.join(names)}")
        if event_time is not None:
            frame = frame.withWatermark(event_time, f"{delay // timedelta(milliseconds=1)} milliseconds")
            # Not being deterministic, it keeps the pipeline's own filters above the watermark too: below
            # it they would take away the row that moves it.
            not_a_tick = f"not ({_TICK} is not null and `{event_time}` <=> {_TICK})"
            frame = frame.where(f"rand() >= 0 and {not_a_tick}")
        self.frame: DataFrame = frame.drop(_TICK)
        """What the pipeline under test reads."""
        self._columns = names
        self._times = {field.name for field in self.frame.schema if field.dataType.typeName() == "timestamp"}
        self._event_time = event_time
        self._delay = delay
        self._streams = streams
        self._directory = directory
        self._files = itertools.count(1)

    def feed(self, *rows: Sequence[Any] | Mapping[str, Any]) -> None:
        """Deliver rows, as tuples in the schema's order or as mappings, in one micro-batch of their own.

        A timestamp is a `datetime` or a text for `at`.
        """
        self._write([self._object(row) for row in rows])

    def advance(self, watermark: str | datetime) -> None:
        """Move this source's watermark to a time; what waits for it happens before this returns."""
        if self._event_time is None:
            raise RiverlogError("this source has no event_time, so no watermark can be advanced")
        shown = (_moment(watermark) + self._delay).isoformat()
        self._write([{self._event_time: shown, _TICK: shown}])

    def _object(self, row: Sequence[Any] | Mapping[str, Any]) -> dict[str, Any]:
        named = dict(row) if isinstance(row, Mapping) else dict(zip(self._columns, row, strict=True))
        unknown = named.keys() - set(self._columns)
        if unknown:
            raise RiverlogError(f"the source has no column {', '.join(sorted(unknown))}")
        return {name: self._json(name, value) for name, value in named.items()}

    def _json(self, name: str, value: Any) -> Any:
        return _plain(_moment(value) if name in self._times and isinstance(value, str) else value)

    def _write(self, objects: list[dict[str, Any]]) -> None:
        number = next(self._files)
        aside = self._directory.parent / f"{self._directory.name}-{number}.json"
        aside.write_text("".join(json.dumps(each) + "\n" for each in objects))
        aside.rename(self._directory / f"{number:06d}.json")
        self._streams.settle()


class Output:
    """A query that runs; made by `Streams.start`."""

    def __init__(self, frame: DataFrame, mode: str, checkpoint: Path) -> None:
        self._spark = frame.sparkSession
        self._table = f"riverlog_output_{next(_names)}"
        writer = frame.writeStream.format("memory").queryName(self._table).outputMode(mode)
        self.query = writer.option("checkpointLocation", str(checkpoint)).start()
        """Spark's own handle: `query.recentProgress` counts what was dropped as late."""
        self.is_stopped = False
        self._taken = 0

    def rows(self) -> list[tuple[Any, ...]]:
        """Give everything that came out so far, as tuples with times in UTC; their order is Spark's."""
        return rows_of(self._spark.table(self._table))

    def take(self) -> list[tuple[Any, ...]]:
        """Give what came out since the last `take`."""
        rows = self.rows()
        fresh = rows[self._taken :]
        self._taken = len(rows)
        return fresh

    def dropped(self) -> int:
        """Count the rows that stateful operators have dropped as later than the watermark."""
        operators = [each for progress in self.query.recentProgress for each in progress["stateOperators"]]
        return sum(int(each["numRowsDroppedByWatermark"]) for each in operators)

    def kept(self) -> int:
        """Count the rows that stateful operators keep after the last batch, to hold a bound to."""
        progress = [each for each in self.query.recentProgress if each["stateOperators"]]
        return sum(int(each["numRowsTotal"]) for each in progress[-1]["stateOperators"]) if progress else 0

    def settle(self) -> None:
        """Return once Spark has done all there is to do; raises what the pipeline raised."""
        self.query.processAllAvailable()

    def stop(self) -> None:
        """End the query and drop what it put out; nothing happens if it has ended."""
        if not self.is_stopped:
            self.is_stopped = True
            self.query.stop()
            self._spark.catalog.dropTempView(self._table)


class Streams:
    """Sources and queries of one test; made by `streams`."""

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self.spark = spark
        self._directory = directory
        self._numbers = itertools.count(1)
        self._running: list[Output] = []

    def source(
        self, schema: str, *, event_time: str | None = None, delay: timedelta = timedelta(0)
    ) -> Source:
        """Make a stream with a schema in SQL's words and, with an event time, a watermark."""
        return Source(self, schema, event_time, delay, self._directory / f"source-{next(self._numbers)}")

    def start(self, frame: DataFrame, *, mode: str = "append") -> Output:
        """Run a pipeline from here on; what was fed before comes first."""
        output = Output(frame, mode, self._directory / f"checkpoint-{next(self._numbers)}")
        self._running.append(output)
        output.settle()
        return output

    def settle(self) -> None:
        """Let every query of this test do all there is to do."""
        for output in self._running:
            if not output.is_stopped:
                output.settle()

    def stop(self) -> None:
        """End every query of this test."""
        while self._running:
            self._running.pop().stop()


@contextmanager
def spark(settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Run a Spark that is quick with little data, for a `with` block; `settings` go over its own."""
    from riverlog.pipelines import session

    with tempfile.TemporaryDirectory(prefix="riverlog-spark-", ignore_cleanup_errors=True) as directory:
        own = {**SETTINGS, "spark.sql.warehouse.dir": f"{directory}/warehouse"}
        running = session("tests", master="local[2]", settings={**own, **(settings or {})})
        try:
            yield running
        finally:
            running.stop()


@contextmanager
def streams(spark: SparkSession) -> Iterator[Streams]:
    """Give sources and queries for the time of a `with` block, on a session that may be shared."""
    with tempfile.TemporaryDirectory(prefix="riverlog-streams-", dir=_quick_directory()) as directory:
        made = Streams(spark, Path(directory))
        try:
            yield made
        finally:
            made.stop()


def _quick_directory() -> str | None:
    """A micro-batch syncs a dozen small files; in memory that is no wait."""
    shared_memory = Path("/dev/shm")
    return str(shared_memory) if shared_memory.is_dir() else None


def _moment(value: str | datetime) -> datetime:
    return at(value) if isinstance(value, str) else value


def _in_utc(value: Any) -> Any:
    """Spark gives a timestamp as local time that does not say so."""
    match value:
        case datetime():
            return value.astimezone(UTC)
        case dict():
            return {name: _in_utc(each) for name, each in value.items()}
        case list():
            return [_in_utc(each) for each in value]
        case tuple():
            return tuple(_in_utc(each) for each in value)
    return value


def _plain(value: Any) -> Any:
    match value:
        case datetime() | date():
            return value.isoformat()
        case Decimal():
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case Mapping():
            return {name: _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
    return value
