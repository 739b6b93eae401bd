"""The tree decides without changing, and replays without deciding."""

from __future__ import annotations

import pytest

from riverlog.coordination import ANY_VERSION, Check, Create, Delete, Node, NotEmpty, Set
from riverlog.coordination.tree import Put, Remove, Tree


def tree(*paths: str) -> Tree:
    made = Tree()
    made.replay(made.decide([Create(path) for path in paths]))
    return made


def test_deciding_changes_nothing() -> None:
    subject = tree("/a", "/a/b")

    subject.decide([Create("/c"), Set("/a", b"x", 0), Delete("/a/b", 0), Delete("/a", 1)])

    assert subject.nodes == {"/": Node(b"", 0), "/a": Node(b"", 0), "/a/b": Node(b"", 0)}
    assert subject.children("/") == ["a"]
    assert subject.children("/a") == ["b"]


def test_changes_say_what_each_path_becomes() -> None:
    subject = tree("/a")

    changes = subject.decide(
        [Set("/a", b"1", 0), Check("/a", 1), Create("/b", b"2"), Delete("/a", ANY_VERSION)]
    )

    assert changes == [Put("/a", Node(b"1", 1)), Put("/b", Node(b"2", 0)), Remove("/a")]


def test_children_are_counted_across_the_operations_of_one_commit() -> None:
    subject = tree("/a", "/a/b")

    with pytest.raises(NotEmpty, match="has 1 children"):
        subject.decide([Create("/a/c"), Delete("/a/b", 0), Delete("/a", 0)])
    changes = subject.decide([Create("/a/c"), Delete("/a/b", 0), Delete("/a/c", 0), Delete("/a", 0)])

    assert changes[-1] == Remove("/a")


def test_replaying_removals_leaves_no_trace_of_the_children() -> None:
    subject = tree("/a", "/a/b")

    subject.replay([Remove("/a/b"), Remove("/a"), Put("/a", Node(b"", 0))])

    assert subject.children("/a") == []
    assert subject.children("/") == ["a"]


def test_removing_a_parent_first_is_a_bug_of_ours() -> None:
    subject = tree("/a", "/a/b")

    with pytest.raises(AssertionError, match="removed before its children"):
        subject.replay([Remove("/a")])
