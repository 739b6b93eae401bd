"""Kafka Streams' word count as a process that can be killed, and the one who feeds it.

feed ─▶ lines ─▶ WordCount.java ─▶ counts          in one transaction with its changelog and its offsets
"""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Sequence

from tests.feed import Feed

WORDS = [f"word-{number}" for number in range(20)]
LINE_PAUSE_SECONDS = 0.005
START_SECONDS_MAX = 60.0
RUNNING = "state RUNNING"

STREAMS = {
    "commit.interval.ms": "100",
    "num.stream.threads": "2",
    # a member that was killed is missed soon, and so is its transaction
    "session.timeout.ms": "1500",
    "heartbeat.interval.ms": "300",
    "producer.transaction.timeout.ms": "3000",
    # a broker that is killed is back at once
    "reconnect.backoff.max.ms": "200",
    "metadata.recovery.strategy": "none",
}


class Lines(Feed):
    """Writes lines of words, and counts the words."""

    def __init__(self, bootstrap: str, topic: str, seed: int) -> None:
        super().__init__(bootstrap, topic, pause_seconds=LINE_PAUSE_SECONDS)
        self.counts: Counter[str] = Counter()
        self._chance = random.Random(seed)

    def write(self) -> None:
        words = self._chance.choices(WORDS, k=self._chance.randint(1, 8))
        self.send(" ".join(words).encode())
        self.counts.update(words)


class WordCount:
    """An instance of the application. Ends with its `with` block, as a crash would end it."""

    def __init__(
        self, program: Sequence[str], bootstrap: str, topics: tuple[str, str], application: str, state: str
    ) -> None:
        settings = {**STREAMS, "application.id": application, "state.dir": state}
        self._output: list[str] = []
        self._is_running = threading.Event()
        self._command = [
            *program,
            bootstrap,
            *topics,
            *(f"{name}={value}" for name, value in settings.items()),
        ]
        self._start()

    def _start(self) -> None:
        self._is_running.clear()
        self.process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._output.append(line)
            # where pytest shows it with the test that was running
            print(line, end="", file=sys.stderr)
            if line.strip() == RUNNING:
                self._is_running.set()

    def await_running(self) -> None:
        """Wait until it has its partitions and its counts, and goes on."""
        assert self._is_running.wait(START_SECONDS_MAX), f"it does not run:\n{self.output()}"

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self.process.wait()
        self._reader.join(5)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def restart(self) -> None:
        """Kill it and start it again."""
        self.kill()
        self._start()
        self.await_running()

    def output(self) -> str:
        """All that it said."""
        return "".join(self._output)

    def __enter__(self) -> WordCount:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
