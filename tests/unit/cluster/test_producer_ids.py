"""Producer ids are handed out once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from riverlog.cluster.producer_ids import BLOCK_SIZE, ProducerIds
from riverlog.cluster.stored_nodes import skeleton
from riverlog.coordination import Disk, LocalStore, VersionConflict
from riverlog.errors import StorageError


class BrokenDisk(Disk):
    is_broken = False

    def sync(self, descriptor: int) -> None:
        if self.is_broken:
            raise OSError(5, "broken")
        super().sync(descriptor)


@pytest.fixture
def disk() -> BrokenDisk:
    return BrokenDisk()


@pytest.fixture
def store(tmp_path: Path, disk: BrokenDisk) -> Iterator[LocalStore]:
    store = LocalStore(str(tmp_path / "journal"), disk=disk)
    store.commit(skeleton(0))
    yield store
    store.close()


def test_ids_rise_by_one_across_blocks(store: LocalStore) -> None:
    subject = ProducerIds(store)

    ids = [subject.next() for _ in range(2 * BLOCK_SIZE + 1)]

    assert ids == list(range(2 * BLOCK_SIZE + 1))


def test_after_a_restart_no_id_comes_again(store: LocalStore) -> None:
    before = [ProducerIds(store).next(), ProducerIds(store).next()]

    after = ProducerIds(store).next()

    assert [*before, after] == [0, BLOCK_SIZE, 2 * BLOCK_SIZE]


def test_no_id_is_handed_out_before_its_block_is_durable(store: LocalStore, disk: BrokenDisk) -> None:
    subject = ProducerIds(store)
    disk.is_broken = True

    with pytest.raises(StorageError):
        subject.next()

    disk.is_broken = False


def test_of_two_that_reserve_at_once_one_is_refused(store: LocalStore) -> None:
    class Racing(LocalStore):
        def __init__(self) -> None:
            self.rival = ProducerIds(store)

        def get(self, path: str):  # type: ignore[no-untyped-def]
            node = store.get(path)
            self.rival.next()
            return node

        def set(self, path: str, data: bytes, version: int) -> None:
            store.set(path, data, version)

    with pytest.raises(VersionConflict):
        ProducerIds(Racing()).next()
