"""Where an app's checkpoints lie, what they were made by, and who uses them now.

    STATE/shop/clicks-per-minute/v2/
        checkpoint/       Spark's own
        contract.json     what the checkpoint rests on
        limits.json       how far the query may read at present; absent: as far as there is
        lock              held by the process that runs it, which has written its host and number into it

A file is written aside and renamed into place. The lock is the kernel's: it ends with its process, however
that ends.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from riverlog.errors import RiverlogError
from riverlog.pipelines.jobs.checkpoint import Progress, progress
from riverlog.pipelines.jobs.contract import Contract, contract_from_json

DEFAULT = "riverlog-state"


class QueryIsRunning(RiverlogError):
    """Another process uses the state of this query."""


class VersionState:
    """The directory of one version of a query."""

    def __init__(self, root: str | Path, app: str, query: str, version: int) -> None:
        self.directory = Path(root).resolve() / app / query / f"v{version}"
        self.title = f"{app}/{query} v{version}"

    @property
    def checkpoint(self) -> Path:
        """Where Spark keeps its own."""
        return self.directory / "checkpoint"

    @property
    def limits(self) -> Path:
        """The file that says how far the query may read."""
        return self.directory / "limits.json"

    @property
    def exists(self) -> bool:
        """Whether this version was ever started from here."""
        return (self.directory / "contract.json").exists() or self.checkpoint.exists()

    def progress(self) -> Progress:
        """How far it has come."""
        return progress(self.checkpoint)

    def contract(self) -> Contract | None:
        """What its checkpoint was made by; None where nothing was kept. Raises `RiverlogError`."""
        path = self.directory / "contract.json"
        try:
            return contract_from_json(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise RiverlogError(
                f"{path} cannot be read ({error}): was it made by another riverlog?"
            ) from None

    def keep_contract(self, contract: Contract) -> None:
        """Write down what the checkpoint is made by from now on."""
        self._write("contract.json", contract.to_json())

    def limit(self, limits: Mapping[str, Any] | None) -> None:
        """Let the query read no further than this (see `limits`); None: as far as there is."""
        if limits is None:
            self.limits.unlink(missing_ok=True)
        else:
            self._write(self.limits.name, limits)

    def remove(self) -> None:
        """Delete all of it."""
        shutil.rmtree(self.directory, ignore_errors=False)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from using this state; raise `QueryIsRunning` naming the one that does."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with open(self.directory / "lock", "a+", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                raise QueryIsRunning(
                    f"{self.title} runs already, {lock.read().strip() or 'in another process'}, on the "
                    "state in "
                    f"{self.directory}: stop that first, or give another --state"
                ) from None
            lock.truncate(0)
            lock.write(f"as process {os.getpid()} on {socket.gethostname()}\n")
            lock.flush()
            yield

    def _write(self, name: str, value: Mapping[str, Any]) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        aside = self.directory / f"{name}.new"
        aside.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        aside.replace(self.directory / name)


def versions(root: str | Path, app: str, query: str) -> list[int]:
    """List the versions of a query that have state, oldest first."""
    directory = Path(root) / app / query
    names = [each.name for each in directory.glob("v*")] if directory.is_dir() else []
    numbers = sorted(int(name[1:]) for name in names if name[1:].isdigit())
    return [number for number in numbers if VersionState(root, app, query, number).exists]
