"""`riverlog run` as a program of its own: what it prints, and that a signal ends it at the end of a batch."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from riverlog.client import Admin, Producer
from riverlog.pipelines.jobs.checkpoint import progress
from riverlog.pipelines.jobs.state_directory import VersionState
from riverlog.testing import broker

SECONDS_MAX = 120
APP = """
from pyspark.sql import functions as F
from riverlog.pipelines import App

app = App("shop")
FACTOR = 2  # what workers need besides the function itself


@F.udf("int")
def doubled(cents):
    return FACTOR * cents


@app.query("doubles", output="doubles", key="page")
def doubles(context):
    clicks = context.topic("clicks", schema="page string, cents int")
    return clicks.select("page", doubled("cents").alias("cents"))
"""


@pytest.mark.slow
def test_an_app_runs_until_a_signal_and_stops_between_batches(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    with broker() as running:
        with Admin(running.bootstrap) as admin:
            admin.create_topic("clicks")
        with Producer(running.bootstrap) as producer:
            for number in range(100):
                producer.send("clicks", json.dumps({"page": "home", "cents": number}).encode())
        command = [sys.executable, "-m", "riverlog", "run", "app.py", "--json", "--interval", "0.5"]
        program = subprocess.Popen(
            [*command, "--bootstrap", running.bootstrap],
            cwd=tmp_path,
            env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1"},
            stdout=subprocess.PIPE,
            text=True,
        )
        # Its end closes the pipe, and with that whatever waits for a line here.
        watchdog = threading.Timer(SECONDS_MAX, program.kill)
        watchdog.start()
        try:
            assert program.stdout is not None
            told = (json.loads(line) for line in program.stdout if line.startswith("{"))
            done = next(each for each in told if each["rows_in"] == 100)
            program.send_signal(signal.SIGTERM)
            last = list(told)[-1]
            assert program.wait(SECONDS_MAX) == 0
        finally:
            watchdog.cancel()
            program.kill()
            program.wait()
            assert program.stdout is not None
            program.stdout.close()

    assert (done["state"], done["lag"], done["error"]) == ("running", {"clicks": 0}, "")
    assert (last["state"], last["error"]) == ("stopped", "")
    assert progress(
        VersionState(tmp_path / "riverlog-state", "shop", "doubles", 1).checkpoint
    ).is_between_batches
