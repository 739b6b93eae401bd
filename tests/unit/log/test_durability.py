from __future__ import annotations

import asyncio
import dataclasses
import errno
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from riverlog.errors import StorageError
from riverlog.log import GroupCommit, PartitionLog
from riverlog.log.durability import (
    ROUND_LOGS_MAX,
    SYNCFS_FILES_MIN,
    SYNCFS_PAUSE_ROUNDS,
    CommitQueue,
    Syncer,
    SyncStrategy,
)
from riverlog.types import TopicPartition
from tests.batch_builders import batch
from tests.faulty_disk import FaultyDisk
from tests.log_builders import NOW, TOPIC_ID, append, manager

FAILURE = StorageError("broken")


class Told:
    """Remembers who was told what."""

    def __init__(self) -> None:
        self.answers: dict[str, StorageError | None] = {}

    def __call__(self, name: str) -> Callable[[StorageError | None], None]:
        return lambda error: self.answers.update({name: error})

    def deliver(
        self, round_: list[tuple[Callable[[StorageError | None], None], StorageError | None]]
    ) -> None:
        for on_done, error in round_:
            on_done(error)


def logs(directory: Path, count: int, disk: FaultyDisk | None = None) -> list[PartitionLog]:
    made = manager(directory, disk=disk)
    return [made.create(TopicPartition("t", number), TOPIC_ID, NOW) for number in range(count)]


# The queue


def test_all_who_wait_when_a_round_begins_are_served_by_it(tmp_path: Path) -> None:
    (log,) = logs(tmp_path, 1)
    told, queue = Told(), CommitQueue()
    queue.add(log, 3, told("a"))
    queue.add(log, 6, told("b"))

    assert queue.start_round() == [log]
    told.deliver(queue.finish_round([(log, 6, None)]))

    assert told.answers == {"a": None, "b": None}
    assert len(queue) == 0


def test_who_comes_during_a_round_is_served_by_the_next_unless_the_round_covers_them(tmp_path: Path) -> None:
    (log,) = logs(tmp_path, 1)
    told, queue = Told(), CommitQueue()
    queue.add(log, 3, told("first"))
    queue.start_round()

    queue.add(log, 3, told("covered"))
    queue.add(log, 4, told("later"))
    assert queue.start_round() == []
    told.deliver(queue.finish_round([(log, 3, None)]))

    assert told.answers == {"first": None, "covered": None}
    assert queue.start_round() == [log]


def test_a_failure_is_told_to_everybody_who_waits_for_that_log_and_nobody_else(tmp_path: Path) -> None:
    first, second = logs(tmp_path, 2)
    told, queue = Told(), CommitQueue()
    queue.add(first, 3, told("a"))
    queue.add(first, 9, told("b"))
    queue.add(second, 3, told("c"))
    queue.start_round()

    told.deliver(queue.finish_round([(first, 0, FAILURE), (second, 3, None)]))

    assert told.answers == {"a": FAILURE, "b": FAILURE, "c": None}


def test_a_request_without_a_waiter_is_a_reason_for_a_round(tmp_path: Path) -> None:
    (log,) = logs(tmp_path, 1)
    queue = CommitQueue()
    queue.add(log, 3, None)

    assert queue.start_round() == [log]
    assert queue.finish_round([(log, 3, None)]) == []
    assert len(queue) == 0


def test_a_round_takes_a_bounded_number_of_logs(tmp_path: Path) -> None:
    queue = CommitQueue()
    many = [object() for _ in range(ROUND_LOGS_MAX + 5)]
    for log in many:
        queue.add(log, 1, None)  # type: ignore[arg-type]

    first = queue.start_round()
    queue.finish_round([(log, 1, None) for log in first])

    assert len(first) == ROUND_LOGS_MAX
    assert queue.start_round() == many[ROUND_LOGS_MAX:]


def test_abandoning_gives_everybody_once(tmp_path: Path) -> None:
    (log,) = logs(tmp_path, 1)
    told, queue = Told(), CommitQueue()
    queue.add(log, 3, told("a"))
    queue.add(log, 3, None)

    assert len(queue.abandon()) == 1
    assert queue.abandon() == []


# How to sync


def test_many_files_are_synced_by_one_call_and_few_one_by_one(tmp_path: Path) -> None:
    disk = FaultyDisk(has_syncfs=True)
    if not disk.can_syncfs():
        pytest.skip("this system has no syncfs that reports errors")
    many = logs(tmp_path, SYNCFS_FILES_MIN, disk)
    for log in many:
        append(log)
    syncer = Syncer(disk)
    disk.calls.clear()

    outcomes = syncer.sync([log.begin_sync() for log in many])

    assert [error for _, error in outcomes] == [None] * len(many)
    assert (disk.calls["syncfs"], disk.calls["fdatasync"]) == (1, 0)
    append(many[0])
    syncer.sync([many[0].begin_sync()])
    assert (disk.calls["syncfs"], disk.calls["fdatasync"]) == (1, 1)


def test_when_syncing_the_file_system_fails_each_file_says_whether_it_was_meant(tmp_path: Path) -> None:
    disk = FaultyDisk(has_syncfs=True)
    if not disk.can_syncfs():
        pytest.skip("this system has no syncfs that reports errors")
    many = logs(tmp_path, SYNCFS_FILES_MIN, disk)
    for log in many:
        append(log)
    disk.fail("syncfs")
    disk.fail("fdatasync", path="/t-3/")

    outcomes = Syncer(disk).sync([log.begin_sync() for log in many])

    assert [ticket.log for ticket, error in outcomes if error is not None] == [many[3]]


def test_calls_to_the_disk_are_counted_with_what_they_took(tmp_path: Path) -> None:
    few = logs(tmp_path, 2, FaultyDisk(has_syncfs=False))
    ticks = iter(range(100))
    syncer = Syncer(FaultyDisk(has_syncfs=False), clock=lambda: float(next(ticks)))
    for log in few:
        append(log)
    tickets = [log.begin_sync() for log in few]

    syncer.sync(tickets)

    assert (syncer.count, syncer.seconds) == (sum(map(len, tickets)), 1.0)
    syncer.sync([])
    assert (syncer.count, syncer.seconds) == (sum(map(len, tickets)), 1.0)


def test_syncfs_is_left_alone_for_a_while_after_it_was_slower() -> None:
    strategy = SyncStrategy()
    strategy.note_files(1, 0.001)
    assert not strategy.prefers_syncfs(SYNCFS_FILES_MIN - 1)
    assert strategy.prefers_syncfs(10)

    strategy.note_syncfs(10, 0.009)
    assert strategy.prefers_syncfs(10)
    strategy.note_syncfs(10, 0.011)

    assert [strategy.prefers_syncfs(10) for _ in range(SYNCFS_PAUSE_ROUNDS)] == [False] * SYNCFS_PAUSE_ROUNDS
    assert strategy.prefers_syncfs(10)


def test_a_file_that_is_gone_by_now_needs_no_sync(tmp_path: Path) -> None:
    disk = FaultyDisk()
    (log,) = logs(tmp_path, 1, disk)
    append(log)
    ticket = log.begin_sync()
    Path(log.path, "leader-epoch-checkpoint").unlink()

    assert ticket.run(disk) is None


# With a loop and a thread


def run(work: Callable[[GroupCommit], object], disk: FaultyDisk) -> None:
    async def main() -> None:
        commit = GroupCommit(asyncio.get_running_loop(), disk)
        try:
            await asyncio.wait_for(work(commit), 30)  # type: ignore[arg-type]
        finally:
            commit.close()

    asyncio.run(main())


async def committed(commit: GroupCommit, log: PartitionLog) -> StorageError | None:
    future = asyncio.get_running_loop().create_future()
    commit.wait_for(log, log.log_end_offset, future.set_result)
    assert not future.done()
    error: StorageError | None = await future
    return error


def test_waiters_are_told_once_their_data_is_on_the_disk(tmp_path: Path) -> None:
    disk = FaultyDisk()
    (log,) = logs(tmp_path, 1, disk)

    async def work(commit: GroupCommit) -> None:
        append(log)
        assert await committed(commit, log) is None
        assert log.flushed_offset == 3
        assert await committed(commit, log) is None

    run(work, disk)


def test_a_thousand_who_wait_at_the_same_time_cost_a_handful_of_syncs(tmp_path: Path) -> None:
    disk = FaultyDisk()
    (log,) = logs(tmp_path, 1, disk)

    async def work(commit: GroupCommit) -> None:
        append(log)
        await committed(commit, log)
        disk.calls.clear()
        waiting = []
        for _ in range(1000):
            append(log)
            waiting.append(committed(commit, log))
        assert await asyncio.gather(*waiting) == [None] * 1000
        assert disk.calls["fdatasync"] == 1

    run(work, disk)


def test_nothing_is_told_early_when_segments_roll_during_a_sync(tmp_path: Path) -> None:
    disk = FaultyDisk()
    (log,) = logs(tmp_path, 1, disk)
    may_go_on, has_begun = threading.Event(), threading.Event()
    sync, synced = disk.fdatasync, list[str]()

    def slow_sync(descriptor: int) -> None:
        synced.append(disk._paths[descriptor])
        has_begun.set()
        assert may_go_on.wait(30)
        sync(descriptor)

    disk.fdatasync = slow_sync  # type: ignore[method-assign]

    async def work(commit: GroupCommit) -> None:
        append(log)
        first = asyncio.ensure_future(committed(commit, log))
        await asyncio.to_thread(has_begun.wait, 30)
        log.settings = dataclasses.replace(log.settings, segment_bytes=len(batch()))
        append(log)
        append(log)
        second = asyncio.ensure_future(committed(commit, log))
        await asyncio.sleep(0)
        assert not first.done()
        may_go_on.set()
        await first
        assert log.flushed_offset in (3, 9)
        await second
        assert log.flushed_offset == 9
        assert {Path(path).name for path in synced if path.endswith(".log")} == {
            f"{offset:020d}.log" for offset in (0, 3, 6)
        }

    run(work, disk)


def test_a_failed_sync_is_told_and_takes_the_log_offline_for_good(tmp_path: Path) -> None:
    disk = FaultyDisk()
    (log,) = logs(tmp_path, 1, disk)

    async def work(commit: GroupCommit) -> None:
        append(log)
        disk.fail("fdatasync", path=".log", times=1)
        error = await committed(commit, log)
        assert error is not None
        assert log.is_offline is error
        again = await committed(commit, log)
        assert again is not None
        assert log.flushed_offset == 0

    run(work, disk)


def test_too_few_descriptors_fail_the_waiters_but_not_the_log(tmp_path: Path) -> None:
    disk = FaultyDisk()
    (log,) = logs(tmp_path, 1, disk)

    async def work(commit: GroupCommit) -> None:
        append(log)
        for segment in log._chain:
            segment.close()
        disk.fail("open", errno.EMFILE, path=".log", times=1)
        assert isinstance(await committed(commit, log), StorageError)
        assert log.is_offline is None
        assert await committed(commit, log) is None

    run(work, disk)


def test_a_truncation_during_a_sync_is_told_to_those_who_waited(tmp_path: Path) -> None:
    disk = FaultyDisk()
    (log,) = logs(tmp_path, 1, disk)

    async def work(commit: GroupCommit) -> None:
        append(log)
        waiting = asyncio.ensure_future(committed(commit, log))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        log.truncate_to(0, NOW)
        assert isinstance(await waiting, StorageError)

    run(work, disk)


def test_closing_tells_those_who_still_wait_that_nothing_is_promised(tmp_path: Path) -> None:
    disk = FaultyDisk()
    (log,) = logs(tmp_path, 1, disk)

    async def main() -> list[StorageError | None]:
        commit = GroupCommit(asyncio.get_running_loop(), disk)
        append(log)
        told: list[StorageError | None] = []
        commit.wait_for(log, 3, told.append)
        commit.close()
        commit.wait_for(log, 3, told.append)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return told

    told = asyncio.run(main())

    assert len(told) == 2
    assert all(isinstance(error, StorageError) for error in told)


def test_one_waiter_that_fails_does_not_keep_the_others_waiting(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = FaultyDisk()
    (log,) = logs(tmp_path, 1, disk)

    def fail(error: StorageError | None) -> None:
        raise ValueError("a bug of the waiter's")

    async def work(commit: GroupCommit) -> None:
        append(log)
        commit.wait_for(log, 3, fail)
        assert await committed(commit, log) is None

    run(work, disk)
    assert "a bug of the waiter's" in caplog.text


def test_requested_syncs_happen_without_a_waiter(tmp_path: Path) -> None:
    disk = FaultyDisk()
    first, second = logs(tmp_path, 2, disk)

    async def work(commit: GroupCommit) -> None:
        append(first)
        append(second)
        commit.request(first)
        await committed(commit, second)
        assert first.flushed_offset == 3

    run(work, disk)
