"""Rounds of: start, work, die, be damaged, start again, keep every promise.

    start ▶ load for a moment ▶ kill -9 ▶ damage ▶ (start ▶ kill -9 while it recovers)* ▶ start ▶ check
                ▲                                                                           │
                └───────────────────────────────────────────────────────────────────────────┘

The choices follow from a seed; the moments at which threads and processes meet do not.
"""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.batch_builders import batch
from tests.live_broker import LiveBroker, command_line, environment
from tests.process.damage import damage_store, damage_tail
from tests.process.ledger import PartitionLedger
from tests.process.load import Churner, IdempotentWriter, PlainWriter, Reader, Worker
from tests.process.raw_client import RawClient

SETTINGS = {
    "log.segment.bytes": str(1 << 20),
    # Everything that happens now and then happens all the time.
    "log.retention.check.interval.ms": "300",
    "log.flush.offset.checkpoint.interval.ms": "200",
    "log.flush.start.offset.checkpoint.interval.ms": "200",
    "log.segment.delete.delay.ms": "500",
    "producer.id.expiration.check.interval.ms": "500",
}

Report = Callable[[str], None]


class CrashRounds:
    """A broker that dies again and again, and all that is known about what it promised."""

    def __init__(self, data: Path, seed: int, report: Report) -> None:
        self.data = data
        self.report = report
        self.chance = random.Random(seed)
        self.settings = SETTINGS
        self.broker = LiveBroker(data, settings=self.settings)
        self.port = self.broker.port
        self.starts_seconds: list[float] = []
        self._loads: list[float] = []
        self.ledgers = [
            *(PartitionLedger("plain", index) for index in range(4)),
            *(PartitionLedger("idempotent", index) for index in range(4)),
            *(PartitionLedger("short", index, loses_old_segments=True) for index in range(2)),
        ]
        with RawClient(self.broker.bootstrap) as client:
            client.create_topic("plain", 4)
            client.create_topic("idempotent", 4)
            # Old segments go all the time.
            client.create_topic("short", 2, retention_bytes=str(3 << 20))
        plain, idempotent, short = self.ledgers[:4], self.ledgers[4:8], self.ledgers[8:]
        self.churner = Churner("churn", seed, lambda: bytes(batch(1)))
        self.workers: list[Worker] = [
            PlainWriter("many-in-flight", plain, seed, 20),
            PlainWriter("one-in-flight", [*plain, *short], seed + 1, 1),
            IdempotentWriter("once-a", idempotent, seed + 2),
            IdempotentWriter("once-b", [*idempotent, *plain, *short], seed + 3),
            Reader("reader", self.ledgers),
            self.churner,
        ]

    def run(self, rounds: int) -> None:
        """Go through so many crashes; at the end everything ever acknowledged is read once more."""
        try:
            for number in range(rounds):
                self._round(number)
            self._end()
        finally:
            if self.broker.process.poll() is None:
                self.broker.kill()

    def _round(self, number: int) -> None:
        chance = self.chance
        for worker in self.workers:
            worker.start(self.broker.bootstrap)
        time.sleep(chance.choice((0.03, 0.1, 0.3, 0.3, 0.8)) * (0.5 + chance.random()))
        ends_in_order = chance.random() < 0.1
        if ends_in_order:
            self.broker.stop()
        else:
            self.broker.kill()
        for worker in self.workers:
            worker.finish()
        damaged = [] if ends_in_order else self._damage()
        for _ in range(chance.choice((0, 0, 0, 1, 2))):
            self._die_while_starting(chance.random() * 0.6)
            if chance.random() < 0.5 and damaged:
                damaged += self._damage()
        began = time.perf_counter()
        self.broker = LiveBroker(self.data, port=self.port, settings=self.settings)
        self.starts_seconds.append(time.perf_counter() - began)
        ends = sum(ledger.acknowledged_end for ledger in self.ledgers)
        self.report(
            f"round {number}: {'stopped' if ends_in_order else 'killed'}, {ends} records acknowledged, "
            f"up again in {self.starts_seconds[-1]:.2f} s; {' | '.join(damaged) or 'no damage'}"
        )
        self._check(retries_are_done=False)

    def _damage(self) -> list[str]:
        """In half of the rounds, lose what was not promised."""
        if self.chance.random() < 0.5:
            return []
        damaged = []
        for ledger in self.ledgers:
            if self.chance.random() < 0.6:
                directory = self.data / str(ledger)
                damaged.append(f"{ledger}: {damage_tail(directory, ledger.acknowledged_end, self.chance)}")
                ledger.forget_unpromised()
        if self.chance.random() < 0.3:
            damaged.append(damage_store(self.data / "riverlog.cluster", self.chance))
        return damaged

    def _die_while_starting(self, seconds: float) -> None:
        process = subprocess.Popen(
            command_line(self.data, port=self.port, settings=self.settings),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(),
        )
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        else:
            raise AssertionError(f"the broker ended by itself with {process.returncode}")

    def _check(self, *, retries_are_done: bool) -> None:
        assert "Traceback" not in self.broker.output(10_000), self.broker.output()
        with RawClient(self.broker.bootstrap) as client:
            for ledger in self.ledgers:
                ledger.check(client, retries_are_done=retries_are_done)
            self.churner.check(client)

    def _end(self) -> None:
        """Let the retrying writers finish, then read everything from the first offset on."""
        for worker in self.workers:
            worker.start(self.broker.bootstrap)
        for worker in self.workers:
            worker.finish()
        self._check(retries_are_done=True)
        with RawClient(self.broker.bootstrap) as client:
            for ledger in self.ledgers:
                ledger.check_from_the_start(client)
        self.broker.stop()
        assert "Traceback" not in self.broker.output(10_000), self.broker.output()
