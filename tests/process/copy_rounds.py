"""Rounds of: write, copy, let somebody die or freeze, and see each record copied once and in order.

    feed ─▶ source ─▶ copier ╮
                   ─▶ copier ┴─▶ sink ─▶ reader of committed data: 0, 1, 2, ... in each partition

    round: misfortunes at random moments while the feed writes ─▶ the copy equals the input ─▶ next round

The choices follow from a seed; the moments at which threads and processes meet do not.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from riverlog.client import Admin
from tests.committed_reader import Committed, CommittedReader, committed
from tests.feed import Numbers
from tests.live_broker import LiveBroker, environment

PARTITIONS = 4
SOURCE, SINK, GROUP = "source", "sink", "copiers"
ROUND_SECONDS_MAX = 60.0
RECORD_PAUSE_SECONDS = 0.002
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "300",
    "transaction.state.log.num.partitions": "3",
    "offsets.topic.num.partitions": "3",
}

Report = Callable[[str], None]


class CopierProcess:
    """A copier that is started again when it ends."""

    def __init__(self, command: Sequence[str], name: str, seed: int) -> None:
        self._command = command
        self._chance = random.Random(seed)
        self.name = name
        self.ends = 0
        """How often it has given up by itself."""
        self.process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        command = [*self._command, self.name, str(self._chance.randrange(1 << 32))]
        return subprocess.Popen(command, env=environment())

    def revive(self) -> None:
        """Start it again if it has ended."""
        if self.process.poll() is not None:
            self.ends += 1
            assert self.process.returncode == 1, f"{self.name} ended with {self.process.returncode}"
            self.process = self._started()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        """Kill it, and start its successor."""
        self.kill()
        self.process = self._started()

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)


class CopyRounds:
    """A broker and two copiers to which everything happens, and all that is known of their work."""

    def __init__(self, data: Path, seed: int, report: Report, program: str = "tests.process.copier") -> None:
        self.report = report
        self.chance = random.Random(seed)
        self._data = data
        self.broker = LiveBroker(data, settings=SETTINGS)
        self._port = self.broker.port
        with Admin(self.broker.bootstrap) as admin:
            for topic in (SOURCE, SINK):
                admin.create_topic(topic, partitions=PARTITIONS)
        self.feed = Numbers(self.broker.bootstrap, SOURCE, PARTITIONS, pause_seconds=RECORD_PAUSE_SECONDS)
        self.reader = CommittedReader(self.broker.bootstrap, SINK, PARTITIONS)
        self.copied = [0] * PARTITIONS
        command = [sys.executable, "-m", program, self.broker.bootstrap, SOURCE, SINK, GROUP]
        self.copiers = [CopierProcess(command, f"copier-{index}", seed + index) for index in range(2)]

    def run(self, rounds: int) -> None:
        """Go through so many rounds; at the end everything is read once more."""
        try:
            for number in range(rounds):
                self._round(number)
            self._end()
        finally:
            for copier in self.copiers:
                copier.kill()
            self.reader.close()
            if self.broker.process.poll() is None:
                self.broker.kill()

    def _round(self, number: int) -> None:
        began = time.monotonic()
        self.feed.start()
        happened = []
        for _ in range(self.chance.randint(1, 3)):
            self._watch_for(self.chance.choice((0.0, 0.1, 0.3, 0.8)) * (0.5 + self.chance.random()))
            misfortune = self.chance.choice(
                (self._broker_dies, self._broker_dies, self._copier_dies, self._copier_freezes, self._all_die)
            )
            happened.append(misfortune())
        self.feed.finish()
        deadline = time.monotonic() + ROUND_SECONDS_MAX
        while self.copied != self.feed.counts:
            assert time.monotonic() < deadline, f"{self.copied} of {self.feed.counts} were copied"
            self._watch_for(0.1)
        assert "Traceback" not in self.broker.output(10_000), self.broker.output()
        self.report(
            f"round {number}: {', '.join(happened)}; {sum(self.copied)} records copied, "
            f"{time.monotonic() - began:.1f} s"
        )

    def _watch_for(self, seconds: float) -> None:
        """Check what is copied, and keep copiers running."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            for record in self.reader.read(min(left, 0.1)):
                self._check(record)
            for copier in self.copiers:
                copier.revive()

    def _check(self, record: Committed) -> None:
        expected = self.copied[record.partition]
        assert int(record.value) == expected, f"{record} is where {expected} should be"
        self.copied[record.partition] += 1

    # Misfortunes

    def _broker_dies(self) -> str:
        self.broker.kill()
        away = self.chance.choice((0.0, 0.0, 0.5, 2.0))
        time.sleep(away)
        self.broker = LiveBroker(self._data, port=self._port, settings=SETTINGS)
        return f"broker killed, away for {away} s"

    def _copier_dies(self) -> str:
        copier = self.chance.choice(self.copiers)
        copier.restart()
        return f"{copier.name} killed"

    def _copier_freezes(self) -> str:
        """It is taken for dead, comes back, and does not know that its partitions are somebody else's."""
        copier = self.chance.choice(self.copiers)
        seconds = 0.5 + 3 * self.chance.random()
        copier.freeze()
        self._watch_for(seconds)
        copier.thaw()
        return f"{copier.name} frozen for {seconds:.1f} s"

    def _all_die(self) -> str:
        for copier in self.copiers:
            copier.kill()
        self._broker_dies()
        for copier in self.copiers:
            copier.restart()
        return "everybody killed"

    def _end(self) -> None:
        for copier in self.copiers:
            copier.kill()
        bootstrap = self.broker.bootstrap
        found: list[list[int]] = [[] for _ in range(PARTITIONS)]
        for record in committed(bootstrap, SINK, PARTITIONS):
            found[record.partition].append(int(record.value))
        assert found == [list(range(count)) for count in self.feed.counts]
        self.broker.stop()
        assert "Traceback" not in self.broker.output(10_000), self.broker.output()
