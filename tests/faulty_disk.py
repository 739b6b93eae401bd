"""Disks for tests: one that fails where it is told to, and one whose machine loses power."""

from __future__ import annotations

import errno
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from riverlog.log.disk import Disk

CALLS_THAT_CAN_FAIL = (
    "open",
    "pwrite",
    "pread",
    "preadv",
    "ftruncate",
    "fdatasync",
    "sync_directory",
    "syncfs",
    "rename",
    "unlink",
    "listdir",
    "list_directories",
    "make_directory",
    "remove_directory",
    "size",
    "free_bytes",
)


@dataclass
class Fault:
    """Which calls fail, and how."""

    call: str
    path_part: str
    number: int
    skip: int
    times: int

    def strikes(self, call: str, path: str) -> bool:
        """Say whether this call is one that fails."""
        if call != self.call or self.path_part not in path or not self.times:
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True


class FaultyDisk(Disk):
    """The real disk, but calls can be made to fail, writes to come out short, and all are counted."""

    def __init__(self, *, has_syncfs: bool = False) -> None:
        self.faults: list[Fault] = []
        self.calls: Counter[str] = Counter()
        self.short_writes: list[int] = []
        self.free: int | None = None
        self._has_syncfs = has_syncfs
        self._paths: dict[int, str] = {}
        for call in CALLS_THAT_CAN_FAIL:
            setattr(self, call, self._watched(call, getattr(Disk, call)))

    def fail(
        self,
        call: str,
        number: int = errno.EIO,
        *,
        path: str = "",
        skip: int = 0,
        times: int = 1_000_000,
    ) -> Fault:
        """Let a call fail with an error number, for paths that contain `path`, after `skip` good ones."""
        fault = Fault(call, path, number, skip, times)
        self.faults.append(fault)
        return fault

    def heal(self) -> None:
        """Let everything work again."""
        self.faults.clear()

    def can_syncfs(self) -> bool:
        return self._has_syncfs and super().can_syncfs()

    def _watched(self, call: str, original: Any) -> Callable[..., Any]:
        is_static = isinstance(Disk.__dict__[call], staticmethod)

        def watched(*args: Any) -> Any:
            self.calls[call] += 1
            path = self._paths.get(args[0], "") if isinstance(args[0], int) else args[0]
            for fault in self.faults:
                if fault.strikes(call, path):
                    raise OSError(fault.number, os.strerror(fault.number), path)
            if call == "pwrite" and self.short_writes:
                args = (args[0], bytes(args[1])[: self.short_writes.pop(0)], args[2])
            if call == "free_bytes" and self.free is not None:
                return self.free
            result = original(*args) if is_static else original(self, *args)
            if call == "open":
                self._paths[result] = path
            return result

        return watched


class PowerLossDisk(FaultyDisk):
    """Knows what was synced, so that a test can take away what was not.

    What survives a loss of power: the synced part of every file, and any part of the rest; and of
    the names that changed since a directory was synced, the earlier changes rather than the later.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(has_syncfs=False)
        self._root = root
        self._synced: dict[str, bytes] = {}
        # What undoes each change of a name since the last sync of its directory, oldest first.
        self._undo: list[tuple[str, Callable[[], None]]] = []
        for call in ("open", "fdatasync", "sync_directory", "rename", "unlink"):
            setattr(self, call, self._remembered(call, getattr(self, call)))

    def lose_power(self, chance: random.Random) -> None:
        """Do to the files what a loss of power does."""
        kept = chance.randint(0, len(self._undo))
        for _directory, undo in reversed(self._undo[kept:]):
            undo()
        self._undo.clear()
        for path in self._files():
            self._damage(path, chance)
        self._synced = {str(path): path.read_bytes() for path in self._files()}

    def _files(self) -> Iterator[Path]:
        return (path for path in sorted(self._root.rglob("*")) if path.is_file() and path.name != ".lock")

    def _damage(self, path: Path, chance: random.Random) -> None:
        present = path.read_bytes()
        synced = self._synced.get(str(path), b"")
        if present == synced:
            return
        if present.startswith(synced):
            end = chance.randint(len(synced), len(present))
            tail = present[len(synced) : end]
            spoiled = chance.choice((tail, tail, bytes(len(tail)), chance.randbytes(len(tail))))
            path.write_bytes(synced + spoiled)
        else:
            path.write_bytes(chance.choice((synced, present)))

    def _remembered(self, call: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def remembered(*args: Any) -> Any:
            if call == "unlink":
                self._note_unlink(args[0])
            if call == "rename":
                self._note_rename(*args)
            is_new = call == "open" and args[1] & os.O_CREAT and not os.path.exists(args[0])
            result = original(*args)
            if is_new:
                self._undo.append((os.path.dirname(args[0]), lambda: Path(args[0]).unlink(missing_ok=True)))
            if call == "fdatasync":
                path = self._paths[args[0]]
                self._synced[path] = Path(path).read_bytes()
            if call == "sync_directory":
                self._undo = [each for each in self._undo if each[0] != args[0]]
            return result

        return remembered

    def _note_rename(self, old: str, new: str) -> None:
        before = Path(new).read_bytes() if os.path.isfile(new) else None
        synced_before = self._synced.get(new)
        moved = self._synced.pop(old, None)
        if moved is not None:
            self._synced[new] = moved
        else:
            self._synced.pop(new, None)

        def undo() -> None:
            if os.path.isdir(new) or not os.path.exists(new):
                return
            Path(new).rename(old)
            if moved is not None:
                self._synced[old] = moved
            if before is not None:
                Path(new).write_bytes(before)
                self._synced[new] = synced_before if synced_before is not None else before

        self._undo.append((os.path.dirname(new), undo))

    def _note_unlink(self, path: str) -> None:
        if not os.path.exists(path):
            return
        content = Path(path).read_bytes()
        self._undo.append((os.path.dirname(path), lambda: _write_again(path, content)))


def _write_again(path: str, content: bytes) -> None:
    if os.path.isdir(os.path.dirname(path)) and not os.path.exists(path):
        Path(path).write_bytes(content)
