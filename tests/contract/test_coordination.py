"""What every `Coordination` store promises, run over each implementation.

An implementation joins by a `Stores` in `IMPLEMENTATIONS`: how to open a store, and how to open it again
after the process that had it is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from riverlog.coordination import (
    ANY_VERSION,
    TRANSACTION_BYTES_MAX,
    Check,
    Coordination,
    CoordinationError,
    Create,
    Delete,
    IllegalNode,
    LocalStore,
    Node,
    NodeExists,
    NoNode,
    NotEmpty,
    Operation,
    Set,
    VersionConflict,
)


class Stores:
    """Opens one store, again and again, as processes that follow one another would."""

    def __init__(self, open_store: Callable[[], Coordination]) -> None:
        self._open = open_store
        self._current: Coordination | None = None

    def open(self) -> Coordination:
        self.close()
        self._current = self._open()
        return self._current

    def close(self) -> None:
        if self._current is not None:
            self._current.close()
            self._current = None


def local_stores(directory: Path) -> Stores:
    return Stores(lambda: LocalStore(str(directory / "cluster.journal")))


IMPLEMENTATIONS = {"local": local_stores}


@pytest.fixture(params=list(IMPLEMENTATIONS))
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Stores]:
    stores = IMPLEMENTATIONS[request.param](tmp_path)
    yield stores
    stores.close()


@pytest.fixture
def store(stores: Stores) -> Coordination:
    return stores.open()


def test_a_created_node_has_its_bytes_and_version_zero(store: Coordination) -> None:
    store.create("/topics", b"some bytes")

    node = store.get("/topics")

    assert node == Node(b"some bytes", version=0, is_ephemeral=False)


def test_a_node_that_nobody_created_is_none(store: Coordination) -> None:
    store.create("/topics")

    nodes = [store.get(path) for path in ("/nothing", "/topics/nothing", "/top")]

    assert nodes == [None, None, None]


def test_each_set_raises_the_version_by_one(store: Coordination) -> None:
    store.create("/counter", b"0")

    store.set("/counter", b"1", 0)
    store.set("/counter", b"2", 1)

    assert store.get("/counter") == Node(b"2", 2)


def test_any_version_sets_and_deletes_whatever_is_there(store: Coordination) -> None:
    store.create("/a", b"first")
    store.set("/a", b"second", 0)

    store.set("/a", b"third", ANY_VERSION)
    version = store.get("/a")
    store.delete("/a", ANY_VERSION)

    assert version == Node(b"third", 2)
    assert store.get("/a") is None


def test_a_node_created_again_starts_at_version_zero(store: Coordination) -> None:
    store.create("/a")
    store.set("/a", b"x", 0)
    store.delete("/a", 1)

    store.create("/a", b"again")

    assert store.get("/a") == Node(b"again", 0)


def test_children_are_named_in_order_without_grandchildren(store: Coordination) -> None:
    for path in ("/topics", "/topics/b", "/topics/a", "/topics/a/0", "/topics2"):
        store.create(path)

    assert store.children("/topics") == ["a", "b"]
    assert store.children("/") == ["topics", "topics2"]
    assert store.children("/topics/b") == []
    assert store.children("/nothing") == []


def test_a_tree_lists_parents_before_their_children(store: Coordination) -> None:
    for path in ("/topics", "/topics/b", "/topics/a", "/topics/a/0", "/other"):
        store.create(path, path.encode())

    tree = store.tree("/topics")

    assert list(tree) == ["/topics", "/topics/a", "/topics/a/0", "/topics/b"]
    assert tree["/topics/a/0"] == Node(b"/topics/a/0", 0)
    assert store.tree("/nothing") == {}


REFUSALS: list[tuple[str, list[Operation], type[CoordinationError]]] = [
    ("create what exists", [Create("/a")], NodeExists),
    ("create without a parent", [Create("/x/y")], NoNode),
    ("create below an ephemeral node", [Create("/alive/child")], IllegalNode),
    ("create the root", [Create("/")], NodeExists),
    ("set what is not there", [Set("/x", b"", ANY_VERSION)], NoNode),
    ("set an outdated version", [Set("/a", b"", 0)], VersionConflict),
    ("set a version to come", [Set("/a", b"", 2)], VersionConflict),
    ("delete what is not there", [Delete("/x", ANY_VERSION)], NoNode),
    ("delete an outdated version", [Delete("/a/b", 7)], VersionConflict),
    ("delete a parent", [Delete("/a", ANY_VERSION)], NotEmpty),
    ("check what is not there", [Check("/x", ANY_VERSION)], NoNode),
    ("check an outdated version", [Check("/a", 0)], VersionConflict),
    ("create the same path twice", [Create("/x"), Create("/x")], NodeExists),
    ("set what was just deleted", [Delete("/a/b", 0), Set("/a/b", b"", ANY_VERSION)], NoNode),
    (
        "delete a parent after a child was added",
        [Delete("/a/b", 0), Create("/a/c"), Delete("/a", 1)],
        NotEmpty,
    ),
    ("name without a leading slash", [Create("x")], IllegalNode),
    ("name with an empty part", [Create("/a//x")], IllegalNode),
    ("name with a trailing slash", [Create("/x/")], IllegalNode),
    ("name with a dot for a part", [Create("/a/.")], IllegalNode),
    ("name with dots for a part", [Create("/a/../x")], IllegalNode),
    ("name with a zero character", [Create("/a\0")], IllegalNode),
    ("name that is too long", [Create("/" + "x" * 1001)], IllegalNode),
    ("write too much at once", [Create("/x", bytes(TRANSACTION_BYTES_MAX))], IllegalNode),
]


@pytest.mark.parametrize(
    ("operations", "error"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS]
)
def test_a_refused_commit_changes_nothing(
    stores: Stores, operations: list[Operation], error: type[CoordinationError]
) -> None:
    store = stores.open()
    store.commit(
        [Create("/a"), Set("/a", b"kept", 0), Create("/a/b"), Create("/alive", b"", is_ephemeral=True)]
    )
    before = store.tree("/")

    with pytest.raises(error):
        store.commit([Create("/first"), *operations])

    assert store.tree("/") == before
    assert stores.open().tree("/").keys() == before.keys() - {"/alive"}


def test_a_commit_does_its_operations_in_order(store: Coordination) -> None:
    store.create("/old")

    store.commit(
        [
            Create("/new"),
            Create("/new/child", b"1"),
            Set("/new/child", b"2", 0),
            Check("/new/child", 1),
            Delete("/old", 0),
            Create("/old", b"replaced"),
        ]
    )

    assert store.get("/new/child") == Node(b"2", 1)
    assert store.get("/old") == Node(b"replaced", 0)


def test_a_commit_can_empty_and_remove_a_parent(store: Coordination) -> None:
    store.commit([Create("/a"), Create("/a/b"), Create("/a/c")])

    store.commit([Delete("/a/b", 0), Delete("/a/c", 0), Delete("/a", 0)])

    assert store.children("/") == []


def test_what_was_committed_is_there_after_reopening(stores: Stores) -> None:
    store = stores.open()
    store.commit([Create("/a", b"1"), Create("/b"), Create("/b/ä ö", "ü".encode())])
    store.set("/a", b"2", 0)
    store.commit([Create("/gone"), Delete("/gone", 0)])
    before = store.tree("/")

    after = stores.open().tree("/")

    assert after == before
    assert after["/a"] == Node(b"2", 1)


def test_ephemeral_nodes_end_with_the_session(stores: Stores) -> None:
    store = stores.open()
    store.create("/brokers")
    store.create("/brokers/1", b"alive", is_ephemeral=True)
    store.set("/brokers/1", b"moved", 0)
    while_open = store.get("/brokers/1")

    reopened = stores.open()

    assert while_open == Node(b"moved", 1, is_ephemeral=True)
    assert reopened.children("/brokers") == []
    reopened.create("/brokers/1", b"back", is_ephemeral=True)


def test_ephemeral_and_durable_nodes_can_change_places_in_one_commit(stores: Stores) -> None:
    store = stores.open()
    store.commit([Create("/was-ephemeral", b"", is_ephemeral=True), Create("/was-durable")])

    store.commit(
        [
            Delete("/was-ephemeral", 0),
            Create("/was-ephemeral", b"stays"),
            Delete("/was-durable", 0),
            Create("/was-durable", b"goes", is_ephemeral=True),
            Create("/blink", b"", is_ephemeral=True),
            Delete("/blink", 0),
        ]
    )

    assert stores.open().tree("/").keys() == {"/", "/was-ephemeral"}


def test_a_watcher_is_told_each_changed_path_at_or_below_its_own_in_order(store: Coordination) -> None:
    store.commit([Create("/topics"), Create("/topics2")])
    told: list[str] = []
    store.watch("/topics", told.append)

    store.commit([Create("/topics/a"), Create("/topics/a/0"), Create("/topics2/b")])
    store.set("/topics", b"x", 0)
    store.delete("/topics/a/0", 0)

    assert told == ["/topics/a", "/topics/a/0", "/topics", "/topics/a/0"]


def test_a_watcher_sees_the_state_after_the_commit(store: Coordination) -> None:
    seen: list[Node | None] = []
    store.watch("/a", lambda path: seen.append(store.get(path)))

    store.commit([Create("/a", b"1"), Set("/a", b"2", 0)])

    assert seen == [Node(b"2", 1), Node(b"2", 1)]


def test_a_watcher_is_not_told_of_refused_commits(store: Coordination) -> None:
    told: list[str] = []
    store.watch("/", told.append)

    with pytest.raises(NoNode):
        store.commit([Create("/a"), Delete("/nothing", 0)])

    assert told == []


def test_an_ended_watch_is_told_nothing_more_and_others_go_on(store: Coordination) -> None:
    told: list[str] = []
    others: list[str] = []
    end = store.watch("/", told.append)
    store.watch("/", others.append)
    store.create("/a")

    end()
    end()
    store.create("/b")

    assert told == ["/a"]
    assert others == ["/a", "/b"]


def test_a_watcher_that_commits_does_not_mix_up_the_order(store: Coordination) -> None:
    told: list[str] = []

    def follow(path: str) -> None:
        if path == "/a":
            store.create("/follows-a")

    store.watch("/", follow)
    store.watch("/", told.append)

    store.commit([Create("/a"), Create("/b")])

    assert told == ["/a", "/b", "/follows-a"]


def test_a_watcher_that_fails_neither_fails_the_commit_nor_the_other_watchers(
    store: Coordination, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[str] = []

    def fail(path: str) -> None:
        raise ValueError("a bug in a watcher")

    store.watch("/", fail)
    store.watch("/", told.append)

    store.create("/a")

    assert told == ["/a"]
    assert store.get("/a") == Node(b"", 0)
    assert "a bug in a watcher" in caplog.text
