"""A broker for tests: `riverlog up` in a process of its own, on a free port, with data of its own.

    start ──▶ "listening on 127.0.0.1:40123" ──▶ tests ──▶ stop (in order) or kill (a crash)
                      ▲                                              │
                      └────────── start again: same port, same data ◀┘

The child holds the other end of a pipe. When the test program ends in any way, the pipe closes and the
child stops: no broker outlives its tests.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from riverlog.errors import RiverlogError

START_SECONDS_MAX = 30.0
"""A start takes a fraction of a second; a machine under heavy load may need more."""
STOP_SECONDS_MAX = 15.0
LOG_CHARACTERS_SHOWN = 4000

_READY = "listening on "
_SETTINGS = {
    # Nothing here has to survive the machine.
    "durability": "page-cache",
    # A group that waits for members who will not come costs each test seconds.
    "group.initial.rebalance.delay.ms": "0",
    # So does one that learns of its partitions with a heartbeat every five seconds.
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.assignment.interval.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}


class BrokerProcess:
    """A broker that runs; made by `broker()`."""

    def __init__(self, directory: Path, settings: Mapping[str, str]) -> None:
        self.data = directory / "data"
        """The directory of its logs, as `riverlog log dump` reads it."""
        self._log = directory / "broker.log"
        self._settings = dict(settings)
        self._address = ""
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """The address for clients, HOST:PORT; the same after a restart."""
        return self._address

    @property
    def process_id(self) -> int:
        """The id of the process; raises `RiverlogError` while none runs."""
        return self._running().pid

    def log(self) -> str:
        """What the broker has said so far, over all its starts."""
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def start(self) -> None:
        """Start on the same data, and on the same port as before; return once it serves."""
        if self._process is not None:
            raise RiverlogError(f"the broker at {self._address} is running already")
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=_environment()
            )
        try:
            self._address = self._await_address(self._process)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Stop in order, as Ctrl-C would; nothing happens if it does not run."""
        if self._process is not None:
            self._process.terminate()
            self._end(STOP_SECONDS_MAX)

    def kill(self) -> None:
        """End it at once, as a crash would; nothing happens if it does not run."""
        if self._process is not None:
            self._process.kill()
            self._end(None)

    def pause(self) -> None:
        """Let it hang: connections stay open and nothing is answered, until `resume`."""
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on after `pause`."""
        self._running().send_signal(signal.SIGCONT)

    def _command(self) -> list[str]:
        port = self._address.rpartition(":")[2] or "0"
        command = [sys.executable, "-P", "-m", "riverlog", "up", "--stop-at-eof"]
        command += ["--port", port, "--data", str(self.data)]
        for name, value in self._settings.items():
            command += ["--set", f"{name}={value}"]
        return command

    def _await_address(self, process: subprocess.Popen[bytes]) -> str:
        assert process.stdout is not None
        deadline = time.monotonic() + START_SECONDS_MAX
        said = b""
        while b"\n" not in said:
            ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(process.stdout.fileno(), 4096) if ready else b""
            if not chunk:
                why = "ended" if ready else f"did not serve within {START_SECONDS_MAX:g} s"
                raise RiverlogError(f"the broker {why}:\n{self.log()[-LOG_CHARACTERS_SHOWN:]}")
            said += chunk
        return said.decode().splitlines()[0].removeprefix(_READY).strip()

    def _end(self, patience: float | None) -> None:
        process, self._process = self._process, None
        assert process is not None
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise RiverlogError(
                f"the broker did not stop within {patience:g} s and was killed:\n"
                f"{self.log()[-LOG_CHARACTERS_SHOWN:]}"
            ) from None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RiverlogError("the broker does not run: it was stopped")
        return self._process


@contextmanager
def broker(**settings: object) -> Iterator[BrokerProcess]:
    """Run a broker for the time of a `with` block.

    Settings carry Kafka's names with `_` for `.`: `broker(num_partitions=3, log_segment_bytes=1 << 20)`. One
    that is not accepted raises `RiverlogError` with the broker's words. Differing from `riverlog up`, an
    acknowledgement does not wait for the disk (`durability="fsync"` restores that) and groups form at once.
    """
    texts = {name.replace("_", "."): _text(value) for name, value in settings.items()}
    with tempfile.TemporaryDirectory(prefix="riverlog-test-", ignore_cleanup_errors=True) as directory:
        running = BrokerProcess(Path(directory), {**_SETTINGS, **texts})
        running.start()
        try:
            yield running
        finally:
            running.stop()


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, set, frozenset)):
        return ",".join(map(str, value))
    return str(value)


def _environment() -> dict[str, str]:
    """Leave out what would change a broker: a developer's settings are not the test's."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RIVERLOG_")}
