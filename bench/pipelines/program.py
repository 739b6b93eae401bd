"""A contender as a program of its own: started, heard saying STARTED, measured, and ended by its pid."""

import os
import select
import subprocess
import tempfile
import time
from collections.abc import Sequence
from types import TracebackType

from bench.errors import LoadFailed
from bench.process import cpu_seconds, memory

STARTED = "STARTED"
"""What a program prints once it is set up and begins to work."""

START_SECONDS_MAX = 90.0
STOP_SECONDS_MAX = 20.0
SAID_CHARACTERS_MAX = 3000


class Program:
    """A process with all its children; ends with its `with` block."""

    def __init__(self, command: Sequence[str]) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # closed by __exit__
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._said
        )

    def await_start(self) -> None:
        """Wait until it says that it begins.

        Raises:
            LoadFailed: it ended before, or takes too long.
        """
        assert self._process.stdout is not None
        deadline = time.monotonic() + START_SECONDS_MAX
        heard = b""
        while STARTED.encode() not in heard:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            chunk = os.read(self._process.stdout.fileno(), 4096) if ready else b""
            if not chunk:
                raise LoadFailed(f"the program did not start:\n{heard.decode()}{self.said()}")
            heard += chunk

    def check(self) -> None:
        """Raise LoadFailed if it has ended."""
        if self._process.poll() is not None:
            raise LoadFailed(f"the program ended ({self._process.returncode}):\n{self.said()}")

    @property
    def cpu_seconds(self) -> float:
        """CPU that it and its children have used."""
        return cpu_seconds(self._process.pid)

    @property
    def memory_mb(self) -> float:
        """The peak of its memory, its children's included."""
        return memory(self._process.pid).peak_mb

    def said(self) -> str:
        """The end of what it wrote on standard error."""
        self._said.seek(0)
        return self._said.read().decode(errors="replace")[-SAID_CHARACTERS_MAX:]

    def __enter__(self) -> "Program":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._said.close()
