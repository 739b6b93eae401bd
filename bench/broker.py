"""A broker process under measurement: started, waited for, stopped by its pid.

`Broker` is what rows see. `peer.KafkaBroker` and `subject.RiverlogBroker` say how each is started.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType

from bench.connection import Client
from bench.errors import BrokerFailed, Unanswered

START_SECONDS_MAX = 60.0
STOP_SECONDS_MAX = 30.0
RETRY_SECONDS = 0.005

COMMON_SETTINGS = {"log.segment.delete.delay.ms": "1000"}
"""Given to every broker: a topic that a turn has deleted frees its files soon, so that the next turn does not
pay for writing them to the disk."""


def free_port() -> int:
    """Return a TCP port on the loopback address that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def scratch_directory() -> Path:
    """Return a new directory on a real disk: `/var/tmp` outlives a reboot, so it is no memory file system."""
    parent = os.environ.get("TMPDIR") or ("/var/tmp" if os.path.isdir("/var/tmp") else None)
    return Path(tempfile.mkdtemp(prefix="riverlog-bench-", dir=parent))


class Broker(ABC):
    """One broker with a data directory of its own.

    Used as a context manager it leaves neither process nor directory behind.
    """

    name: str

    def __init__(self) -> None:
        self.directory = scratch_directory()
        self.data = self.directory / "data"
        self.output = self.directory / "output"
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """Return the command line that runs the broker in the foreground."""

    def prepare(self) -> None:  # noqa: B027 -- most brokers need nothing
        """Make the data directory ready for a first start (not part of any measured start)."""

    @property
    def pid(self) -> int:
        """The pid of the running broker."""
        assert self._process is not None
        return self._process.pid

    def spawn(self) -> None:
        """Start the process and return at once, before it serves."""
        assert self._process is None
        with open(self.output, "ab") as output:
            self._process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )

    def start(self) -> None:
        """Start the process and wait until it lists itself in Metadata."""
        self.spawn()
        self.wait_until_serving()

    def wait_until_serving(self, seconds_max: float = START_SECONDS_MAX) -> None:
        """Ask for Metadata every few milliseconds until the broker lists itself.

        Raises:
            BrokerFailed: it ended, or the time is up.
        """
        deadline = time.monotonic() + seconds_max
        while time.monotonic() < deadline:
            self.check_alive()
            try:
                with Client(self.port) as client:
                    if client.metadata([]).broker_count > 0:
                        return
            except (OSError, Unanswered):
                pass  # not listening yet
            time.sleep(RETRY_SECONDS)
        raise BrokerFailed(f"{self.name} does not serve after {seconds_max:.0f} s\n{self._last_output()}")

    def check_alive(self) -> None:
        """Raise BrokerFailed if the process has ended."""
        if self._process is None or self._process.poll() is not None:
            code = "never started" if self._process is None else f"exit code {self._process.returncode}"
            raise BrokerFailed(f"{self.name} has ended ({code})\n{self._last_output()}")

    def stop(self) -> None:
        """Ask the process to end (SIGTERM) and wait; end it by force if it takes too long."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise BrokerFailed(f"{self.name} ignored SIGTERM for {STOP_SECONDS_MAX:.0f} s") from None

    def kill(self) -> None:
        """End the process as a crash would (SIGKILL)."""
        process, self._process = self._process, None
        assert process is not None
        process.kill()
        process.wait()

    def __enter__(self) -> "Broker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _last_output(self) -> str:
        try:
            return self.output.read_text(errors="replace")[-3000:]
        except FileNotFoundError:
            return ""
