"""A partition's directory to record batches, without a broker.

`read_committed` ends before the first transaction that is not decided, as a broker's last stable offset does:
from the first batch that belongs to a transaction the reader looks ahead for the marker that ends it.

    [A data] [B data] [A: abort] [plain] [B: commit] [C data]  end
     look ahead -->       skip                            ^ nobody knows: reading ends here

On a cluster, what is on one disk may not be on the others yet: give the high watermark as the end.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from riverlog.columnar.batches import Collector
from riverlog.columnar.isolation import Outcomes, Verdict
from riverlog.columnar.options import READ_COMMITTED, RecordsLost, is_read_committed
from riverlog.columnar.schema import checked_columns, schema
from riverlog.columnar.segment_files import Run, SegmentDirectory
from riverlog.errors import ConfigError, CorruptBatch, RemoteProtocolError, StorageError
from riverlog.protocol.batches import BatchHeader
from riverlog.types import TopicPartition

_OFFSET_MAX = 2**63 - 1
_PARTITION = re.compile(r"(.+)-(\d+)\Z")


def read_segments(
    directory: str | os.PathLike[str],
    *,
    start: int | None = None,
    end: int | None = None,
    isolation: str = READ_COMMITTED,
    columns: Sequence[str] | None = None,
    skip_lost: bool = False,
) -> pa.RecordBatchReader:
    """Read the records of a partition's directory with offsets in [start, end), as they are asked for.

    Without `start` from the oldest record, without `end` to the newest that `isolation` lets be seen.
    `skip_lost`: go on with the oldest record where those before it were deleted.

    Raises ConfigError at once for what makes no sense. While reading: CorruptBatch, RecordsLost, and
    StorageError if the log ends before a given `end`, or OSError.
    """
    path = os.path.abspath(os.fspath(directory))
    found = _PARTITION.match(os.path.basename(path))
    if found is None or not os.path.isdir(path):
        raise ConfigError("directory", path, "the directory of a partition, such as data/orders-3")
    chosen = checked_columns(columns)
    place = TopicPartition(found[1], int(found[2]))
    outcomes = Outcomes() if is_read_committed(isolation) else None
    files = SegmentDirectory(path, place, skips_lost=skip_lost)
    reader = _SegmentReader(files, chosen, outcomes, start, end)
    return pa.RecordBatchReader.from_batches(schema(chosen), reader.record_batches())


@dataclass(slots=True)
class _SegmentReader:
    files: SegmentDirectory
    columns: tuple[str, ...]
    outcomes: Outcomes | None
    """None: read_uncommitted."""
    start: int | None
    end: int | None
    scout: Iterator[Run] | None = None
    """Reads ahead for markers, from the first batch on that needs one."""

    def record_batches(self) -> Iterator[pa.RecordBatch]:
        """Give the record batches one by one."""
        first = self.files.first_offset(self.start)
        end = _OFFSET_MAX if self.end is None else self.end
        if first >= end:
            return
        collector = Collector(self.files.place, self.columns)
        undecided: int | None = None
        is_complete = False
        for run in self.files.runs(first):
            try:
                for position, header in run.batches:
                    verdict = Verdict.SKIP
                    if header.base_offset < end:
                        verdict = self._judge(header)
                    if verdict is Verdict.WAIT:
                        verdict = self._decided(header)
                    if verdict is Verdict.WAIT:
                        undecided = end = header.base_offset
                    elif verdict is Verdict.TAKE:
                        collector.add(run.buffer, position, header)
                    if collector.is_full:
                        yield from collector.drain(first, end)
                    is_complete = header.next_offset >= end
                    if is_complete:
                        break
                yield from collector.drain(first, end)
            except RemoteProtocolError as error:
                raise CorruptBatch(str(error), path=run.path) from None
            if is_complete:
                break
        if self.end is None:
            return
        if undecided is not None:
            raise StorageError(
                f"{self.files.place}: at offset {undecided} begins what a transaction has not decided yet, "
                f"before {self.end}",
                path=self.files.path,
            )
        if not is_complete and not self.files.reaches(self.end):
            raise StorageError(
                f"{self.files.place}: the log ends before offset {self.end}", path=self.files.path
            )

    def _judge(self, header: BatchHeader) -> Verdict:
        if self.outcomes is not None:
            return self.outcomes.judge(header)
        return Verdict.SKIP if header.is_control else Verdict.TAKE

    def _decided(self, header: BatchHeader) -> Verdict:
        """Look ahead until the batch's transaction has ended; WAIT if it has not, by now.

        Where what lies ahead was deleted meanwhile, the marker may have gone with it, and the next one
        may end a later transaction: such a batch counts as lost with the rest.
        """
        assert self.outcomes is not None
        if self.scout is None:
            ahead = SegmentDirectory(self.files.path, self.files.place, skips_lost=False)
            self.scout = ahead.runs(header.base_offset)
        try:
            for run in self.scout:
                for position, found in run.batches:
                    if found.is_control and found.base_offset > header.last_offset:
                        self.outcomes.note(found, run.buffer, position)
                verdict = self.outcomes.judge(header)
                if verdict is not Verdict.WAIT:
                    return verdict
        except RecordsLost:
            if not self.files.skips_lost:
                raise
            self.scout = None
            return Verdict.SKIP
        return Verdict.WAIT
