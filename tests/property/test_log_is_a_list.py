"""A partition is a list of records: whatever is done to it, and whatever happens to the machine under it."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from riverlog.config import LogSettings, TopicSettings
from riverlog.log import AppendResult, LogManager, PartitionLog
from riverlog.protocol.records import Record, build_batch
from tests.batch_builders import BATCH_TIME_MS
from tests.faulty_disk import PowerLossDisk
from tests.log_builders import ORDERS, TOPIC_ID, read_all

PRODUCER = 7
SEGMENT_BYTES = 2_000
TOPIC = TopicSettings(
    segment_bytes=SEGMENT_BYTES,
    index_interval_bytes=200,
    segment_index_bytes=400,
    retention_ms=-1,
    retention_bytes=-1,
    file_delete_delay_ms=0,
)


class LogIsAList(RuleBasedStateMachine):
    """The log beside a list of its batches."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="riverlog-property-"))
        self.disk = PowerLossDisk(self.root)
        self.now_ms = BATCH_TIME_MS
        # (base offset, records, base sequence or -1)
        self.batches: list[tuple[int, list[Record], int]] = []
        self.start = 0
        self.synced_end = 0
        self.sequence = 0
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

    # What is done to it

    @rule(
        count=st.integers(1, 6),
        size=st.integers(0, 300),
        step=st.integers(-500, 500),
        is_idempotent=st.booleans(),
    )
    def append(self, count: int, size: int, step: int, is_idempotent: bool) -> None:
        self.now_ms += 1 + abs(step)
        base = self.log.log_end_offset
        records = [
            Record(base + n, self.now_ms + n * step, b"%d" % n if n else None, bytes([n]) * size)
            for n in range(count)
        ]
        sequence = self.sequence if is_idempotent else -1
        result = self.send(records, sequence)
        assert result.base_offset == base
        assert not result.is_duplicate
        self.batches.append((base, records, sequence))
        if is_idempotent:
            self.sequence += count

    def send(self, records: list[Record], sequence: int) -> AppendResult:
        data = build_batch(
            records,
            producer_id=PRODUCER if sequence >= 0 else -1,
            producer_epoch=0 if sequence >= 0 else -1,
            base_sequence=sequence,
        )
        result = self.log.append(data, 0, len(data), self.now_ms)
        assert result.error_code == 0, result
        return result

    @rule(back=st.integers(1, 5))
    def a_retry_of_one_of_the_last_five_batches_changes_nothing(self, back: int) -> None:
        sent = [batch for batch in self.batches if batch[2] >= 0 and batch[0] >= self.start]
        if back <= len(sent) and sent[-1][2] + len(sent[-1][1]) == self.sequence:
            base, records, sequence = sent[-back]
            result = self.send(records, sequence)
            assert (result.base_offset, result.is_duplicate) == (base, True)

    @rule(ahead=st.integers(1, 3))
    @precondition(lambda self: self.sequence and self.knows_producer())
    def a_gap_is_refused(self, ahead: int) -> None:
        data = build_batch(
            [Record(0, self.now_ms, None, b"")],
            producer_id=PRODUCER,
            producer_epoch=0,
            base_sequence=self.sequence + ahead,
        )
        assert self.log.append(data, 0, len(data), self.now_ms).error_code == 45

    def knows_producer(self) -> bool:
        return any(producer.producer_id == PRODUCER for producer in self.log.producers())

    @rule()
    def sync(self) -> None:
        self.log.sync()
        self.synced_end = self.log.log_end_offset

    @rule()
    def checkpoint(self) -> None:
        self.log.save_indexes()
        self.sync()
        self.manager.checkpoint()

    @rule(fraction=st.floats(0, 1))
    def delete_records(self, fraction: float) -> None:
        offset = round(fraction * self.log.log_end_offset)
        code, start = self.log.delete_records_before(offset)
        assert code == 0
        self.start = max(self.start, offset)
        assert start == self.start

    @rule()
    def retain(self) -> None:
        self.log.apply_retention(self.now_ms)

    @rule(fraction=st.floats(0, 1))
    @precondition(lambda self: self.batches)
    def truncate(self, fraction: float) -> None:
        offset = max(round(fraction * self.log.log_end_offset), self.start)
        self.log.truncate_to(offset, self.now_ms)
        while self.batches and self.batches[-1][0] + len(self.batches[-1][1]) > offset:
            self.forget_last_batch()
        # What was cut off may come back after a crash, unless that is synced: epochs will tell (KIP-101).
        self.log.sync()
        self.synced_end = self.log.log_end_offset
        self.start = min(self.start, self.log.log_start_offset)
        # A new leader goes on in a new epoch.
        self.epoch += 1
        self.log.assign_epoch(self.epoch)

    def forget_last_batch(self) -> None:
        _base, _records, sequence = self.batches.pop()
        if sequence >= 0:
            self.sequence = sequence

    @rule()
    def stop_and_start(self) -> None:
        self.manager.close(self.now_ms)
        self.manager = self.new_manager()
        assert self.manager.directories[0].was_clean
        self.find_log()
        self.synced_end = self.log.log_end_offset

    @rule(seed=st.integers(0, 2**32))
    def lose_power_and_start(self, seed: int) -> None:
        end = self.log.log_end_offset
        for directory in self.manager.directories:
            directory.close()
        self.disk.lose_power(random.Random(seed))
        self.manager = self.new_manager()
        self.find_log()
        # Where the log's start was on the disk but its end was not, it begins again, empty, at its start.
        assert self.synced_end <= self.log.log_end_offset <= max(end, self.log.log_start_offset)
        while self.batches and self.batches[-1][0] + len(self.batches[-1][1]) > self.log.log_end_offset:
            self.forget_last_batch()
        self.start = self.log.log_start_offset

    def find_log(self) -> None:
        found = self.manager.get(ORDERS)
        assert found is not None, self.manager.failed
        self.log = found

    # What is always so

    @invariant()
    def all_records_are_read_in_order(self) -> None:
        if hasattr(self, "log"):
            expected = [r for _, records, _ in self.batches for r in records if r.offset >= self.start]
            assert read_all(self.log, max_bytes=700) == expected
            assert self.log.log_end_offset >= self.start

    @rule(fraction=st.floats(0, 1), max_bytes=st.integers(1, 3_000))
    def reading_from_any_offset_gives_the_rest(self, fraction: float, max_bytes: int) -> None:
        offset = self.start + round(fraction * (self.log.log_end_offset - self.start))
        expected = [r for _, records, _ in self.batches for r in records if r.offset >= offset]
        assert read_all(self.log, offset, max_bytes=max_bytes) == expected

    @rule(delta=st.integers(-2_000, 2_000))
    def a_timestamp_finds_the_first_record_that_is_not_older(self, delta: int) -> None:
        timestamp = self.now_ms + delta
        visible = [r for _, records, _ in self.batches for r in records if r.offset >= self.start]
        expected = next((r for r in visible if r.timestamp >= timestamp), None)
        found = self.log.offset_for_timestamp(timestamp)
        assert (found.offset if found else None) == (expected.offset if expected else None)

    @rule()
    def the_largest_timestamp_is_found(self) -> None:
        visible = [r for _, records, _ in self.batches for r in records if r.offset >= self.start]
        found = self.log.max_timestamp()
        assert (found.timestamp if found else None) == max((r.timestamp for r in visible), default=None)


LogIsAList.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
test_a_log_is_a_list = LogIsAList.TestCase
