"""The store of one machine: a tree in memory, with a journal file behind it.

    PATH        the journal: one entry per commit, rewritten as a snapshot once mostly outdated
    PATH.lock   held while the store is open, so that a second process is refused by name

    entry   := change*
    change  := version int32 | path length int16 | data length int32 | path utf-8 | data
               data length -1: the node was removed (version and data are then absent in meaning)

A commit is decided on the tree, written and synced, and only then replayed into the tree: a crash
before the sync leaves the old state, after it the new one. A commit whose write fails did not happen.
Ephemeral nodes are of this process: they are never written, and end with it.
"""

from __future__ import annotations

import fcntl
import logging
import os
import struct
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from riverlog.coordination.interface import (
    Coordination,
    Node,
    Operation,
    Watcher,
    check_operations,
    check_path,
)
from riverlog.coordination.journal import CorruptJournal, Disk, Journal
from riverlog.coordination.tree import Change, Put, Remove, Tree
from riverlog.errors import StorageError

REWRITE_BYTES_MIN = 1 << 20
REWRITE_RATIO = 4
"""The journal is rewritten once it is this many times as large as right after its last rewriting."""

SNAPSHOT_ENTRY_BYTES = 256 << 10

_CHANGE = struct.Struct(">ihi")

_log = logging.getLogger(__name__)


class LocalStore(Coordination):
    """A `Coordination` store in one file, for one process."""

    def __init__(self, path: str, *, disk: Disk | None = None) -> None:
        self.path = path
        self._lock = _take_lock(path + ".lock")
        try:
            self._journal = Journal(path, disk)
        except BaseException:
            os.close(self._lock)
            raise
        self._tree = Tree()
        for entry in self._journal.entries:
            self._tree.replay(decode_changes(entry, path))
        self._journal.entries.clear()
        self._rewrite_at = max(REWRITE_BYTES_MIN, REWRITE_RATIO * self._live_bytes())
        self._watchers: list[tuple[str, Watcher]] = []
        self._news: deque[str] = deque()
        self._is_telling = False

    def get(self, path: str) -> Node | None:
        """Return the node at a path, or None."""
        return self._tree.nodes.get(path)

    def children(self, path: str) -> list[str]:
        """Name a node's children, sorted."""
        return self._tree.children(path)

    def commit(self, operations: Sequence[Operation]) -> None:
        """Do all operations in order, or none. A `StorageError` means: none."""
        check_operations(operations)
        changes = self._tree.decide(operations)
        durable = list(self._durable(changes))
        if durable:
            self._journal.append(encode_changes(durable))
        self._tree.replay(changes)
        if self._journal.size > self._rewrite_at:
            self._rewrite()
        self._news.extend(change.path for change in changes)
        self._tell()

    def watch(self, path: str, watcher: Watcher) -> Callable[[], None]:
        """Call the watcher with each changed path at or below this one; returns what ends the watch."""
        check_path(path)
        watch = (path, watcher)
        self._watchers.append(watch)

        def end() -> None:
            # By identity: a watcher may watch the same path twice.
            self._watchers = [other for other in self._watchers if other is not watch]

        return end

    def close(self) -> None:
        """Close the files and let go of the lock. Closing twice is allowed."""
        self._watchers.clear()
        self._journal.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _durable(self, changes: Iterable[Change]) -> Iterator[Change]:
        """Leave out ephemeral nodes, those that come and go within these changes too."""
        is_ephemeral: dict[str, bool] = {}
        for change in changes:
            path = change.path
            if isinstance(change, Put):
                is_ephemeral[path] = change.node.is_ephemeral
                if not change.node.is_ephemeral:
                    yield change
            elif not is_ephemeral.pop(path, path in self._tree.nodes and self._tree.nodes[path].is_ephemeral):
                yield change

    def _rewrite(self) -> None:
        """Replace the journal by a snapshot. Failing is no harm: the longer journal says the same."""
        try:
            self._journal.replace(self._snapshot())
        except StorageError:
            _log.exception("the journal stays as long as it is")
        self._rewrite_at = max(REWRITE_BYTES_MIN, REWRITE_RATIO * self._journal.size)

    def _snapshot(self) -> Iterator[bytes]:
        """Encode all durable nodes, parents first, in entries of moderate size."""
        batch: list[Change] = []
        size = 0
        for path in sorted(self._tree.nodes):
            node = self._tree.nodes[path]
            if node.is_ephemeral:
                continue
            batch.append(Put(path, node))
            size += len(path) + len(node.data)
            if size >= SNAPSHOT_ENTRY_BYTES:
                yield encode_changes(batch)
                batch, size = [], 0
        if batch:
            yield encode_changes(batch)

    def _live_bytes(self) -> int:
        return sum(len(path) + len(node.data) + _CHANGE.size for path, node in self._tree.nodes.items())

    def _tell(self) -> None:
        """Tell the watchers. One that commits adds to the news, which keeps the order of commits."""
        if self._is_telling:
            return
        self._is_telling = True
        try:
            while self._news:
                changed = self._news.popleft()
                for watched, watcher in list(self._watchers):
                    if is_at_or_below(changed, watched):
                        try:
                            watcher(changed)
                        except Exception:
                            # The commit has happened: its caller must not take a watcher's bug for a refusal.
                            _log.exception("a watcher of %s failed on %s", watched, changed)
        finally:
            self._is_telling = False


def is_at_or_below(path: str, top: str) -> bool:
    """`/a/b` is at or below `/a/b`, `/a` and `/`, and not below `/a/bc` or `/a/b/c`."""
    return path == top or top == "/" or path.startswith(top + "/")


def encode_changes(changes: Iterable[Change]) -> bytes:
    """Write changes as an entry's payload."""
    pieces = []
    for change in changes:
        path = change.path.encode()
        if isinstance(change, Put):
            node = change.node
            pieces += [_CHANGE.pack(node.version, len(path), len(node.data)), path, node.data]
        else:
            pieces += [_CHANGE.pack(0, len(path), -1), path]
    return b"".join(pieces)


def decode_changes(payload: bytes, path: str) -> list[Change]:
    """Read an entry's payload. Raises `CorruptJournal` where it is not made of changes."""
    changes: list[Change] = []
    position = 0
    try:
        while position < len(payload):
            version, path_length, data_length = _CHANGE.unpack_from(payload, position)
            start = position + _CHANGE.size
            end = start + path_length
            name = payload[start:end].decode()
            position = end + max(data_length, 0)
            if data_length >= 0:
                changes.append(Put(name, Node(payload[end:position], version)))
            else:
                changes.append(Remove(name))
    except (struct.error, UnicodeDecodeError) as error:
        raise CorruptJournal("entry is not made of changes", path=path, position=position) from error
    if position != len(payload):
        raise CorruptJournal("entry ends inside a change", path=path, position=position)
    return changes


def _take_lock(path: str) -> int:
    """Take the lock file and write our process id into it, for whoever finds it taken."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
        os.close(descriptor)
        who = f"process {holder}" if holder.isdigit() else "another process"
        raise StorageError(f"{os.path.dirname(path) or '.'} is in use by {who}", path=path) from error
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor
