"""An event loop for tests of coordinators: time passes when a test says so."""

from __future__ import annotations

import asyncio


class HandLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock is moved by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 1000.0

    def time(self) -> float:
        return self.seconds

    def turn(self, times: int = 5) -> None:
        """Run what is ready."""
        for _ in range(times):
            self.call_soon(self.stop)
            self.run_forever()

    def advance(self, ms: int) -> None:
        self.seconds += ms / 1000
        self.turn()
