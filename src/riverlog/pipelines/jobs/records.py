"""What the topic `riverlog-pipelines` says: pure, from its records to what is known, and back.

    status SHOP/CLICKS v1      what a query does: state, rates, lag, last error
    command SHOP/CLICKS        what it was last asked to do; a whole app is asked as SHOP
    pointer CLICKS-PER-MINUTE  which version of an output readers follow, and from where

Keys are texts like these and values JSON objects; the topic is compacted, so it holds the last of each. A
record without value takes away what was said. What this version does not understand it passes over: a newer
one may share the topic.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar

from riverlog.pipelines.jobs.pointers import Pointer

TOPIC = "riverlog-pipelines"
STALE_INTERVALS = 4
STALE_MS_MIN = 15_000

STARTING, RUNNING, STOPPED, FINISHED, FAILED = "starting", "running", "stopped", "finished", "failed"
ALIVE = frozenset({STARTING, RUNNING})


@dataclass(frozen=True, slots=True)
class Status:
    """What one version of a query does, as it says itself; times are milliseconds since 1970."""

    app: str
    query: str
    version: int
    state: str
    output: str = ""
    batch: int = -1
    rows_in: int = 0
    rows_in_per_second: float = 0.0
    rows_out: int | None = None
    rows_out_per_second: float | None = None
    lag: Mapping[str, int] = field(default_factory=dict)
    late_rows: int = 0
    bad_rows: int = 0
    watermark: str = ""
    batch_ms: int = 0
    error: str = ""
    host: str = ""
    process: int = 0
    interval_ms: int = 0
    started_ms: int = 0
    updated_ms: int = 0
    obeyed: str = ""

    @property
    def name(self) -> str:
        """The query and its app, as commands take them."""
        return f"{self.app}/{self.query}"

    @property
    def key(self) -> str:
        """The key of the record."""
        return f"status {self.name} v{self.version}"

    def is_silent(self, now_ms: int) -> bool:
        """Say whether it claims to be alive and has not said so for too long."""
        patience = max(STALE_MS_MIN, STALE_INTERVALS * self.interval_ms)
        return self.state in ALIVE and now_ms - self.updated_ms > patience

    def shown_state(self, now_ms: int) -> str:
        """Its state, or `lost` where nothing has been heard of it."""
        return "lost" if self.is_silent(now_ms) else self.state


@dataclass(frozen=True, slots=True)
class Command:
    """Something that is asked of a running app, or of one of its queries (`query` is empty for all)."""

    id: str
    app: str
    query: str
    action: str
    asked_ms: int

    @property
    def key(self) -> str:
        """The key of the record."""
        return f"command {self.app}/{self.query}" if self.query else f"command {self.app}"

    def is_for(self, app: str, query: str) -> bool:
        """Say whether this query is to obey it."""
        return self.app == app and self.query in ("", query)


@dataclass(slots=True)
class Known:
    """All that the topic says; `replay` is the only way it changes."""

    statuses: dict[str, Status] = field(default_factory=dict)
    commands: dict[str, Command] = field(default_factory=dict)
    pointers: dict[str, Pointer] = field(default_factory=dict)

    def replay(self, key: bytes | None, value: bytes | None) -> None:
        """Take in one record of the topic, in the order of their offsets."""
        text = (key or b"").decode(errors="replace")
        kind, _, _ = text.partition(" ")
        tables: dict[str, dict[str, Any]] = {
            "status": self.statuses,
            "command": self.commands,
            "pointer": self.pointers,
        }
        table = tables.get(kind)
        if table is None:
            return
        made = None if value is None else _READERS[kind](value)
        if made is None:
            table.pop(text, None)
        else:
            table[text] = made

    def status(self, app: str, query: str, version: int) -> Status | None:
        """What a version of a query last said."""
        return self.statuses.get(f"status {app}/{query} v{version}")

    def pointer(self, output: str) -> Pointer | None:
        """Which version of an output readers follow; None where nothing was ever published."""
        return self.pointers.get(f"pointer {output}")

    def of_app(self, app: str, query: str = "") -> list[Status]:
        """What the queries of an app last said, or one of them, oldest version first."""
        found = [each for each in self.statuses.values() if each.app == app and query in ("", each.query)]
        return sorted(found, key=lambda each: (each.query, each.version))


_Made = TypeVar("_Made", Status, Command)


def encode(record: Status | Command) -> tuple[bytes, bytes]:
    """Give key and value of a record."""
    return record.key.encode(), _json(asdict(record))


def encode_pointer(pointer: Pointer) -> tuple[bytes, bytes]:
    """Give key and value of a pointer's record."""
    return f"pointer {pointer.output}".encode(), _json(pointer.to_json())


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _object(value: bytes) -> dict[str, Any] | None:
    try:
        read = json.loads(value)
    except ValueError:
        return None
    return read if isinstance(read, dict) else None


def _status(value: bytes) -> Status | None:
    return _made(Status, value)


def _command(value: bytes) -> Command | None:
    return _made(Command, value)


def _pointer(value: bytes) -> Pointer | None:
    read = _object(value)
    try:
        return None if read is None else Pointer.from_json(read)
    except (KeyError, TypeError, ValueError):
        return None


def _made(kind: type[_Made], value: bytes) -> _Made | None:
    """Make a record of those fields that this version knows."""
    read = _object(value)
    names = {each.name for each in fields(kind)}
    try:
        return None if read is None else kind(**{name: each for name, each in read.items() if name in names})
    except TypeError:
        return None


_READERS = {"status": _status, "command": _command, "pointer": _pointer}
