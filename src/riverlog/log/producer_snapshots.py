"""The `.snapshot` files of one partition: producer state as it was before the offset in the file's name.

A snapshot saves a restart from reading the log from its beginning. It may be lost or torn at any time: the
one before it and the batches since then give the same state. So the two newest are kept, and none is
synced before its absence would matter.
"""

from __future__ import annotations

import logging
from bisect import insort
from typing import TYPE_CHECKING

from riverlog.errors import StorageError
from riverlog.log import names
from riverlog.log.producer_state import ProducerState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from riverlog.log.disk import Disk

logger = logging.getLogger("riverlog.log.producer_snapshots")

SNAPSHOTS_KEPT = 2


class ProducerSnapshots:
    """Write, find and drop the snapshots in one directory. Methods raise OSError."""

    __slots__ = ("_directory", "_disk", "_offsets")

    def __init__(self, disk: Disk, directory: str, offsets: Iterable[int] = ()) -> None:
        self._disk = disk
        self._directory = directory
        self._offsets = sorted(offsets)

    @property
    def latest_offset(self) -> int:
        """The newest snapshot's offset, -1 if there is none."""
        return self._offsets[-1] if self._offsets else -1

    def path(self, offset: int) -> str:
        """Give the path of the snapshot before `offset`."""
        return f"{self._directory}/{names.offset_name(offset)}{names.SNAPSHOT}"

    def write(self, offset: int, producers: ProducerState) -> str:
        """Write the state before `offset`, drop what is older than the newest two; give the path."""
        path = self.path(offset)
        self._disk.replace_file(path, producers.encode(), durable=False)
        if offset not in self._offsets:
            insort(self._offsets, offset)
        self.drop_oldest()
        return path

    def drop_oldest(self) -> None:
        """Keep the newest two."""
        for offset in self._offsets[:-SNAPSHOTS_KEPT]:
            self._drop(offset)

    def drop_after(self, offset: int) -> None:
        """Drop the snapshots that know of more than the log holds, which ends at `offset`."""
        for later in [each for each in self._offsets if each > offset]:
            self._drop(later)

    def forget(self, offset: int) -> None:
        """Take in that the snapshot at a discarded segment's base offset went with it."""
        if offset in self._offsets:
            self._offsets.remove(offset)

    def load(self, at_most: int) -> tuple[int, ProducerState] | None:
        """Read the newest sound snapshot of at most that offset: (its offset, the state), or None."""
        for offset in reversed([each for each in self._offsets if each <= at_most]):
            path = self.path(offset)
            try:
                return offset, ProducerState.decode(self._disk.read_file(path), path)
            except FileNotFoundError:
                self._offsets.remove(offset)
            except StorageError as error:
                logger.warning("dropping a damaged producer snapshot: %s", error)
                self._drop(offset)
        return None

    def _drop(self, offset: int) -> None:
        self._offsets.remove(offset)
        try:
            self._disk.unlink(self.path(offset))
        except FileNotFoundError:
            pass
