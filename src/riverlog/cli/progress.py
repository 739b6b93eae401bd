"""One line on a terminal that says how far long work has come.

Nothing is shown where stderr is not a terminal, nor in the first second: short work stays quiet. The line is
rewritten in place and cleared before anything else is said.
"""

from __future__ import annotations

import sys
import time
from typing import TextIO

from riverlog.cli.table import size

QUIET_SECONDS = 1.0
REFRESH_SECONDS = 0.2


class Progress:
    """Count records and bytes; show them now and then."""

    def __init__(self, noun: str = "records", *, stream: TextIO | None = None, is_shown: bool = True) -> None:
        self.count = 0
        self.byte_count = 0
        self._noun = noun
        self._stream = sys.stderr if stream is None else stream
        self._is_shown = is_shown and self._stream.isatty()
        self._started_at = time.monotonic()
        self._next_at = self._started_at + QUIET_SECONDS
        self._width = 0

    def advance(self, count: int, byte_count: int) -> None:
        """Add to the counts."""
        self.count += count
        self.byte_count += byte_count
        if self._is_shown:
            now = time.monotonic()
            if now >= self._next_at:
                self._next_at = now + REFRESH_SECONDS
                self._write(f"{self.count:,} {self._noun}, {self.pace()}")

    def pace(self) -> str:
        """Say how many bytes came in what time, and how many records a second."""
        seconds = max(time.monotonic() - self._started_at, 1e-3)
        return f"{size(self.byte_count)} in {seconds:.1f} s, {self.count / seconds:,.0f}/s"

    def clear(self) -> None:
        """Take the line away."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0

    def _write(self, text: str) -> None:
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)
