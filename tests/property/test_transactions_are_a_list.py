"""What a reader of committed data gets is what a list of transactions says, whatever happens to the log."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from riverlog.config import LogSettings, TopicSettings
from riverlog.log import LogManager, PartitionLog
from riverlog.protocol.batches import BatchHeader, split_batches
from riverlog.protocol.records import Record, build_batch
from tests.batch_builders import BATCH_TIME_MS
from tests.faulty_disk import PowerLossDisk
from tests.log_builders import ORDERS, TOPIC_ID

TOPIC = TopicSettings(
    segment_bytes=800,
    index_interval_bytes=200,
    retention_ms=-1,
    retention_bytes=-1,
    file_delete_delay_ms=0,
)
PRODUCERS = st.integers(1, 4)


class Entry(NamedTuple):
    """A batch, or a marker (`is_commit` is not None)."""

    base: int
    end: int
    producer_id: int
    is_transactional: bool
    is_commit: bool | None = None


class Transaction(NamedTuple):
    """A transaction with data: decided where there is a marker."""

    producer_id: int
    first: int
    marker: int | None
    is_commit: bool


class TransactionsAreAList(RuleBasedStateMachine):
    """The log beside a list of its batches and markers."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="riverlog-property-"))
        self.disk = PowerLossDisk(self.root)
        self.now_ms = BATCH_TIME_MS
        self.entries: list[Entry] = []
        self.epoch = 0

    @initialize()
    def create(self) -> None:
        self.manager = self.new_manager()
        self.log: PartitionLog = self.manager.create(ORDERS, TOPIC_ID, self.now_ms)

    def new_manager(self) -> LogManager:
        made = LogManager(
            LogSettings(log_dirs=(str(self.root / "data"),)), lambda _topic: TOPIC, disk=self.disk
        )
        made.load(self.now_ms)
        return made

    def teardown(self) -> None:
        for directory in self.manager.directories:
            directory.close()
        shutil.rmtree(self.root)

    # The model

    def transactions(self) -> list[Transaction]:
        open_since: dict[int, int] = {}
        found = []
        for entry in self.entries:
            if entry.is_commit is not None:
                first = open_since.pop(entry.producer_id, None)
                if first is not None:
                    found.append(Transaction(entry.producer_id, first, entry.base, entry.is_commit))
            elif entry.is_transactional:
                open_since.setdefault(entry.producer_id, entry.base)
        return found + [Transaction(each, first, None, False) for each, first in open_since.items()]

    def stable(self) -> int:
        first = min((each.first for each in self.transactions() if each.marker is None), default=-1)
        return self.log.log_end_offset if first < 0 else max(first, self.log.log_start_offset)

    # What is done to it

    @rule(producer_id=PRODUCERS, count=st.integers(1, 3), is_transactional=st.booleans())
    def append(self, producer_id: int, count: int, is_transactional: bool) -> None:
        self.now_ms += 1
        if not is_transactional:
            producer_id = -1
        base = self.log.log_end_offset
        data = build_batch(
            [Record(n, self.now_ms, b"k", b"v" * 20) for n in range(count)],
            producer_id=producer_id,
            producer_epoch=0 if is_transactional else -1,
            is_transactional=is_transactional,
        )
        result = self.log.append(data, 0, len(data), self.now_ms, is_sequenced=False)
        assert (result.error_code, result.base_offset) == (0, base)
        self.entries.append(Entry(base, base + count, producer_id, is_transactional))

    @rule(producer_id=PRODUCERS, is_commit=st.booleans())
    def end(self, producer_id: int, is_commit: bool) -> None:
        self.now_ms += 1
        base = self.log.log_end_offset
        result = self.log.append_marker(
            producer_id, 0, is_commit=is_commit, coordinator_epoch=0, now_ms=self.now_ms
        )
        assert (result.error_code, result.base_offset) == (0, base)
        assert self.log.log_end_offset == base + 1
        self.entries.append(Entry(base, base + 1, producer_id, True, is_commit))

    @rule()
    def checkpoint(self) -> None:
        self.log.save_indexes()
        self.log.sync()
        self.manager.checkpoint()

    @rule(fraction=st.floats(0, 1))
    def delete_records(self, fraction: float) -> None:
        assert self.log.delete_records_before(round(fraction * self.log.log_end_offset))[0] == 0

    @rule()
    def retain(self) -> None:
        self.log.apply_retention(self.now_ms)

    @rule(fraction=st.floats(0.5, 1))
    @precondition(lambda self: self.entries)
    def truncate(self, fraction: float) -> None:
        self.log.truncate_to(
            max(round(fraction * self.log.log_end_offset), self.log.log_start_offset), self.now_ms
        )
        self.log.sync()
        self.forget_what_is_gone()
        self.epoch += 1
        self.log.assign_epoch(self.epoch)

    @rule()
    def stop_and_start(self) -> None:
        self.manager.close(self.now_ms)
        self.start()

    @rule(seed=st.integers(0, 2**32))
    def lose_power_and_start(self, seed: int) -> None:
        for directory in self.manager.directories:
            directory.close()
        self.disk.lose_power(random.Random(seed))
        self.start()

    def start(self) -> None:
        self.manager = self.new_manager()
        found = self.manager.get(ORDERS)
        assert found is not None, self.manager.failed
        self.log = found
        self.forget_what_is_gone()

    def forget_what_is_gone(self) -> None:
        if self.log.log_start_offset == self.log.log_end_offset and self.log.size == 0:
            # It may have begun again, empty: then nothing is known of what was before.
            kept = [
                each for each in self.transactions() if self.log.open_transaction_of(each.producer_id) >= 0
            ]
            if not kept:
                self.entries.clear()
        while self.entries and self.entries[-1].end > self.log.log_end_offset:
            self.entries.pop()

    # What is always so

    @invariant()
    def committed_data_ends_where_the_list_says(self) -> None:
        if hasattr(self, "log"):
            assert self.log.last_stable_offset == self.stable()
            assert {each: self.log.open_transaction_of(each) for each in range(1, 5)} == {
                each: next(
                    (
                        one.first
                        for one in self.transactions()
                        if (one.producer_id, one.marker) == (each, None)
                    ),
                    -1,
                )
                for each in range(1, 5)
            }

    @rule(fraction=st.floats(0, 1), max_bytes=st.integers(1, 2_000))
    def a_reader_of_committed_data_gets_what_the_list_says(self, fraction: float, max_bytes: int) -> None:
        log = self.log
        start = offset = log.log_start_offset + round(fraction * (log.log_end_offset - log.log_start_offset))
        stable = self.stable()
        transactions = self.transactions()
        got: list[int] = []
        while offset < stable:
            result = log.read(offset, max_bytes, read_committed=True, must_return_one_batch=True)
            assert result.error_code == 0
            assert result.records is not None
            assert result.aborted is not None
            data = result.records.read()
            batches = split_batches(data, 0, len(data)).batches
            end = batches[-1][1].next_offset
            assert result.aborted == sorted(
                (
                    (each.producer_id, each.first)
                    for each in transactions
                    if each.marker is not None
                    and not each.is_commit
                    and each.marker >= offset
                    and each.first < end
                ),
                key=lambda each: each[1],
            )
            got += as_a_consumer(batches, result.aborted, offset)
            offset = end
        assert got == [
            each
            for entry in self.entries
            for each in range(entry.base, entry.end)
            if start <= each < stable and entry.is_commit is None and self.is_committed(entry, transactions)
        ]

    def is_committed(self, entry: Entry, transactions: list[Transaction]) -> bool:
        if not entry.is_transactional:
            return True
        return any(
            each.is_commit and each.first <= entry.base < (each.marker or 0)
            for each in transactions
            if each.producer_id == entry.producer_id
        )


def as_a_consumer(
    batches: list[tuple[int, BatchHeader]], aborted: list[tuple[int, int]], start: int
) -> list[int]:
    """The offsets that a consumer gives its user, by the rules that clients go by."""
    waiting = sorted(aborted, key=lambda each: each[1])
    skipped: set[int] = set()
    got = []
    for _position, header in batches:
        while waiting and waiting[0][1] <= header.last_offset:
            skipped.add(waiting.pop(0)[0])
        if header.is_control:
            skipped.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in skipped):
            got += [each for each in range(header.base_offset, header.next_offset) if each >= start]
    return got


TransactionsAreAList.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
test_transactions_are_a_list = TransactionsAreAList.TestCase
