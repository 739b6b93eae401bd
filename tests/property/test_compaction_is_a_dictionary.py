"""A compacted log says of each key what a dictionary says, whenever it is cleaned and whatever breaks."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from riverlog.config import LogSettings, TopicSettings
from riverlog.errors import StorageError
from riverlog.log import LogManager, PartitionLog
from riverlog.protocol.batches import split_batches
from riverlog.protocol.compression import Compression
from riverlog.protocol.control_records import read_marker
from riverlog.protocol.records import Record, build_batch, read_records
from tests.batch_builders import BATCH_TIME_MS
from tests.compaction import clean
from tests.faulty_disk import PowerLossDisk
from tests.log_builders import ORDERS, TOPIC_ID

RETENTION_MS = 50
TOPIC = TopicSettings(
    segment_bytes=700,
    index_interval_bytes=200,
    cleanup_policy=frozenset({"compact"}),
    delete_retention_ms=RETENTION_MS,
    file_delete_delay_ms=0,
)
PRODUCERS = st.sampled_from((-1, -1, 1, 2))
KEYS = st.integers(0, 12)
VALUES = st.sampled_from((None, b"", b"v" * 10, b"w" * 90))
PAIRS = st.lists(st.tuples(KEYS, VALUES), min_size=1, max_size=6)
CALLS_WHILE_CLEANING = (
    "open",
    "pwrite",
    "preadv",
    "fdatasync",
    "sync_directory",
    "rename",
    "unlink",
    "listdir",
)


class Entry(NamedTuple):
    """A record that was appended, or a marker."""

    offset: int
    producer_id: int
    key: int
    value: bytes | None
    timestamp: int
    is_commit: bool | None = None


class CompactionIsADictionary(RuleBasedStateMachine):
    """A log that is cleaned now and then, beside all that was ever appended to it."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="riverlog-property-"))
        self.disk = PowerLossDisk(self.root)
        self.now_ms = BATCH_TIME_MS
        self.entries: list[Entry] = []
        self.sequences = {1: 0, 2: 0}

    @initialize()
    def create(self) -> None:
        self.manager = self.new_manager()
        self.log: PartitionLog = self.manager.create(ORDERS, TOPIC_ID, self.now_ms)
        self.log.sync()

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

    def committed(self) -> dict[int, Entry]:
        """Fold what a reader of committed data may see, up to the first open transaction."""
        open_since: dict[int, list[Entry]] = {}
        decided = []
        for entry in self.entries:
            if entry.is_commit is not None:
                data = open_since.pop(entry.producer_id, [])
                decided += data if entry.is_commit else []
            elif entry.producer_id >= 0:
                open_since.setdefault(entry.producer_id, []).append(entry)
            else:
                decided.append(entry)
        end = min((data[0].offset for data in open_since.values()), default=1 << 62)
        visible = sorted(entry for entry in decided if entry.offset < end)
        return {entry.key: entry for entry in visible}

    # What is done to it

    @rule(producer_id=PRODUCERS, pairs=PAIRS, codec=st.sampled_from(Compression))
    def append(self, producer_id: int, pairs: list[tuple[int, bytes | None]], codec: Compression) -> None:
        self.now_ms += 1
        is_transactional = producer_id >= 0
        data = build_batch(
            [Record(0, self.now_ms, b"%d" % key, value) for key, value in pairs],
            compression=codec,
            producer_id=producer_id,
            producer_epoch=0 if is_transactional else -1,
            base_sequence=self.sequences[producer_id] if is_transactional else -1,
            is_transactional=is_transactional,
        )
        result = self.log.append(data, 0, len(data), self.now_ms)
        assert result.error_code == 0, result
        if is_transactional:
            self.sequences[producer_id] += len(pairs)
        self.entries += [
            Entry(result.base_offset + number, producer_id, key, value, self.now_ms)
            for number, (key, value) in enumerate(pairs)
        ]

    @rule(producer_id=st.sampled_from((1, 2)), is_commit=st.booleans())
    def end(self, producer_id: int, is_commit: bool) -> None:
        self.now_ms += 1
        result = self.log.append_marker(
            producer_id, 0, is_commit=is_commit, coordinator_epoch=0, now_ms=self.now_ms
        )
        assert result.error_code == 0, result
        self.entries.append(Entry(result.base_offset, producer_id, -1, None, self.now_ms, is_commit))

    @rule()
    def let_time_pass(self) -> None:
        self.now_ms += RETENTION_MS

    @rule()
    def roll(self) -> None:
        self.log.roll_if_due(self.now_ms + (1 << 60))

    @rule(map_bytes=st.sampled_from((200, 500, 1 << 16)), io_bytes=st.sampled_from((4096, 1 << 16)))
    def clean(self, map_bytes: int, io_bytes: int) -> None:
        clean(
            self.log,
            now_ms=self.now_ms,
            disk=self.disk,
            log_cleaner_dedupe_buffer_size=map_bytes,
            log_cleaner_io_buffer_size=io_bytes,
        )
        self.manager.checkpoint()

    @rule(call=st.sampled_from(CALLS_WHILE_CLEANING), skip=st.integers(0, 25), seed=st.integers(0, 1 << 16))
    def fail_while_cleaning(self, call: str, skip: int, seed: int) -> None:
        """One call fails. If that left half a segment in place, the broker is started again."""
        self.log.sync()
        fault = self.disk.fail(call, skip=skip, times=1)
        try:
            self.clean(1 << 16, 1 << 16)
        except StorageError:
            pass
        self.disk.heal()
        if self.log.is_offline is not None:
            assert not fault.times
            self.start_again()

    @rule(call=st.sampled_from(CALLS_WHILE_CLEANING), skip=st.integers(0, 40), seed=st.integers(0, 1 << 16))
    def lose_power_while_cleaning(self, call: str, skip: int, seed: int) -> None:
        """Nothing works any more from some call on; then power is lost."""
        self.log.sync()
        self.disk.fail(call, skip=skip)
        try:
            self.clean(1 << 16, 1 << 16)
        except StorageError:
            pass
        self.disk.heal()
        self.disk.lose_power(random.Random(seed))
        self.start_again()

    @rule()
    def start_again(self) -> None:
        """What a crash of the process alone leaves is all there."""
        for directory in self.manager.directories:
            directory.close()
        self.manager = self.new_manager()
        log = self.manager.get(ORDERS)
        assert log is not None, self.manager.failed
        self.log = log

    @rule()
    def stop_and_start(self) -> None:
        self.manager.close(self.now_ms)
        self.start_again()

    # What must hold

    def read_committed(self) -> list[Record]:
        """Read as a client does that wants committed data only."""
        found: list[Record] = []
        offset = self.log.log_start_offset
        while offset < self.log.last_stable_offset:
            result = self.log.read(offset, 1 << 20, read_committed=True, must_return_one_batch=True)
            assert result.error_code == 0, result
            if result.records is None:
                # Nothing is left between here and the open transaction at the last stable offset.
                assert self.log.last_stable_offset < self.log.high_watermark
                break
            data = result.records.read()
            aborted = sorted(result.aborted or (), key=lambda each: each[1])
            active: set[int] = set()
            for position, header in split_batches(data, 0, len(data)).batches:
                while aborted and aborted[0][1] <= header.last_offset:
                    active.add(aborted.pop(0)[0])
                if header.is_control:
                    for record in read_records(data, position):
                        marker = read_marker(record)
                        if marker is not None and not marker.is_commit:
                            active.discard(header.producer_id)
                elif not (header.is_transactional and header.producer_id in active):
                    found += [each for each in read_records(data, position) if each.offset >= offset]
                offset = header.next_offset
        return found

    @invariant()
    def each_key_has_its_last_value(self) -> None:
        if not hasattr(self, "log"):
            return
        expected = self.committed()
        records = self.read_committed()
        assert [record.offset for record in records] == sorted({record.offset for record in records})
        found = {int(record.key or b""): record for record in records}
        for key, entry in expected.items():
            record = found.pop(key, None)
            if record is None:
                assert entry.value is None, (key, entry)
            else:
                assert (record.offset, record.value, record.timestamp) == (
                    entry.offset,
                    entry.value,
                    entry.timestamp,
                )
        assert not found

    @invariant()
    def nothing_was_made_up(self) -> None:
        if not hasattr(self, "log"):
            return
        assert self.log.log_end_offset == (self.entries[-1].offset + 1 if self.entries else 0)
        for segment in self.log.segments:
            for _, header in segment.headers():
                assert header.last_offset < self.log.log_end_offset

    @invariant()
    def what_is_clean_holds_each_key_once(self) -> None:
        if not hasattr(self, "log"):
            return
        known = {entry.offset: entry for entry in self.entries}
        keys = [
            known[record.offset].key
            for segment in self.log.segments
            for position, header in segment.headers()
            if not header.is_control and header.next_offset <= self.log.cleaned_offset
            for record in read_records(segment.read_batch(position, header))
        ]
        assert len(keys) == len(set(keys))


TestCompactionIsADictionary = CompactionIsADictionary.TestCase
TestCompactionIsADictionary.settings = settings(
    max_examples=25,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
