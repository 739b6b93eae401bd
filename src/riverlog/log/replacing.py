"""Let a new segment take the place of old ones, so that a crash between any two steps loses neither.

    .log.cleaned   ─1─▶  .log.swap  ───────────────3──▶  .log
    old .log       ───────────────2──▶  .log.deleted   (removed later)

1. As long as one `.cleaned` file is left, a start throws the new segment away: the old ones are all there.
2. From then on a start finishes the work: `.swap` files are complete, and whatever of the old ones
   still has its name goes.
3. Once the log file has its name, it belongs to the partition; its indexes follow, or are built again.

Names change in the order in which they were changed, also where power fails: file systems with a journal
promise that. What is in the files was synced before step 1. Kafka's protocol, and its suffixes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.log import names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from riverlog.log.disk import Disk
    from riverlog.log.segment import Segment


def begin_replacement(disk: Disk, path: str) -> list[str]:
    """Do step 1 for the segment at `path`; give the suffixes of its files.

    Raises OSError; then the files are gone again, unless that failed as well (`has_leftovers`).
    """
    suffixes = []
    try:
        # The log file first: it must not be without a `.cleaned` file beside it until all are renamed.
        for suffix in names.SEGMENT_SUFFIXES:
            try:
                disk.rename(path + suffix + names.CLEANED, path + suffix + names.SWAP)
            except FileNotFoundError:
                if suffix != names.TRANSACTION_INDEX:
                    raise
            else:
                suffixes.append(suffix)
    except OSError:
        withdraw(disk, path)
        raise
    return suffixes


def withdraw(disk: Disk, path: str) -> None:
    """Remove what step 1 may have left of a new segment, as far as that is possible.

    `.swap` files first: while a `.cleaned` file is there, nothing is made of them.
    """
    for state in (names.SWAP, names.CLEANED):
        for suffix in names.SEGMENT_SUFFIXES:
            try:
                disk.unlink(path + suffix + state)
            except OSError:
                pass


def has_leftovers(disk: Disk, path: str) -> bool:
    """Say whether any file of a new segment at `path` is there under one of the names before its last."""
    for state in (names.SWAP, names.CLEANED):
        for suffix in names.SEGMENT_SUFFIXES:
            try:
                disk.size(path + suffix + state)
            except FileNotFoundError:
                continue
            except OSError:
                pass
            return True
    return False


def set_old_aside(disk: Disk, old: Sequence[Segment]) -> list[str]:
    """Do step 2; give the files' new names. Raises OSError."""
    discarded = []
    for segment in old:
        segment.close()
        for suffix in names.SEGMENT_SUFFIXES:
            path = segment.path + suffix
            try:
                disk.rename(path, path + names.DELETED)
            except FileNotFoundError:
                continue
            discarded.append(path + names.DELETED)
    return discarded


def finish_replacement(disk: Disk, path: str, suffixes: Sequence[str]) -> None:
    """Do step 3. Raises OSError."""
    for suffix in suffixes:
        disk.rename(path + suffix + names.SWAP, path + suffix)
