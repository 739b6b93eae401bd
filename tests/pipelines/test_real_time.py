"""Queries in real time: topic to topic through `riverlog run`, and what Spark's plans are refused for."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from time import monotonic

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from riverlog.client import Admin, Producer, Span, SpanReader
from riverlog.pipelines.jars import JarsMissing, fetch
from riverlog.pipelines.jobs.app import App, AppRefused
from riverlog.pipelines.jobs.checkpoint import progress
from riverlog.pipelines.jobs.plan import plans_of
from riverlog.pipelines.jobs.preparing import Cluster, prepare
from riverlog.pipelines.jobs.real_time import refusals
from riverlog.pipelines.jobs.state_directory import VersionState
from riverlog.testing import broker

SECONDS_MAX = 120
APP = """
from riverlog.pipelines import App

app = App("shop")


@app.query("dear", output="dear", key="page", mode="real-time")
def dear(context):
    clicks = context.topic("clicks", schema="page string, cents int")
    return clicks.where("cents > 5")
"""


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.java
def test_a_query_in_real_time_answers_while_its_batch_runs_and_stops_when_told(tmp_path: Path) -> None:
    try:
        fetch(os.environ)
    except JarsMissing as error:
        pytest.skip(str(error))
    (tmp_path / "app.py").write_text(APP)
    with broker() as running:
        with Admin(running.bootstrap) as admin:
            admin.create_topic("clicks")
        command = [sys.executable, "-m", "riverlog", "run", "app.py", "--json", "--interval", "0.5"]
        program = subprocess.Popen(
            [*command, "--master", "local[2]", "--bootstrap", running.bootstrap],
            cwd=tmp_path,
            env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        # Its end closes the pipes, and with that whatever waits for a line here.
        watchdog = threading.Timer(SECONDS_MAX, program.kill)
        watchdog.start()
        try:
            assert program.stdout is not None
            assert program.stderr is not None
            told = (json.loads(line) for line in program.stdout if line.startswith("{"))
            next(each for each in told if each["state"] == "running")
            with Producer(running.bootstrap) as producer:
                for value in (b'{"page":"home","cents":3}', b"no JSON", b'{"page":"cart","cents":9}'):
                    producer.send("clicks", value)
            first = read_one(running.bootstrap, "dear.v1")
            counted = next(each for each in told if each["rows_in"] == 3)
            with Producer(running.bootstrap) as producer:
                producer.send("clicks", b'{"page":"desk","cents":8}')
            begun = monotonic()
            second = read_one(running.bootstrap, "dear.v1", after=1)
            waited = monotonic() - begun
            program.send_signal(signal.SIGTERM)
            last = list(told)[-1]
            assert program.wait(SECONDS_MAX) == 0
            said = program.stderr.read()
        finally:
            watchdog.cancel()
            program.kill()
            program.wait()
            for pipe in (program.stdout, program.stderr):
                assert pipe is not None
                pipe.close()

    assert first == (b"cart", b'{"page":"cart","cents":9}')
    assert second == (b"desk", b'{"page":"desk","cents":8}')
    assert waited < 4, "a batch takes five seconds: the answer waited for its end"
    assert (counted["bad_rows"], counted["lag"], counted["error"]) == (1, {"clicks": 0}, "")
    assert (last["state"], last["error"], last["rows_in"]) == ("stopped", "", 4)
    assert "ERROR" not in said
    state = VersionState(tmp_path / "riverlog-state", "shop", "dear", 1)
    assert progress(state.checkpoint).offsets == {"clicks": {"clicks": {"0": 4}}}


def read_one(bootstrap: str, topic: str, *, after: int = 0) -> tuple[bytes | None, bytes | None]:
    """Wait for one record of a topic."""
    deadline = monotonic() + SECONDS_MAX
    spans = {0: Span(after, None)}
    with closing(SpanReader(bootstrap, topic, spans, timeout_seconds=SECONDS_MAX)) as reader:
        for batch in reader.batches(1):
            for record in batch:
                return record.key, record.value
            assert monotonic() < deadline, f"nothing came into {topic}"
    raise AssertionError("an endless read has ended")


@pytest.mark.spark
def test_functions_in_python_state_and_other_sources_are_found_in_sparks_plans(
    riverlog_spark: SparkSession,
) -> None:
    doubled = F.udf(lambda value: 2 * value, "long")
    rows = riverlog_spark.readStream.format("rate").load()

    by_python = refusals("a v1", *plans_of(rows.select(doubled("value"))))
    in_arrow = refusals("a v1", *plans_of(rows.mapInArrow(lambda batches: batches, rows.schema)))
    with_state = refusals("a v1", *plans_of(rows.groupBy("value").count()))
    plain = refusals("a v1", *plans_of(rows.where("value > 1").select(F.col("value") + 1)))

    assert ["reads rate" in by_python[0], "functions in Python" in by_python[1]] == [True, True]
    assert "functions in Python" in in_arrow[1]
    assert "the operator Aggregate" in with_state[1]
    assert [len(each) for each in (by_python, in_arrow, with_state, plain)] == [2, 2, 2, 1]


@pytest.mark.spark
def test_a_query_in_real_time_without_the_connector_is_told_how_to_get_it(
    riverlog_spark: SparkSession, tmp_path: Path
) -> None:
    app = App("shop")
    app.query("dear", output="dear", mode="real-time")(lambda context: context.topic("clicks"))
    state = VersionState(tmp_path, "shop", "dear", 1)

    with pytest.raises(AppRefused, match=r"query dear: .* is not there: run `riverlog jars`"):
        prepare(riverlog_spark, app.queries[0], state, Cluster("127.0.0.1:9"))


@pytest.mark.spark
def test_in_real_time_only_json_is_decoded_and_no_bad_records_are_kept(
    riverlog_spark: SparkSession, tmp_path: Path
) -> None:
    app = App("shop")
    app.query("avro", output="a", mode="real-time")(lambda context: context.topic("a", format="avro"))
    app.query("bad", output="b", mode="real-time")(lambda context: context.topic("b", keep_bad=True))

    for query, named in zip(app.queries, ("format='avro'", "keep_bad=True"), strict=True):
        with pytest.raises(AppRefused, match=f"{named} is not accepted: leave it out"):
            prepare(riverlog_spark, query, VersionState(tmp_path, "shop", "q", 1), Cluster("127.0.0.1:9"))
