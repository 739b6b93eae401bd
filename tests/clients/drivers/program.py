"""A member of a group that is another program: it says on its standard output what it has read."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import ClassVar

from . import DEADLINE_S
from .member import Member, Place


class ProgramMember(Member):
    """A process that prints a line for each record that it has read."""

    line: ClassVar[re.Pattern[str]] = re.compile(r"(?P<partition>\d+) (?P<offset>\d+)\s*")

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self.lines: list[str] = []
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
        )
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line)
            if self._place(line) is None:
                # where pytest shows it with the test that was running
                print(line, end="", file=sys.stderr)

    def _place(self, line: str) -> Place | None:
        found = self.line.fullmatch(line)
        return None if found is None else Place(int(found["partition"]), int(found["offset"]))

    def read(self) -> list[Place]:
        assert self._process.poll() in (None, 0, 128 + signal.SIGTERM), "".join(self.lines[-50:])
        return [place for place in map(self._place, list(self.lines)) if place is not None]

    def tell(self, line: str) -> None:
        """Say something to it."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def leave(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(DEADLINE_S)
        finally:
            self._process.kill()
            self._thread.join(5)
            for stream in (self._process.stdin, self._process.stdout):
                assert stream is not None
                stream.close()
        self.read()
