"""`riverlog up` as its users start it: the installed command, in a process of its own.

start --> "listening on HOST:PORT" --> (tests) --> SIGTERM --> exit code 0
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

START_SECONDS_MAX = 30.0
STOP_SECONDS_MAX = 30.0
READY = "listening on "
EXECUTABLE = str(Path(sys.executable).with_name("riverlog"))


def command_line(data: Path | None, *, port: int = 0, settings: Mapping[str, str] | None = None) -> list[str]:
    """Give the command that starts a broker; without `data`, the settings say where the logs are."""
    command = [EXECUTABLE, "up", "--port", str(port)]
    if data is not None:
        command += ["--data", str(data)]
    for name, value in (settings or {}).items():
        command += ["--set", f"{name}={value}"]
    return command


def environment() -> dict[str, str]:
    """Give the tests' environment without settings of riverlog: a developer's are not the test's."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RIVERLOG_")}


class LiveBroker:
    """A running broker on `data`; ends with its `with` block, and complains if it did not end well."""

    def __init__(
        self,
        data: Path | None,
        *,
        port: int = 0,
        settings: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
        start_seconds_max: float = START_SECONDS_MAX,
    ) -> None:
        """Start it and wait until it serves. `prefix` is a command that becomes the broker."""
        self._output: list[str] = []
        self._ready = threading.Event()
        self.bootstrap = ""
        self.process = subprocess.Popen(
            [*prefix, *command_line(data, port=port, settings=settings)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(),
        )
        self._reader = threading.Thread(target=self._read_output, daemon=True)
        self._reader.start()
        if not self._ready.wait(start_seconds_max) or not self.bootstrap:
            self.kill()
            raise AssertionError(f"riverlog did not come up:\n{self.output()}")

    def _read_output(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._output.append(line)
            # where pytest shows it with the test that was running
            print(line, end="", file=sys.stderr)
            if READY in line and not self.bootstrap:
                self.bootstrap = line.split(READY, 1)[1].split()[0]
                self._ready.set()
        self._ready.set()  # it ended: waiting for more is pointless

    def output(self, lines: int = 200) -> str:
        """The end of what the process printed."""
        return "".join(self._output[-lines:])

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.bootstrap.rpartition(":")[2])

    def memory(self) -> int:
        """The process's resident memory now, in bytes (Linux)."""
        return self._status_kilobytes("VmRSS") * 1024

    def memory_peak(self) -> int:
        """The largest resident memory it ever had, in bytes (Linux)."""
        return self._status_kilobytes("VmHWM") * 1024

    def _status_kilobytes(self, name: str) -> int:
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1])
        raise AssertionError(f"the process has no {name}: it is gone")

    def stop(self) -> None:
        """Ask it to end, and see it end cleanly in bounded time."""
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(
                f"riverlog ignored SIGTERM for {STOP_SECONDS_MAX} s:\n{self.output()}"
            ) from None
        self._finish()
        assert code == 0, f"riverlog ended with exit code {code}:\n{self.output()}"

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self.process.wait()
        self._finish()

    def _finish(self) -> None:
        self._reader.join(5)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def __enter__(self) -> LiveBroker:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.stop()
