"""A helper process, seen from the broker: start it, give it a job, hear what became of it, end it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import riverlog
from riverlog.errors import CorruptBatch, StorageError
from riverlog.log.cleaning.job import CleaningAborted, Outcome, Replacement

if TYPE_CHECKING:
    from collections.abc import Callable

    from riverlog.log.cleaning.job import Job

MODULE = "riverlog.log.cleaning.helper"

LINE_BYTES_MAX = 64 * 1024 * 1024
"""One line from a helper: a replacement names all segments that it was made of."""

ABORTED, CORRUPT = "aborted", "corrupt"


class HelperDied(StorageError):
    """A helper ended before its work did: killed, or out of memory."""


class Helper(Protocol):
    """Whoever does jobs."""

    @property
    def is_alive(self) -> bool:
        """Whether it can be given a job."""
        ...

    async def run(self, job: Job, on_replacement: Callable[[Replacement], None]) -> Outcome:
        """Do a job. What `on_replacement` raises ends it.

        Raises CleaningAborted, CorruptBatch, HelperDied, StorageError.
        """
        ...

    def change_rate(self, bytes_per_second: float) -> None:
        """Read and write no more than this from now on."""
        ...

    async def stop(self) -> None:
        """End it, at work or not."""
        ...


class HelperProcess:
    """One helper process, and the job it has."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._job_number = 0

    @classmethod
    async def start(cls) -> HelperProcess:
        """Start one. Raises OSError."""
        # Found where this process found it, and without the current directory.
        path = os.pathsep.join(
            filter(None, (str(Path(riverlog.__file__).parents[1]), os.environ.get("PYTHONPATH")))
        )
        environment = {
            **os.environ,
            "PYTHONPATH": path,
            # numpy would start threads for algebra that nobody here does.
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }
        return cls(
            await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                MODULE,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env=environment,
                limit=LINE_BYTES_MAX,
            )
        )

    @property
    def is_alive(self) -> bool:
        """Whether it can be given a job."""
        stdin = self._process.stdin
        return self._process.returncode is None and stdin is not None and not stdin.is_closing()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    async def run(self, job: Job, on_replacement: Callable[[Replacement], None]) -> Outcome:
        """Do a job. What `on_replacement` raises ends it."""
        self._job_number += 1
        self._send(b"job %d " % self._job_number + job.encode())
        refused: Exception | None = None
        while True:
            message = await self._receive()
            if "replacement" in message:
                # After a refusal the helper is still at work until it hears of it.
                if refused is None:
                    replaced, size = message["replacement"]
                    try:
                        on_replacement(Replacement(tuple(replaced), size))
                    except Exception as error:
                        refused = error
                        self._send(b"abort %d\n" % self._job_number)
            elif refused is not None:
                raise refused
            elif "outcome" in message:
                return Outcome(*message["outcome"])
            elif message["failure"] == ABORTED:
                raise CleaningAborted(message["text"])
            elif message["failure"] == CORRUPT:
                raise CorruptBatch(message["text"])
            else:
                raise StorageError(message["text"])

    def change_rate(self, bytes_per_second: float) -> None:
        """Read and write no more than this from now on."""
        self._send(b"rate %r\n" % bytes_per_second)

    async def stop(self) -> None:
        """End it, at work or not."""
        if self._process.returncode is None:
            try:
                self._process.kill()
            except ProcessLookupError:
                pass
        await self._process.wait()

    def _send(self, line: bytes) -> None:
        assert self._process.stdin is not None, "it was started with a pipe"
        try:
            self._process.stdin.write(line)
        except (OSError, RuntimeError):
            # The pipe is closed, and event loops differ in how they say so. Reading finds out why.
            pass

    async def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None, "it was started with a pipe"
        line = await self._process.stdout.readline()
        if not line.endswith(b"\n"):
            code = await self._process.wait()
            raise HelperDied(f"the helper ended with {code} before its work did")
        message: dict[str, Any] = json.loads(line)
        return message
