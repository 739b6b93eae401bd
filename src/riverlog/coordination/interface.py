"""The interface behind which a cluster keeps what it has decided: a tree of small, versioned nodes.

    /                     a node has a path, some bytes and a version; a path's parent must exist
    ├── topics            version 0 when created, one more with each set
    │   └── orders        durable: there until it is deleted
    └── brokers/1         ephemeral: gone when the session of whoever created it ends, has no children

Rules that every implementation keeps, and `tests/contract/test_coordination.py` checks:

- `commit` takes several operations and does all of them, in order, or none. When it returns, what it
  did is durable; what its refusal or failure leaves behind is the state before.
- `Set`, `Delete` and `Check` name the version they were decided on: a decision on an outdated reading
  is refused (`VersionConflict`), so two deciders cannot both win.
- A store has one owner: its calls come from one thread. A watch's callback may come on another thread,
  so it only hands the news over. It runs after the commit that it tells of, once per changed path, in
  the order of the commits; it names what changed and not how, since by then more may have changed.
- The limits are those of the strictest implementation, Apache ZooKeeper, so that no state grows here
  that could not move there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from riverlog.errors import RiverlogError

ANY_VERSION = -1
"""Set or delete whatever version is there: for a node with a single writer."""

TRANSACTION_BYTES_MAX = 1_000_000
"""Paths and data of one commit together; ZooKeeper takes frames of just under 1 MiB."""

PATH_BYTES_MAX = 1_000


class Node(NamedTuple):
    """What is stored at a path."""

    data: bytes
    version: int
    is_ephemeral: bool = False


class Create(NamedTuple):
    """Make a node where there is none."""

    path: str
    data: bytes = b""
    is_ephemeral: bool = False


class Set(NamedTuple):
    """Replace a node's bytes, if it still has this version."""

    path: str
    data: bytes
    version: int


class Delete(NamedTuple):
    """Remove a node without children, if it still has this version."""

    path: str
    version: int


class Check(NamedTuple):
    """Change nothing, but refuse the commit unless the node still has this version."""

    path: str
    version: int


Operation: TypeAlias = Create | Set | Delete | Check
Watcher: TypeAlias = Callable[[str], None]


class CoordinationError(RiverlogError):
    """A commit that was refused: nothing of it was done."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")
        self.path = path


class NoNode(CoordinationError):
    """There is no node at the path, or at its parent."""


class NodeExists(CoordinationError):
    """There already is a node at the path."""


class VersionConflict(CoordinationError):
    """The node has changed since it was read."""


class NotEmpty(CoordinationError):
    """The node has children."""


class IllegalNode(CoordinationError):
    """A path, a size or a parent that no store takes: our own mistake."""


class Coordination(ABC):
    """A store of versioned nodes. See the module for the rules."""

    @abstractmethod
    def get(self, path: str) -> Node | None:
        """Return the node at a path, or None."""

    @abstractmethod
    def children(self, path: str) -> list[str]:
        """Name a node's children, sorted; none where there is no such node."""

    @abstractmethod
    def commit(self, operations: Sequence[Operation]) -> None:
        """Do all operations in order, or none: raises a `CoordinationError` and changes nothing.

        Raises `StorageError` where the store cannot be written; whether the commit then took place
        is known only where the implementation says so.
        """

    @abstractmethod
    def watch(self, path: str, watcher: Watcher) -> Callable[[], None]:
        """Call the watcher with each changed path at or below this one; returns what ends the watch.

        A call with the watched path itself may also mean that news was missed: read everything again.
        """

    @abstractmethod
    def close(self) -> None:
        """End the session: ephemeral nodes go, watches end, files are closed."""

    def tree(self, path: str) -> dict[str, Node]:
        """Read a node and all below it, parents before their children; empty where there is none."""
        found: dict[str, Node] = {}
        pending = [path]
        while pending:
            at = pending.pop()
            node = self.get(at)
            if node is not None:
                found[at] = node
                pending.extend(child_path(at, name) for name in reversed(self.children(at)))
        return found

    def create(self, path: str, data: bytes = b"", *, is_ephemeral: bool = False) -> None:
        """Make a node where there is none."""
        self.commit([Create(path, data, is_ephemeral)])

    def set(self, path: str, data: bytes, version: int) -> None:
        """Replace a node's bytes, if it still has this version."""
        self.commit([Set(path, data, version)])

    def delete(self, path: str, version: int) -> None:
        """Remove a node without children, if it still has this version."""
        self.commit([Delete(path, version)])


def parent_path(path: str) -> str:
    """`/topics/orders` -> `/topics`; the parent of `/topics` is `/`."""
    return path[: path.rindex("/")] or "/"


def child_path(path: str, name: str) -> str:
    """Name a child of a node: `/topics`, `orders` -> `/topics/orders`."""
    return f"/{name}" if path == "/" else f"{path}/{name}"


def operation_bytes(operation: Operation) -> int:
    """Say how much of a commit's size limit an operation takes."""
    size = len(operation.path.encode()) + 64
    if isinstance(operation, Create | Set):
        size += len(operation.data)
    return size


def check_operations(operations: Sequence[Operation]) -> None:
    """Refuse what no store takes: malformed paths, and commits over the size limit."""
    total = 0
    for operation in operations:
        check_path(operation.path)
        total += operation_bytes(operation)
        if total > TRANSACTION_BYTES_MAX:
            raise IllegalNode(operation.path, f"commit of over {TRANSACTION_BYTES_MAX} bytes")


def check_path(path: str) -> None:
    """Refuse a path that is not `/` and names joined by `/`; `.` and `..` are no names."""
    if path == "/":
        return
    names = path.split("/")
    if names[0] or any(name in ("", ".", "..") for name in names[1:]) or "\0" in path:
        raise IllegalNode(path, "not a path of names")
    if len(path.encode()) > PATH_BYTES_MAX:
        raise IllegalNode(path, f"path of over {PATH_BYTES_MAX} bytes")
