"""Which leader epoch began at which offset: how replicas find the point where their logs part ways.

    epochs   0@0   1@50   4@80                log end 100
    ask 0 -> ends at 50 | 1 -> 80 | 2, 3 -> (1, 80) | 4 -> (4, 100) | 5 -> unknown

Kept in `leader-epoch-checkpoint`: a line `0` (version), a line with the number of entries, a line
`epoch start_offset` for each. KIP-101 and KIP-279 say why. Pure: the log reads and writes the file.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from riverlog.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

UNKNOWN = (-1, -1)
_VERSION = 0


class EpochStart(NamedTuple):
    """An epoch and the first offset written in it."""

    epoch: int
    start_offset: int


class LeaderEpochs:
    """The epochs of one partition. Both epochs and start offsets rise from entry to entry."""

    __slots__ = ("_entries",)

    def __init__(self, entries: list[EpochStart] | None = None) -> None:
        self._entries: list[EpochStart] = []
        for epoch, start_offset in entries or ():
            self.assign(epoch, start_offset)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[EpochStart]:
        return iter(self._entries)

    @property
    def latest(self) -> int:
        """The newest epoch, -1 if there is none."""
        return self._entries[-1].epoch if self._entries else -1

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Note that `epoch` begins at `start_offset`; say whether that changed anything.

        What contradicts the newcomer goes: 0@0 3@40 5@60 | assign(4, 50) -> 0@0 3@40 4@50
        """
        entries = self._entries
        if entries and entries[-1].epoch == epoch and entries[-1].start_offset <= start_offset:
            return False
        while entries and (entries[-1].epoch >= epoch or entries[-1].start_offset >= start_offset):
            entries.pop()
        entries.append(EpochStart(epoch, start_offset))
        return True

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """Give the largest epoch that is at most `epoch` and where it ends; (-1, -1) if that is unknown."""
        entries = self._entries
        if not entries or epoch < 0 or epoch > entries[-1].epoch:
            return UNKNOWN
        if epoch == entries[-1].epoch:
            return epoch, log_end_offset
        after = self._number_after(epoch)
        end_offset = entries[after].start_offset
        # Older than all that is known: whatever was written in it ended before the first known one.
        return (entries[after - 1].epoch if after else epoch), end_offset

    def epoch_at(self, offset: int) -> int:
        """Give the epoch in which `offset` was written, -1 if that is unknown."""
        found = -1
        for epoch, start_offset in self._entries:
            if start_offset > offset:
                break
            found = epoch
        return found

    def truncate_to(self, end_offset: int) -> bool:
        """Forget the epochs that begin at or after a new log end; say whether any did."""
        entries = self._entries
        before = len(entries)
        while entries and entries[-1].start_offset >= end_offset:
            entries.pop()
        return len(entries) != before

    def start_at(self, log_start_offset: int) -> bool:
        """Forget what ended before the log's new start; the epoch of that offset now begins there."""
        entries = self._entries
        if not entries or entries[0].start_offset >= log_start_offset:
            return False
        gone = 0
        while gone + 1 < len(entries) and entries[gone + 1].start_offset <= log_start_offset:
            gone += 1
        entries[: gone + 1] = [EpochStart(entries[gone].epoch, log_start_offset)]
        return True

    def encode(self) -> bytes:
        """Write the checkpoint file's content."""
        lines = [
            str(_VERSION),
            str(len(self._entries)),
            *(f"{epoch} {start}" for epoch, start in self._entries),
        ]
        return ("\n".join(lines) + "\n").encode()

    @classmethod
    def decode(cls, content: bytes, path: str) -> LeaderEpochs:
        """Read a checkpoint file's content. Raises StorageError."""
        lines = content.decode("utf-8", "replace").splitlines()
        try:
            if int(lines[0]) != _VERSION:
                raise StorageError(f"version {lines[0]} of a leader epoch checkpoint is unknown", path=path)
            entries = [EpochStart(*map(int, line.split(" "))) for line in lines[2:]]
            if len(entries) != int(lines[1]):
                raise StorageError(f"{lines[1]} epochs are announced, {len(entries)} are there", path=path)
        except (ValueError, IndexError, TypeError) as error:
            raise StorageError(f"not a leader epoch checkpoint: {error}", path=path) from error
        return cls(entries)

    def _number_after(self, epoch: int) -> int:
        return bisect_right(self._entries, epoch, key=lambda entry: entry.epoch)
