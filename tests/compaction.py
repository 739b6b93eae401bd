"""For tests of compaction: clean a partition here and now, without a helper process."""

from __future__ import annotations

import os
from typing import Any

from riverlog.config import CleanerSettings
from riverlog.log import Disk, PartitionLog
from riverlog.log.cleaning.assignment import Assignment, cleanable_of
from riverlog.log.cleaning.cleaning import Cleaning
from riverlog.log.cleaning.job import Job, Outcome
from riverlog.log.cleaning.key_hashes import SEED_BYTES
from riverlog.log.cleaning.throttle import Throttle
from tests.log_builders import NOW

UNLIMITED = 1e18


def clean(
    log: PartitionLog,
    *,
    now_ms: int = NOW,
    disk: Disk | None = None,
    **settings: Any,
) -> Outcome:
    """Clean all of a partition that may be cleaned."""
    settings.setdefault("log_cleaner_dedupe_buffer_size", 1 << 20)
    settings.setdefault("log_cleaner_io_buffer_size", 1 << 16)
    assignment = Assignment(log, cleanable_of(log, now_ms))
    job = Job.decode(assignment.job(CleanerSettings(**settings), now_ms).encode())
    cleaning = Cleaning(
        job,
        disk or Disk(),
        seed=os.urandom(SEED_BYTES),
        throttle=Throttle(UNLIMITED, now=lambda: 0.0, wait=lambda _seconds: None),
    )
    outcome = cleaning.run(lambda replacement: assignment.put_in_place(replacement, now_ms))
    log.sync_names()
    assignment.finish(outcome)
    return outcome
