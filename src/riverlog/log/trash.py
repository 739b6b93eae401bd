"""Files and directories that are deleted: renamed at once, removed after `file.delete.delay.ms`.

The delay is Kafka's, and gives an operator a minute to regret. Readers do not need it: a slice keeps its
file open. What is left when the process ends is found by its name and removed by the next start.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from riverlog.log.disk import Disk

logger = logging.getLogger("riverlog.log.trash")


class Discarded(NamedTuple):
    """Something renamed, to be removed."""

    due_ms: int
    path: str
    is_directory: bool


class Trash:
    """What is to be removed, in the order it was discarded."""

    __slots__ = ("_discarded", "_disk")

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._discarded: deque[Discarded] = deque()

    def __len__(self) -> int:
        return len(self._discarded)

    def add_files(self, paths: Iterable[str], due_ms: int) -> None:
        """Take files that were renamed."""
        self._discarded.extend(Discarded(due_ms, path, False) for path in paths)

    def add_directory(self, path: str, due_ms: int) -> None:
        """Take a directory that was renamed."""
        self._discarded.append(Discarded(due_ms, path, True))

    def take_due(self, now_ms: int) -> list[Discarded]:
        """Give what is due and forget it. Topics differ in their delay, so what is due can lie anywhere."""
        due = [each for each in self._discarded if each.due_ms <= now_ms]
        if due:
            self._discarded = deque(each for each in self._discarded if each.due_ms > now_ms)
        return due

    def remove(self, due: list[Discarded]) -> None:
        """Remove files and directories for good; in any thread. What cannot be removed is said and left."""
        for each in due:
            try:
                if each.is_directory:
                    self._disk.remove_directory(each.path)
                else:
                    self._disk.unlink(each.path)
            except FileNotFoundError:
                pass
            except OSError as error:
                logger.warning("cannot remove %s: %s", each.path, error)
