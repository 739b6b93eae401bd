"""Work that is due from time to time: retention, rolls, checkpoints, deleted files, what expires, lag.

The log manager and the coordinators know what is due; here they are given slices of the event loop's time,
so that ten thousand partitions delay no request by more than a slice.
"""

from __future__ import annotations

import asyncio
import logging
import time
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker

INTERVAL_SECONDS = 1.0
SLICE_SECONDS = 0.002

logger = logging.getLogger("riverlog.broker.housekeeping")


class Housekeeping:
    """Runs the log manager's housekeeping in small slices, for as long as the broker runs."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin; the first round is one interval away."""
        self._task = self._broker.loop.create_task(self._run())

    async def stop(self) -> None:
        """End between two slices."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL_SECONDS)
            try:
                await self._round()
            except Exception:
                # The edge of a task: retention that fails today must be tried again tomorrow.
                logger.exception("housekeeping failed")

    async def _round(self) -> None:
        slice_ends = time.monotonic() + SLICE_SECONDS
        broker = self._broker
        work = chain(
            # First, since retention may be about to take what a group has not read.
            broker.lag.housekeeping(),
            broker.logs.housekeeping(broker.now_ms()),
            broker.groups.housekeeping(),
            broker.transactions.housekeeping(),
        )
        for _ in work:
            if time.monotonic() > slice_ends:
                await asyncio.sleep(0)
                slice_ends = time.monotonic() + SLICE_SECONDS
