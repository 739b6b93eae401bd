"""Whatever is committed, and wherever a crash ends the file: the store holds a prefix of the commits."""

from __future__ import annotations

import os
import tempfile
from contextlib import closing
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from riverlog.coordination import (
    ANY_VERSION,
    CoordinationError,
    Create,
    Delete,
    Disk,
    LocalStore,
    Node,
    Operation,
    Set,
)


class MemoryOfADisk(Disk):
    """Cutting the file is what a crash does here, so nothing needs to wait for the disk."""

    def sync(self, descriptor: int) -> None:
        pass


paths = st.sampled_from(["/a", "/b", "/a/x", "/a/y", "/a/x/deep"])
operations = st.one_of(
    st.builds(Create, paths, st.binary(max_size=20), st.just(False)),
    st.builds(Set, paths, st.binary(max_size=20), st.sampled_from([ANY_VERSION, 0, 1])),
    st.builds(Delete, paths, st.sampled_from([ANY_VERSION, 0, 1])),
)
commits = st.lists(st.lists(operations, min_size=1, max_size=4), max_size=12)


def commit_all(
    store: LocalStore, path: str, all_operations: list[list[Operation]]
) -> list[tuple[int, dict[str, Node]]]:
    """Commit what is accepted; returns the file's size and the tree after each commit, and at the start."""
    states = [(os.path.getsize(path), store.tree("/"))]
    for some in all_operations:
        try:
            store.commit(some)
        except CoordinationError:
            continue
        states.append((os.path.getsize(path), store.tree("/")))
    return states


# No deadlines: every example syncs files.
@settings(deadline=None)
@given(all_operations=commits, cut=st.floats(0, 1))
def test_a_file_cut_anywhere_holds_exactly_the_commits_before_the_cut(
    all_operations: list[list[Operation]], cut: float
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = str(Path(directory) / "journal")
        with closing(LocalStore(path, disk=MemoryOfADisk())) as store:
            states = commit_all(store, path, all_operations)
        length = int(cut * os.path.getsize(path))
        os.truncate(path, length)

        with closing(LocalStore(path)) as reopened:
            tree = reopened.tree("/")

        whole = [state for size, state in states if size <= length] or [states[0][1]]
        assert tree == whole[-1]


@settings(deadline=None)
@given(all_operations=commits)
def test_a_refused_commit_leaves_the_tree_as_it_was(all_operations: list[list[Operation]]) -> None:
    with (
        tempfile.TemporaryDirectory() as directory,
        closing(LocalStore(str(Path(directory) / "journal"), disk=MemoryOfADisk())) as store,
    ):
        for some in all_operations:
            before = store.tree("/")
            try:
                store.commit(some)
            except CoordinationError:
                assert store.tree("/") == before
