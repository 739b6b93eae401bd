"""Rounds of: write events, let somebody die, and see every window once and right in the output.

    feed ─▶ source ─▶ windowed job (driver, Python workers) ─▶ sink ─▶ reader of committed records

    round: misfortunes at random moments while the feed writes ─▶ the windows that must be closed are there

Events come in order of time but for a jitter, and evenly over the partitions, so that none of them is late
for the job's watermark, however it cuts its batches: the output has to equal the batch result. The choices
follow from a seed; the moments at which processes meet do not.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil

from riverlog.client import Admin
from tests.committed_reader import CommittedReader, committed
from tests.feed import Feed
from tests.live_broker import LiveBroker, environment
from tests.process.windowed_job import DELAY_SECONDS, STARTED, WINDOW_SECONDS, batch_result

PARTITIONS = 4
SOURCE, SINK = "events", "windows"
KEYS = ("k0", "k1", "k2")
EVENT_SECONDS = 0.5
"""How far apart events are in their own time."""
JITTER_SECONDS = 15.0
UNACKNOWLEDGED_MAX = 40
"""Events under way: so far may one partition be ahead of another in the log."""
CLOSED_SECONDS_MAX = 150.0
"""How long after a round its windows may take; a driver has to start, and a broker to come back."""
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "transaction.state.log.num.partitions": "3",
    "offsets.topic.num.partitions": "3",
}

Report = Callable[[str], None]


class Events(Feed):
    """Events whose time goes on by itself; keeps all that it wrote."""

    def __init__(self, bootstrap: str, seed: int) -> None:
        super().__init__(bootstrap, SOURCE, pause_seconds=0.001)
        self._chance = random.Random(seed)
        self.written: list[dict[str, Any]] = []

    def write(self) -> None:
        number = len(self.written)
        jitter = self._chance.uniform(0, JITTER_SECONDS)
        self._put(number * EVENT_SECONDS + jitter, self._chance.choice(KEYS), self._chance.randint(1, 9))
        if number % UNACKNOWLEDGED_MAX == 0:
            self._producer.flush()

    def close_windows(self) -> None:
        """Write an event so late in time that every window before it is closed; it is of no round."""
        latest = max(event["at"] for event in self.written)
        self._put(latest + DELAY_SECONDS + 10 * WINDOW_SECONDS, "end", 0)
        self._producer.flush()

    def _put(self, at: float, key: str, amount: int) -> None:
        event = {"key": key, "at": round(at, 3), "amount": amount}
        self.send(json.dumps(event).encode(), len(self.written) % PARTITIONS)
        self.written.append(event)


class Job:
    """The driver's program, with all processes that it starts."""

    def __init__(self, command: Sequence[str], extra: dict[str, str] | None = None) -> None:
        self._command = list(command)
        self._environment = environment() | (extra or {})
        self.starts = 0
        self.output: list[str] = []
        self._running = threading.Event()
        self.start()

    def start(self) -> None:
        """Start it; what it says is kept."""
        self.starts += 1
        self._running.clear()
        self.process = subprocess.Popen(
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        threading.Thread(target=self._read, args=(self.process,), daemon=True).start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout as said:
            for line in said:
                self.output.append(line)
                if STARTED in line:
                    self._running.set()

    def await_start(self, seconds_max: float) -> None:
        """Wait until a query runs."""
        assert self._running.wait(seconds_max), "".join(self.output[-100:])

    def revive(self) -> None:
        """Start it again if it has ended."""
        if self.process.poll() is not None:
            self._end_all()
            self.start()

    def kill(self) -> None:
        """End the driver and all that it started, at once."""
        self._end_all()
        self.process.wait()

    def kill_python_only(self) -> None:
        """End the driver's program; its JVM notices by itself, and goes on for a moment."""
        self.process.kill()
        self.process.wait()

    def kill_worker(self, chance: random.Random) -> str:
        """End one of the processes that run Python for tasks, or the one that forks them."""
        workers = [each for each in self._descendants() if "pyspark.daemon" in _command_line(each)]
        if not workers:
            return "no worker was there"
        chance.choice(workers).kill()
        return f"one of {len(workers)} workers killed"

    def _descendants(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self.process.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def _end_all(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # all of them are gone


class PipelineRounds:
    """A broker and a job to which everything happens, and all that is known of the output."""

    def __init__(
        self,
        directory: Path,
        seed: int,
        report: Report,
        *,
        master: str = "local[2]",
        extra: dict[str, str] | None = None,
    ) -> None:
        self.report = report
        self.chance = random.Random(seed)
        self._data = directory / "data"
        self.broker = LiveBroker(self._data, settings=SETTINGS)
        self._port = self.broker.port
        with Admin(self.broker.bootstrap) as admin:
            for topic in (SOURCE, SINK):
                admin.create_topic(topic, partitions=PARTITIONS)
        self.feed = Events(self.broker.bootstrap, seed)
        self.reader = CommittedReader(self.broker.bootstrap, SINK, PARTITIONS)
        self.found: dict[tuple[int, str], tuple[int, int]] = {}
        command = [sys.executable, "-m", "tests.process.windowed_job", master, self.broker.bootstrap]
        self.job = Job([*command, SOURCE, SINK, str(directory / "checkpoint")], extra)

    def run(self, misfortunes: Sequence[Callable[[], str]]) -> None:
        """Go through a round for each; at the end everything is compared with the batch result."""
        try:
            self.job.await_start(CLOSED_SECONDS_MAX)
            for number, misfortune in enumerate(misfortunes):
                self._round(number, misfortune)
            self._compare()
        except BaseException:
            self.report("".join(self.job.output[-60:]))
            raise
        finally:
            self.job.kill()
            self.reader.close()
            if self.broker.process.poll() is None:
                self.broker.kill()

    def any_of(self, rounds: int) -> list[Callable[[], str]]:
        """Choose misfortunes by chance."""
        ways = (
            self.driver_dies,
            self.driver_dies_and_leaves_its_jvm,
            self.all_die,
            *[self.worker_dies] * 3,
            *[self.broker_dies] * 3,
        )
        return [self.chance.choice(ways) for _ in range(rounds)]

    # Misfortunes

    def driver_dies(self) -> str:
        self.job.kill()
        self.job.start()
        return "driver killed"

    def driver_dies_and_leaves_its_jvm(self) -> str:
        """A second driver runs the same batch while the JVM of the first has not noticed yet."""
        self.job.kill_python_only()
        before = self.job.process
        self.job.start()
        threading.Timer(20.0, _end_group, (before.pid,)).start()
        return "driver killed, its JVM left"

    def worker_dies(self) -> str:
        return self.job.kill_worker(self.chance)

    def broker_dies(self) -> str:
        self.broker.kill()
        away = self.chance.choice((0.0, 0.0, 0.5, 2.0))
        time.sleep(away)
        self.broker = LiveBroker(self._data, port=self._port, settings=SETTINGS)
        return f"broker killed, away for {away} s"

    def all_die(self) -> str:
        self.job.kill()
        self.broker_dies()
        self.job.start()
        return "everybody killed"

    # Watching

    def _round(self, number: int, misfortune: Callable[[], str]) -> None:
        began = time.monotonic()
        self.feed.start()
        self._watch_for(0.3 + self.chance.random())
        happened = misfortune()
        self._watch_for(0.3 * self.chance.random())
        self.feed.finish()
        deadline = time.monotonic() + CLOSED_SECONDS_MAX
        while missing := self._must_be_there() - set(self.found):
            assert time.monotonic() < deadline, f"{happened}: {len(missing)} windows are missing: {missing}"
            self._watch_for(0.1)
        self.report(
            f"round {number}: {happened}; {len(self.feed.written)} events, {len(self.found)} windows, "
            f"{time.monotonic() - began:.1f} s"
        )

    def _must_be_there(self) -> set[tuple[int, str]]:
        """Windows that the watermark has passed, whatever the last batch was."""
        watermark = max(event["at"] for event in self.feed.written) - DELAY_SECONDS
        return {
            (start, key)
            for start, key in batch_result(self.feed.written)
            if start + WINDOW_SECONDS < watermark - WINDOW_SECONDS
        }

    def _watch_for(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            for record in self.reader.read(min(left, 0.1)):
                self._check(json.loads(record.value))
            self.job.revive()

    def _check(self, window: dict[str, Any]) -> None:
        place = window["start"], window["key"]
        assert place not in self.found, f"{window} is there twice"
        self.found[place] = window["count"], window["amounts"]

    def _compare(self) -> None:
        """Close every window, and read everything once more from its start."""
        before = list(self.feed.written)
        self.feed.close_windows()
        expected = batch_result(before)
        deadline = time.monotonic() + CLOSED_SECONDS_MAX
        while set(self.found) < set(expected):
            assert time.monotonic() < deadline, f"missing: {set(expected) - set(self.found)}"
            self._watch_for(0.1)
        self.job.kill()
        read = [json.loads(each.value) for each in committed(self.broker.bootstrap, SINK, PARTITIONS)]
        assert len(read) == len(expected), "a window is there twice, or one that should not be"
        assert {(w["start"], w["key"]): (w["count"], w["amounts"]) for w in read} == expected
        self.broker.stop()
        self.report(
            f"{len(before)} events, {len(read)} windows: as in the batch result; "
            f"{self.job.starts} starts of the driver"
        )


def _command_line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def _end_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it has noticed
