"""How far a query has come, committed to a consumer group: what lag tools and alerts look at.

    query ──note(offsets)──▶ [newest offsets] ──thread──▶ the group's offsets in the cluster
                              one slot

Only a report: a query goes on by its checkpoint and never reads what is committed here. So no trouble with a
group ends or holds up a query; it is logged, and tried again with what is newest by then.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from riverlog.errors import RiverlogError
from riverlog.types import TopicPartition

if TYPE_CHECKING:
    from riverlog.client import GroupAdmin

logger = logging.getLogger("riverlog.pipelines.source")

GRACE_SECONDS = 0.5
"""How long a query waits for a commit, while commits go well: so what is read shows before the next batch."""

RETRY_SECONDS_MIN = 0.05
RETRY_SECONDS_MAX = 5.0
"""Between two attempts; doubled each time from the one to the other."""

TRIES_QUIET = 3
"""How many attempts in a row may fail without a word: a cluster's first group is refused for a moment."""

STOP_SECONDS = 2.0
TIMEOUT_SECONDS = 10.0


class GroupOffsets:
    """Commits the newest offsets noted, in a thread of its own; `close` ends it."""

    def __init__(self, bootstrap: str, group: str) -> None:
        self._bootstrap = bootstrap
        self._group = group
        self._changed = threading.Condition()
        self._noted: Mapping[TopicPartition, int] = {}
        self._committed: Mapping[TopicPartition, int] = {}
        self._is_failing = False
        self._is_closing = False
        self._thread: threading.Thread | None = None

    def note(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Have these offsets committed soon, unless newer ones come first."""
        with self._changed:
            if offsets == self._noted:
                return
            self._noted = dict(offsets)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="group-offsets", daemon=True)
                self._thread.start()
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_failing or not self._has_news(), GRACE_SECONDS)

    def close(self) -> None:
        """Commit what is left, in bounded time, and end."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(STOP_SECONDS)

    def _has_news(self) -> bool:
        return self._noted != self._committed

    def _run(self) -> None:
        from riverlog.client import GroupAdmin

        failures = 0
        with GroupAdmin(self._bootstrap, timeout_seconds=TIMEOUT_SECONDS) as admin:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._is_closing or self._has_news())
                    if not self._has_news():
                        return
                    offsets = self._noted
                trouble = self._commit(admin, offsets)
                failures = failures + 1 if trouble else 0
                if failures == TRIES_QUIET:
                    logger.warning(
                        "group %r does not show how far a query has come: %s", self._group, trouble
                    )
                if trouble and not self._pause(failures):
                    return

    def _commit(self, admin: GroupAdmin, offsets: Mapping[TopicPartition, int]) -> str:
        """Try to commit; give what went wrong, nothing if it is done."""
        trouble = ""
        try:
            admin.commit(self._group, {(place.topic, place.partition): at for place, at in offsets.items()})
        except RiverlogError as error:
            trouble = str(error)
        with self._changed:
            self._is_failing = bool(trouble)
            if not trouble:
                self._committed = offsets
            self._changed.notify_all()
        return trouble

    def _pause(self, failures: int) -> bool:
        """Wait before the next attempt; False if the query ends and enough was tried."""
        with self._changed:
            self._changed.wait(min(RETRY_SECONDS_MAX, RETRY_SECONDS_MIN * 2 ** min(failures, 10)))
            return not (self._is_closing and failures >= TRIES_QUIET)
