"""A tree of versioned nodes in memory: decides commits, and replays what was decided.

    operations ──decide──▶ changes ──(journal)──▶ replay ──▶ nodes
                                    start-up ──▶ replay ──▶ nodes

`decide` looks and changes nothing; `replay` is the only mutator, for a commit and for a journal alike.
Pure: knows no file and no clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from riverlog.coordination.interface import (
    ANY_VERSION,
    Create,
    Delete,
    IllegalNode,
    Node,
    NodeExists,
    NoNode,
    NotEmpty,
    Operation,
    Set,
    VersionConflict,
    parent_path,
)


class Put(NamedTuple):
    """A path now has this node."""

    path: str
    node: Node


class Remove(NamedTuple):
    """A path has no node any more."""

    path: str


Change: TypeAlias = Put | Remove


class Tree:
    """The nodes, and which children each has."""

    __slots__ = ("_children", "nodes")

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {"/": Node(b"", 0)}
        self._children: dict[str, set[str]] = {}

    def children(self, path: str) -> list[str]:
        """Name a node's children, sorted."""
        return sorted(self._children.get(path, ()))

    def decide(self, operations: Sequence[Operation]) -> list[Change]:
        """Turn operations into changes, or raise the first one's refusal. Changes nothing."""
        draft = _Draft(self)
        return [change for operation in operations if (change := draft.decide(operation)) is not None]

    def replay(self, changes: Iterable[Change]) -> None:
        """Make the changes, which `decide` found possible."""
        nodes, children = self.nodes, self._children
        for change in changes:
            path = change.path
            if isinstance(change, Put):
                if path not in nodes:
                    parent, _, name = path.rpartition("/")
                    children.setdefault(parent or "/", set()).add(name)
                nodes[path] = change.node
            else:
                assert not children.get(path), f"{path} is removed before its children"
                del nodes[path]
                children.pop(path, None)
                parent, _, name = path.rpartition("/")
                children[parent or "/"].discard(name)

    def child_count(self, path: str) -> int:
        """Count a node's children."""
        return len(self._children.get(path, ()))


class _Draft:
    """The tree as the operations decided so far would leave it."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._changed: dict[str, Node | None] = {}
        self._child_counts: dict[str, int] = {}

    def decide(self, operation: Operation) -> Change | None:
        if isinstance(operation, Create):
            return self._decide_create(operation)
        node = self._node(operation.path)
        if node is None:
            raise NoNode(operation.path, "no such node")
        if operation.version not in (ANY_VERSION, node.version):
            raise VersionConflict(operation.path, f"has version {node.version}, not {operation.version}")
        if isinstance(operation, Set):
            return self._put(operation.path, node._replace(data=operation.data, version=node.version + 1))
        if isinstance(operation, Delete):
            return self._decide_delete(operation)
        return None

    def _decide_create(self, operation: Create) -> Change:
        if self._node(operation.path) is not None:
            raise NodeExists(operation.path, "exists already")
        parent = parent_path(operation.path)
        parent_node = self._node(parent)
        if parent_node is None:
            raise NoNode(operation.path, "its parent does not exist")
        if parent_node.is_ephemeral:
            raise IllegalNode(operation.path, "its parent is ephemeral")
        self._child_counts[parent] = self._child_count(parent) + 1
        return self._put(operation.path, Node(operation.data, 0, operation.is_ephemeral))

    def _decide_delete(self, operation: Delete) -> Change:
        path = operation.path
        if path == "/":
            raise IllegalNode(path, "the root stays")
        if self._child_count(path):
            raise NotEmpty(path, f"has {self._child_count(path)} children")
        parent = parent_path(path)
        self._child_counts[parent] = self._child_count(parent) - 1
        self._changed[path] = None
        return Remove(path)

    def _put(self, path: str, node: Node) -> Change:
        self._changed[path] = node
        return Put(path, node)

    def _node(self, path: str) -> Node | None:
        return self._changed[path] if path in self._changed else self._tree.nodes.get(path)

    def _child_count(self, path: str) -> int:
        count = self._child_counts.get(path)
        return self._tree.child_count(path) if count is None else count
