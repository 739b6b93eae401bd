"""What was sent to a partition, what of it was acknowledged, and whether the log kept its word.

    sent           every record has a writer and a number; its value follows from both
    acknowledged   [base offset, writer, first number, count] as the broker answered
    kept           the batches that the last check found, in order; the next check goes on behind them

    kept  [w1 0..4][w2 0..0][w1 5..9]...
                            ▲ acknowledged end: nothing below may ever change or go
                              (what lies above was read but never promised: a torn tail may take it)

A check claims: offsets have no gap; every acknowledged batch lies at its offset, whole, once; no record is
there twice, none was never sent; a writer's numbers ascend, and without a hole where it retried all.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from riverlog.protocol.batches import HEADER_BYTES, BatchHeader, read_header, split_batches
from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.records import Record, read_records
from tests.process.raw_client import EARLIEST, RawClient, Refused

_BLOB = random.Random(1).randbytes(1 << 16) + b"a line of text that compresses well, " * (1 << 11)


def value_of(number: int, size: int) -> bytes:
    """Give the value that record `number` must have."""
    start = number * 97 % (len(_BLOB) - size)
    return _BLOB[start : start + size]


def key_of(writer: str, number: int, size: int) -> bytes:
    return b"%s:%d:%d" % (writer.encode(), number, size)


class Run(NamedTuple):
    """A batch: consecutive numbers of one writer."""

    base_offset: int
    writer: str
    first: int
    count: int


class KeptBatch(NamedTuple):
    """A batch as it was found in the log."""

    run: Run
    crc: int


@dataclass
class PartitionLedger:
    """One partition's account. Writers, reader and checker take turns under its lock."""

    topic: str
    partition: int
    loses_old_segments: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    sent: dict[str, int] = field(default_factory=dict)
    """How many numbers each writer has used."""
    has_no_holes: set[str] = field(default_factory=set)
    """Writers that retry until everything is acknowledged."""
    acknowledged: list[Run] = field(default_factory=list)
    acknowledged_end: int = 0
    seen: dict[int, int] = field(default_factory=dict)
    """Base offset to CRC of what a consumer was given since the last check."""
    kept: list[KeptBatch] = field(default_factory=list)

    def note_sent(self, writer: str, end: int, *, retries: bool) -> None:
        """Let the writer use its numbers below `end`."""
        with self.lock:
            self.sent[writer] = max(end, self.sent.get(writer, 0))
            if retries:
                self.has_no_holes.add(writer)

    def note_acknowledged(self, run: Run) -> None:
        """Take in that the broker promised to keep a batch."""
        with self.lock:
            self.acknowledged.append(run)
            self.acknowledged_end = max(self.acknowledged_end, run.base_offset + run.count)

    def note_seen(self, records: bytes) -> int:
        """Take in what a consumer was given; give the offset where it goes on."""
        position, end = 0, -1
        with self.lock:
            while position + HEADER_BYTES <= len(records):
                header = read_header(records, position)
                if position + header.size > len(records):
                    break
                self.seen[header.base_offset] = header.crc
                end = header.next_offset
                position += header.size
        return end

    def forget_unpromised(self) -> None:
        """The tail was damaged: what was kept or seen, but never acknowledged, may be gone or come again."""
        while self.kept and self.kept[-1].run.base_offset >= self.acknowledged_end:
            self.kept.pop()
        self.seen = {at: crc for at, crc in self.seen.items() if at < self.acknowledged_end}

    def check(self, client: RawClient, *, retries_are_done: bool = False) -> None:
        """Read on behind what was kept, and hold all of it against what was promised."""
        start, offset, found = self._read_on(client)
        for header, records in found:
            assert header.base_offset == offset, (
                f"{self}: offset {header.base_offset} stands where {offset} was due"
            )
            self.kept.append(KeptBatch(self._run_of(header, records), header.crc))
            offset = header.next_offset
        end = client.offset(self.topic, self.partition)
        assert offset == end, f"{self}: reads to {offset}, the log is said to end at {end}"
        assert self.acknowledged_end <= end, f"{self}: acknowledged to {self.acknowledged_end}, ends at {end}"
        self._check_numbers(complete=start == 0, retries_are_done=retries_are_done)
        self._check_promises(start)

    def _read_on(self, client: RawClient) -> tuple[int, int, list[tuple[BatchHeader, list[Record]]]]:
        """Give where the log starts, where it was read from, and what is there."""
        while True:
            start = client.offset(self.topic, self.partition, EARLIEST)
            assert self.loses_old_segments or start == 0, f"{self}: the log begins at {start}"
            self.kept = [batch for batch in self.kept if batch.run.base_offset >= start]
            last = self.kept[-1].run if self.kept else None
            offset = last.base_offset + last.count if last is not None else start
            try:
                return start, offset, list(read_batches(client, self.topic, self.partition, offset))
            except Refused as refused:
                if not self._has_gone(client, offset, refused):
                    raise

    def check_from_the_start(self, client: RawClient) -> None:
        """Read everything again: what earlier checks found must not have changed."""
        while True:
            start = client.offset(self.topic, self.partition, EARLIEST)
            known = {batch.run.base_offset: batch for batch in self.kept if batch.run.base_offset >= start}
            try:
                for header, records in read_batches(client, self.topic, self.partition, start):
                    batch = KeptBatch(self._run_of(header, records), header.crc)
                    assert known.pop(header.base_offset, None) == batch, f"{self}: {batch.run} has changed"
            except Refused as refused:
                if not self._has_gone(client, start, refused):
                    raise
            else:
                break
        assert not known, f"{self}: {len(known)} batches are gone, the first at {min(known)}"

    def _has_gone(self, client: RawClient, offset: int, refused: Refused) -> bool:
        """Old segments may go between two requests: then the log starts behind `offset` by now."""
        is_out_of_range = refused.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        return is_out_of_range and client.offset(self.topic, self.partition, EARLIEST) > offset

    def _run_of(self, header: BatchHeader, records: list[Record]) -> Run:
        writer, first = "", -1
        for index, record in enumerate(records):
            assert record.offset == header.base_offset + index, f"{self}: {record.offset} in {header}"
            assert record.key is not None
            name, number, size = record.key.decode().split(":")
            if index == 0:
                writer, first = name, int(number)
            assert (name, int(number)) == (writer, first + index), f"{self}: {record.key!r} in {header}"
            assert record.value == value_of(int(number), int(size)), f"{self}: offset {record.offset}: value"
        assert len(records) == header.record_count, f"{self}: {len(records)} records in {header}"
        assert first + len(records) <= self.sent.get(writer, 0), f"{self}: {writer} never sent {first}"
        return Run(header.base_offset, writer, first, len(records))

    def _check_numbers(self, *, complete: bool, retries_are_done: bool) -> None:
        """Nothing twice, nothing out of order; no holes where a writer retries."""
        following: dict[str, int] = {}
        for run, _crc in self.kept:
            due = following.get(run.writer, 0 if complete else run.first)
            holes_are_fine = run.writer not in self.has_no_holes
            assert run.first == due or (run.first > due and holes_are_fine), (
                f"{self}: at {run.base_offset} {run.writer} has {run.first}, due was {due}"
            )
            following[run.writer] = run.first + run.count
        if retries_are_done:
            for writer in self.has_no_holes:
                end = following.get(writer, 0 if complete else self.sent[writer])
                assert end == self.sent[writer], f"{self}: {writer} ends at {end}, sent {self.sent[writer]}"

    def _check_promises(self, start: int) -> None:
        kept = {batch.run.base_offset: batch for batch in self.kept}
        for run in self.acknowledged:
            assert run.base_offset < start or kept[run.base_offset].run == run, f"{self}: {run} was promised"
        # They are kept from now on; what is kept is compared with what is read at the very end.
        self.acknowledged.clear()
        for at, crc in self.seen.items():
            assert at < start or (at in kept and kept[at].crc == crc), f"{self}: a consumer saw another {at}"
        self.seen.clear()

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def read_batches(
    client: RawClient, topic: str, partition: int, offset: int
) -> Iterable[tuple[BatchHeader, list[Record]]]:
    """Read a partition from `offset` to its end, batch by batch; every CRC is checked."""
    while True:
        data = client.fetch(topic, partition, offset).records
        if not data:
            return
        walk = split_batches(data, 0, len(data))
        assert walk.batches, f"{topic}-{partition} at {offset}: {walk.stop}"
        for position, header in walk.batches:
            yield header, list(read_records(data, position))
            offset = header.next_offset
