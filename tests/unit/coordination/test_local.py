"""What the file-backed store promises beyond the contract of all stores."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from riverlog.coordination import CorruptJournal, Create, Disk, LocalStore, Node
from riverlog.coordination.journal import Journal
from riverlog.coordination.local import REWRITE_BYTES_MIN, decode_changes, encode_changes, is_at_or_below
from riverlog.coordination.tree import Change, Put, Remove
from riverlog.errors import StorageError


class FailingDisk(Disk):
    """A disk on which the named calls fail for as long as they are named."""

    def __init__(self) -> None:
        self.failing: set[str] = set()

    def write(self, descriptor: int, data: bytes) -> int:
        if "write" in self.failing:
            raise OSError(errno.EIO, "write failed")
        return super().write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        if "sync" in self.failing:
            raise OSError(errno.EIO, "sync failed")
        super().sync(descriptor)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "cluster.journal")


def test_a_second_store_on_the_same_file_is_refused_by_name(path: str) -> None:
    store = LocalStore(path)

    with pytest.raises(StorageError, match=rf"in use by process {os.getpid()} .*cluster\.journal\.lock"):
        LocalStore(path)

    store.close()
    LocalStore(path).close()


def test_a_store_that_fails_to_open_lets_go_of_the_lock(path: str) -> None:
    Path(path).write_bytes(b"not a journal")

    with pytest.raises(CorruptJournal):
        LocalStore(path)
    with pytest.raises(CorruptJournal):
        LocalStore(path)

    os.unlink(path)
    LocalStore(path).close()


@pytest.mark.parametrize("call", ["write", "sync"])
def test_a_commit_that_cannot_be_written_did_not_happen(path: str, call: str) -> None:
    disk = FailingDisk()
    store = LocalStore(path, disk=disk)
    store.create("/a", b"kept")
    told: list[str] = []
    store.watch("/", told.append)
    disk.failing = {call}

    with pytest.raises(StorageError):
        store.commit([Create("/b"), Create("/c")])

    assert store.children("/") == ["a"]
    assert told == []
    store.close()
    reopened = LocalStore(path)
    assert reopened.children("/") == ["a"]
    reopened.close()


def test_ephemeral_nodes_need_no_disk(path: str) -> None:
    disk = FailingDisk()
    store = LocalStore(path, disk=disk)
    disk.failing = {"write", "sync"}

    store.create("/alive", b"here", is_ephemeral=True)

    assert store.get("/alive") == Node(b"here", 0, is_ephemeral=True)
    store.close()


def test_a_journal_of_outdated_entries_is_rewritten_and_says_the_same(path: str) -> None:
    store = LocalStore(path)
    store.commit([Create("/a"), Create("/a/b", b"untouched")])
    store.create("/alive", b"", is_ephemeral=True)
    value = bytes(10_000)
    sizes = []

    for version in range(3 * REWRITE_BYTES_MIN // len(value)):
        store.set("/a", value, version)
        sizes.append(os.path.getsize(path))
    before = store.tree("/a")
    store.close()

    assert max(sizes) <= REWRITE_BYTES_MIN + 2 * len(value)
    reopened = LocalStore(path)
    assert reopened.tree("/a") == before
    assert reopened.children("/") == ["a"]
    reopened.close()


def test_a_large_state_is_rewritten_in_entries_of_moderate_size(path: str) -> None:
    store = LocalStore(path)
    value = bytes(100_000)
    for number in range(11):
        store.create(f"/node{number:02}", value)
    for version in range(50):
        store.set("/node00", value, version)
    store.close()

    journal = Journal(path)
    journal.close()

    assert max(map(len, journal.entries)) < 500_000
    reopened = LocalStore(path)
    assert len(reopened.children("/")) == 11
    assert reopened.get("/node00") == Node(value, 50)
    reopened.close()


def test_a_rewriting_that_fails_is_no_harm(path: str, caplog: pytest.LogCaptureFixture) -> None:
    class DiskWithoutRoomForASecondFile(Disk):
        descriptors: set[int]

        def write(self, descriptor: int, data: bytes) -> int:
            if descriptor not in self.descriptors:
                raise OSError(errno.ENOSPC, "no space")
            return super().write(descriptor, data)

    disk = DiskWithoutRoomForASecondFile()
    disk.descriptors = set(range(1000))
    store = LocalStore(path, disk=disk)
    disk.descriptors = {store._journal._descriptor}
    store.create("/a")

    for version in range(15):
        store.set("/a", bytes(100_000), version)

    assert "the journal stays as long as it is" in caplog.text
    assert store.get("/a") == Node(bytes(100_000), 15)
    store.close()
    reopened = LocalStore(path)
    assert reopened.get("/a") == Node(bytes(100_000), 15)
    reopened.close()


def test_changes_read_back_as_written() -> None:
    changes: list[Change] = [Put("/a", Node(b"data", 3)), Remove("/ü"), Put("/empty", Node(b"", 0))]

    payload = encode_changes(changes)

    assert decode_changes(payload, "journal") == changes


@pytest.mark.parametrize("cut", [1, 5, 9, 12])
def test_an_entry_that_is_not_made_of_changes_is_refused(cut: int) -> None:
    payload = encode_changes([Put("/a", Node(b"data", 3))])

    with pytest.raises(CorruptJournal):
        decode_changes(payload[:-cut], "journal")


@pytest.mark.parametrize(
    ("path_", "top", "expected"),
    [
        ("/a", "/", True),
        ("/a", "/a", True),
        ("/a/b/c", "/a", True),
        ("/ab", "/a", False),
        ("/a", "/a/b", False),
        ("/", "/a", False),
    ],
)
def test_a_path_is_below_another_by_whole_names(path_: str, top: str, expected: bool) -> None:
    assert is_at_or_below(path_, top) is expected
