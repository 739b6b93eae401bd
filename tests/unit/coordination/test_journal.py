"""The journal's own promises: what is in the file after a crash at any byte, or a failing disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from riverlog.coordination.journal import MAGIC, CorruptJournal, Disk, Journal
from riverlog.errors import DiskFull, StorageError


class FaultyDisk(Disk):
    """A disk whose next writes or syncs fail, or that writes a few bytes at a time."""

    def __init__(self) -> None:
        self.write_errors: list[int] = []
        self.sync_errors: list[int] = []
        self.bytes_per_write = 1 << 30
        self.fails_after: int | None = None

    def write(self, descriptor: int, data: bytes) -> int:
        if self.fails_after is not None:
            written = os.write(descriptor, data[: self.fails_after])
            self.fails_after -= written
            if written == 0:
                self.fails_after = None
                raise OSError(errno.ENOSPC, "no space")
            return written
        if self.write_errors:
            raise OSError(self.write_errors.pop(0), "write failed")
        return super().write(descriptor, data[: self.bytes_per_write])

    def sync(self, descriptor: int) -> None:
        if self.sync_errors:
            raise OSError(self.sync_errors.pop(0), "sync failed")
        super().sync(descriptor)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "journal")


def written(path: str, *payloads: bytes) -> bytes:
    """Write a journal and return its file's content."""
    journal = Journal(path)
    for payload in payloads:
        journal.append(payload)
    journal.close()
    return Path(path).read_bytes()


def entries(path: str) -> list[bytes]:
    journal = Journal(path)
    journal.close()
    return journal.entries


def test_entries_come_back_in_order(path: str) -> None:
    written(path, b"one", b"two", b"three" * 1000)

    found = entries(path)

    assert found == [b"one", b"two", b"three" * 1000]


def test_a_new_journal_is_empty_and_knows_its_size(path: str) -> None:
    journal = Journal(path)
    journal.append(b"12345")
    journal.close()

    assert journal.entries == []
    assert journal.size == os.path.getsize(path) == len(MAGIC) + 8 + 5


def test_a_tail_torn_at_any_byte_is_cut_off_and_the_journal_goes_on(path: str) -> None:
    content = written(path, b"first", b"second entry")
    whole = len(written(path + "2", b"first"))

    for length in range(whole, len(content)):
        Path(path).write_bytes(content[:length])
        journal = Journal(path)
        journal.append(b"after")
        journal.close()

        assert journal.entries == [b"first"], length
        assert entries(path) == [b"first", b"after"], length


@pytest.mark.parametrize("tail", [bytes(5000), b"\xff" * 5000, b"{" * 70000], ids=["zeros", "ones", "text"])
def test_a_tail_that_the_crash_left_as_garbage_is_cut_off(path: str, tail: bytes) -> None:
    content = written(path, b"first")
    Path(path).write_bytes(content + tail)

    found = entries(path)

    assert found == [b"first"]
    assert Path(path).read_bytes() == content


def test_a_last_entry_with_any_flipped_bit_is_a_torn_tail(path: str) -> None:
    content = written(path, b"first", b"last")
    start = len(content) - 12

    for position in range(start, len(content)):
        for bit in range(8):
            damaged = bytearray(content)
            damaged[position] ^= 1 << bit
            Path(path).write_bytes(damaged)

            assert entries(path) == [b"first"], (position, bit)


def test_a_damaged_entry_before_intact_ones_is_refused_with_its_position(path: str) -> None:
    content = bytearray(written(path, b"first", b"second", b"third"))
    position = len(MAGIC) + 8 + len(b"first")
    content[position + 8] ^= 1
    Path(path).write_bytes(content)

    with pytest.raises(CorruptJournal) as refusal:
        Journal(path)

    assert refusal.value.position == position
    assert Path(path).read_bytes() == content


def test_a_damaged_length_before_intact_entries_is_refused_too(path: str) -> None:
    content = bytearray(written(path, b"first", b"second"))
    content[len(MAGIC)] ^= 0x40
    Path(path).write_bytes(content)

    with pytest.raises(CorruptJournal):
        Journal(path)


def test_a_file_that_is_no_journal_is_refused_and_left_alone(path: str) -> None:
    Path(path).write_bytes(b"somebody's notes")

    with pytest.raises(CorruptJournal, match="not a riverlog journal"):
        Journal(path)

    assert Path(path).read_bytes() == b"somebody's notes"


@pytest.mark.parametrize("length", range(len(MAGIC)))
def test_a_crash_while_the_file_was_made_leaves_an_empty_journal(path: str, length: int) -> None:
    Path(path).write_bytes(MAGIC[:length])

    journal = Journal(path)
    journal.append(b"entry")
    journal.close()

    assert entries(path) == [b"entry"]


def test_short_writes_are_continued(path: str) -> None:
    disk = FaultyDisk()
    journal = Journal(path, disk)
    disk.bytes_per_write = 3

    journal.append(b"a longer entry")
    journal.close()

    assert entries(path) == [b"a longer entry"]


def test_an_entry_that_does_not_fit_on_the_disk_is_taken_back(path: str) -> None:
    disk = FaultyDisk()
    journal = Journal(path, disk)
    journal.append(b"first")
    disk.fails_after = 10

    with pytest.raises(DiskFull):
        journal.append(b"does not fit")
    journal.append(b"fits again")
    journal.close()

    assert entries(path) == [b"first", b"fits again"]


def test_an_entry_whose_sync_fails_is_taken_back(path: str) -> None:
    disk = FaultyDisk()
    journal = Journal(path, disk)
    journal.append(b"first")
    disk.sync_errors = [errno.EIO]

    with pytest.raises(StorageError, match="cannot be written"):
        journal.append(b"lost")
    journal.append(b"second")
    journal.close()

    assert entries(path) == [b"first", b"second"]


def test_after_an_entry_that_could_not_be_taken_back_nothing_more_is_accepted(path: str) -> None:
    disk = FaultyDisk()
    journal = Journal(path, disk)
    disk.sync_errors = [errno.EIO, errno.EIO]

    with pytest.raises(StorageError, match="cannot be written"):
        journal.append(b"unknown")
    with pytest.raises(StorageError, match="unknown state"):
        journal.append(b"more")
    with pytest.raises(StorageError, match="unknown state"):
        journal.replace([b"more"])

    journal.close()


def test_replacing_puts_new_entries_in_place_of_all(path: str) -> None:
    journal = Journal(path)
    for number in range(100):
        journal.append(b"entry %d" % number)

    journal.replace([b"snapshot 1", b"snapshot 2"])
    journal.append(b"next")
    journal.close()

    assert entries(path) == [b"snapshot 1", b"snapshot 2", b"next"]
    assert journal.size == os.path.getsize(path)


def test_a_replacement_that_fails_leaves_the_old_entries_and_no_litter(path: str, tmp_path: Path) -> None:
    disk = FaultyDisk()
    journal = Journal(path, disk)
    journal.append(b"old")
    disk.write_errors = [errno.ENOSPC]

    with pytest.raises(DiskFull):
        journal.replace([b"new"])
    journal.append(b"more")
    journal.close()

    assert entries(path) == [b"old", b"more"]
    assert os.listdir(tmp_path) == ["journal"]


def test_a_replacement_that_a_crash_left_half_done_is_dropped(path: str) -> None:
    written(path, b"old")
    Path(path + ".new").write_bytes(MAGIC + b"half")

    found = entries(path)

    assert found == [b"old"]
    assert not os.path.exists(path + ".new")


def test_closing_twice_is_allowed(path: str) -> None:
    journal = Journal(path)

    journal.close()
    journal.close()

    assert os.path.exists(path)
