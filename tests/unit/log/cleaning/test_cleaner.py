"""The cleaner with helpers that are objects of this process."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from riverlog.config import CleanerSettings, TopicSettings
from riverlog.errors import StorageError
from riverlog.log import Cleaner, Disk, LogManager, PartitionLog
from riverlog.log.checkpoints import read_offsets
from riverlog.log.cleaning.cleaning import Cleaning
from riverlog.log.cleaning.helper_process import HelperDied
from riverlog.log.cleaning.job import Job, Outcome, Replacement
from riverlog.log.cleaning.key_hashes import SEED_BYTES
from riverlog.log.cleaning.throttle import Throttle
from riverlog.protocol.records import Record, build_batch
from riverlog.types import TopicPartition
from tests.faulty_disk import FaultyDisk
from tests.log_builders import NOW, TOPIC_ID, append, manager, offsets

DEADLINE_SECONDS = 20.0
COMPACT = TopicSettings(cleanup_policy=frozenset({"compact"}), segment_bytes=1 << 20)
A, B, C = (TopicPartition(name, 0) for name in "abc")


class Helper:
    """Cleans in this process, and does before and meanwhile what a test wants."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.rates: list[float] = []
        self.is_stopped = False
        self.before: Callable[[Job], None] = lambda _job: None
        self.meanwhile: Callable[[], Coroutine[Any, Any, None]] | None = None
        self.is_alive = True

    async def run(self, job: Job, on_replacement: Callable[[Replacement], None]) -> Outcome:
        self.jobs.append(job)
        self.before(job)
        if self.meanwhile is not None:
            await self.meanwhile()
        cleaning = Cleaning(
            job,
            Disk(),
            seed=os.urandom(SEED_BYTES),
            throttle=Throttle(1e18, now=time.monotonic, wait=time.sleep),
        )
        return cleaning.run(on_replacement)

    def change_rate(self, bytes_per_second: float) -> None:
        self.rates.append(bytes_per_second)

    async def stop(self) -> None:
        self.is_stopped = True

    @property
    def cleaned(self) -> list[str]:
        return [Path(job.directory).name for job in self.jobs]


class Office:
    """A cleaner over some partitions, and the helpers it was given."""

    def __init__(self, logs: LogManager, **settings: Any) -> None:
        settings.setdefault("log_cleaner_backoff_ms", 10)
        self.logs = logs
        self.helpers: list[Helper] = []
        self.next_helper = Helper
        self.cleaner = Cleaner(
            logs, CleanerSettings(**settings), now_ms=lambda: NOW, start_helper=self.start_helper
        )

    async def start_helper(self) -> Helper:
        self.helpers.append(self.next_helper())
        return self.helpers[-1]

    def work_until(self, is_done: Callable[[], bool]) -> None:
        """Run the cleaner until something has come about."""

        async def run() -> None:
            self.cleaner.start()
            deadline = time.monotonic() + DEADLINE_SECONDS
            while not is_done():
                assert time.monotonic() < deadline
                await asyncio.sleep(0.001)
            await self.cleaner.stop()

        asyncio.run(run())


def new_log(logs: LogManager, partition: TopicPartition, *, clean: int = 0, dirty: int = 1) -> PartitionLog:
    """A partition of which so many batches count as clean and so many as dirty."""
    log = logs.create(partition, TOPIC_ID, NOW)
    for number in range(clean + dirty):
        if number == clean:
            log.cleaned_offset = log.log_end_offset
        add(log)
    return log


def add(log: PartitionLog) -> None:
    """One more sealed segment: the same two keys again."""
    append(log, build_batch([Record(0, NOW, b"a", bytes(100)), Record(0, NOW, b"b", bytes(100))]))
    assert log.roll_if_due(NOW + (1 << 50))


@pytest.fixture
def logs(tmp_path: Path) -> LogManager:
    return manager(tmp_path, settings=COMPACT)


def test_all_that_is_dirty_is_cleaned_the_dirtiest_first(logs: LogManager) -> None:
    new_log(logs, A, clean=1, dirty=2)
    new_log(logs, B, clean=1, dirty=4)
    new_log(logs, C, clean=0, dirty=1)
    office = Office(logs)

    office.work_until(lambda: office.cleaner.figures.cleaned_logs == 3)

    assert office.helpers[0].cleaned == ["c-0", "b-0", "a-0"]
    assert [offsets(log) for log in logs] == [[4, 5], [8, 9], [0, 1]]
    assert [log.cleaned_offset for log in logs] == [6, 10, 2]


def test_how_far_a_log_is_clean_survives_a_restart(logs: LogManager, tmp_path: Path) -> None:
    new_log(logs, A, dirty=3)
    office = Office(logs)
    office.work_until(lambda: office.cleaner.figures.cleaned_logs == 1)

    assert read_offsets(Disk(), str(tmp_path / "cleaner-offset-checkpoint")) == {A: 6}
    logs.directories[0].close()
    found = manager(tmp_path, settings=COMPACT).get(A)
    assert found is not None
    assert found.cleaned_offset == 6


def test_logs_that_are_not_due_are_left_alone(logs: LogManager) -> None:
    log = new_log(logs, A, clean=1, dirty=1)
    plain = new_log(logs, B, dirty=3)
    plain.settings = TopicSettings()
    offline = new_log(logs, C, dirty=3)
    offline.fail(StorageError("the disk is gone"))
    office = Office(logs)
    looks: list[int] = []

    def now_ms() -> int:
        looks.append(0)
        return NOW

    office.cleaner._now_ms = now_ms

    office.work_until(lambda: len(looks) > 3)

    assert office.helpers == []
    assert office.cleaner.figures.max_dirty_ratio == 0.5
    assert log.cleaned_offset == 2


def test_a_partition_with_damaged_data_is_left_out_until_its_segments_change(
    logs: LogManager, caplog: pytest.LogCaptureFixture
) -> None:
    damaged = new_log(logs, A, dirty=3)
    path = Path(damaged.segments[0].log_path)
    sound = path.read_bytes()
    path.write_bytes(sound[:-1] + b"?")
    office = Office(logs)
    office.work_until(lambda: office.cleaner.figures.left_out == 1)
    new_log(logs, B, dirty=2)
    office.work_until(lambda: office.cleaner.figures.cleaned_logs == 1)

    named = [record.getMessage() for record in caplog.records if "cannot be compacted" in record.message]
    assert len(named) == 1
    assert named[0].startswith("a-0 cannot be compacted")
    assert str(path) in named[0]
    assert office.cleaner.left_out == [A]

    path.write_bytes(sound)
    add(damaged)
    office.work_until(lambda: office.cleaner.figures.cleaned_logs == 2)
    assert office.cleaner.left_out == []
    assert offsets(damaged) == [6, 7]


def test_a_disk_that_failed_is_tried_again_later(logs: LogManager) -> None:
    new_log(logs, A, dirty=2)
    office = Office(logs)

    class Failing(Helper):
        async def run(self, job: Job, on_replacement: Callable[[Replacement], None]) -> Outcome:
            self.run = super().run  # type: ignore[method-assign]
            raise StorageError("no space left on device")

    office.next_helper = Failing
    office.work_until(lambda: office.cleaner.figures.left_out == 1)
    assert office.cleaner.figures.cleaned_logs == 0

    office.next_helper = Helper
    office.cleaner._now_ms = lambda: NOW + 60_000
    office.work_until(lambda: office.cleaner.figures.cleaned_logs == 1)


def test_a_helper_that_died_is_replaced(logs: LogManager) -> None:
    new_log(logs, A, dirty=2)
    new_log(logs, B, clean=1, dirty=3)
    office = Office(logs)

    class Dying(Helper):
        async def run(self, job: Job, on_replacement: Callable[[Replacement], None]) -> Outcome:
            office.next_helper = Helper
            raise HelperDied("killed")

    office.next_helper = Dying
    office.work_until(lambda: office.cleaner.figures.cleaned_logs == 1)

    assert [helper.is_stopped for helper in office.helpers] == [True, True]
    assert office.helpers[1].cleaned == ["b-0"]
    assert office.cleaner.left_out == [A]


def test_a_helper_that_died_between_two_jobs_is_replaced_without_a_word(logs: LogManager) -> None:
    new_log(logs, A, clean=1, dirty=3)
    new_log(logs, B, dirty=2)
    office = Office(logs)

    class Dying(Helper):
        async def run(self, job: Job, on_replacement: Callable[[Replacement], None]) -> Outcome:
            self.is_alive = False
            return await super().run(job, on_replacement)

    office.next_helper = Dying
    office.work_until(lambda: office.cleaner.figures.cleaned_logs == 2)

    assert [helper.cleaned for helper in office.helpers] == [["b-0"], ["a-0"]]
    assert office.cleaner.figures.failures == 0


def test_a_partition_deleted_meanwhile_is_no_failure(
    logs: LogManager, caplog: pytest.LogCaptureFixture
) -> None:
    new_log(logs, A, dirty=2)
    office = Office(logs)

    def deleting() -> Helper:
        helper = Helper()
        helper.before = lambda _job: logs.delete(A, NOW)
        return helper

    office.next_helper = deleting
    office.work_until(lambda: bool(office.helpers and office.helpers[0].jobs))

    assert office.cleaner.left_out == []
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_as_many_logs_are_cleaned_at_once_as_there_are_threads(logs: LogManager) -> None:
    for partition in (A, B, C):
        new_log(logs, partition, dirty=2)
    office = Office(logs, log_cleaner_threads=3)

    async def wait_for_all() -> None:
        while sum(len(helper.jobs) for helper in office.helpers) < 3:
            await asyncio.sleep(0.001)

    def waiting() -> Helper:
        helper = Helper()
        helper.meanwhile = wait_for_all
        return helper

    office.next_helper = waiting
    office.work_until(lambda: office.cleaner.figures.cleaned_logs == 3)

    assert sorted(helper.cleaned for helper in office.helpers) == [["a-0"], ["b-0"], ["c-0"]]
    assert {helper.jobs[0].map_bytes for helper in office.helpers} == {(128 << 20) // 3}


def test_settings_change_while_it_works(logs: LogManager) -> None:
    new_log(logs, A, dirty=2)
    office = Office(logs, log_cleaner_backoff_ms=3_600_000)

    async def run() -> None:
        async def until(is_so: Callable[[], bool]) -> None:
            deadline = time.monotonic() + DEADLINE_SECONDS
            while not is_so():
                assert time.monotonic() < deadline
                await asyncio.sleep(0.001)

        cleaner = office.cleaner
        cleaner.start()
        await until(lambda: cleaner.figures.cleaned_logs == 1)
        new_log(logs, B, dirty=2)
        # It rests for an hour, unless it is told of a change.
        cleaner.change_settings(
            CleanerSettings(
                log_cleaner_threads=2, log_cleaner_io_max_bytes_per_second=1000.0, log_cleaner_backoff_ms=10
            )
        )
        await until(lambda: cleaner.figures.cleaned_logs == 2)
        assert office.helpers[0].rates == [500.0]
        assert office.helpers[-1].jobs[-1].bytes_per_second == 500.0
        cleaner.change_settings(CleanerSettings(log_cleaner_threads=1, log_cleaner_backoff_ms=10))
        await until(lambda: sum(not worker.done() for worker in cleaner._workers.values()) == 1)
        await cleaner.stop()
        assert all(helper.is_stopped for helper in office.helpers)

    asyncio.run(run())


def test_it_can_be_disabled(logs: LogManager) -> None:
    new_log(logs, A, dirty=2)
    office = Office(logs, log_cleaner_enable=False)

    office.work_until(lambda: True)

    assert office.cleaner._workers == {}


def test_an_idle_helper_is_dismissed(logs: LogManager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("riverlog.log.cleaning.cleaner.IDLE_SECONDS_MAX", 0.0)
    new_log(logs, A, dirty=2)
    office = Office(logs)

    office.work_until(lambda: bool(office.helpers) and office.helpers[0].is_stopped)

    assert office.cleaner.figures.cleaned_logs == 1


def test_a_log_counts_as_clean_only_once_its_new_names_are_on_the_disk(tmp_path: Path) -> None:
    disk = FaultyDisk()
    logs = manager(tmp_path, settings=COMPACT, disk=disk)
    log = new_log(logs, A, dirty=2)
    office = Office(logs)
    disk.fail("sync_directory", path="a-0", times=1)

    office.work_until(lambda: office.cleaner.figures.left_out == 1)
    assert (log.cleaned_offset, offsets(log)) == (0, [2, 3])

    office.cleaner._now_ms = lambda: NOW + 60_000
    office.work_until(lambda: office.cleaner.figures.cleaned_logs == 1)
    assert log.cleaned_offset == 4
