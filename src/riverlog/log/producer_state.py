"""What a partition remembers of its idempotent producers, so that a retry is not stored twice.

For each producer id: its epoch, and up to five batches it appended last. A producer has at most five
requests in flight, so a batch that is retried is among them or was never appended.

    known 10-14 15-19 | next 20-24 -> append | 15-19 again -> duplicate, answered with its first offset
                      | 25-29      -> OUT_OF_ORDER_SEQUENCE_NUMBER, 20-24 is missing
    a new epoch starts at sequence 0; an older epoch is a zombie: INVALID_PRODUCER_EPOCH
    a producer that is unknown (expired, or all it wrote is gone) may start anywhere
    a transaction marker in a new epoch begins that epoch: the next batch starts at sequence 0

`check` decides and changes nothing; `record` is called once the batch is in the file, and again for each
batch when the state is rebuilt from the log. Pure: no clock, no files.

A `.snapshot` file holds the state before the offset it is named by (big-endian, Kafka's version 1):
    0  version        int16    1
    2  CRC-32C        uint32   of all that follows
    6  entry count    int32
   10  entries of 46 bytes: producer id int64, epoch int16, last sequence int32, last offset int64, its
       batch's offset delta int32, timestamp int64, coordinator epoch int32, offset where the open
       transaction begins int64 (-1: none)
Only the last batch is in it; the other four are looked up in the log after a restart.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from crc32c import crc32c

from riverlog.errors import StorageError
from riverlog.log.open_transactions import OpenTransactions
from riverlog.log.transaction_index import AbortedTransaction
from riverlog.protocol.batches import TRANSACTIONAL_BIT
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from riverlog.protocol.batches import BatchHeader
    from riverlog.protocol.control_records import TransactionMarker

BATCHES_REMEMBERED = 5
"""What the protocol demands: a producer keeps at most five requests in flight."""

PRODUCERS_MAX = 200_000
"""Producers remembered for one partition; beyond that those silent for longest are forgotten."""

FIRST_VERSION_WITH_EPOCH_PER_END = 2
"""Of `transaction.version`."""

SEQUENCE_MAX = 2**31 - 1
SNAPSHOT_VERSION = 1
_SNAPSHOT_HEAD = Struct(">hIi")
_SNAPSHOT_ENTRY = Struct(">qhiqiqiq")
_CHECKED_FROM = 6
_NONE = -1


class AppendedBatch(NamedTuple):
    """One batch that a producer appended."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


class SequenceVerdict(NamedTuple):
    """Why a batch is not to be appended: an error, or it is there already."""

    error_code: int
    message: str
    duplicate_of: AppendedBatch | None


class Producer:
    """One producer's place in this partition."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "epoch",
        "last_sequence",
        "last_timestamp",
        "open_transaction_offset",
        "producer_id",
    )

    def __init__(self, producer_id: int, epoch: int) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.last_sequence = _NONE
        self.last_timestamp = _NONE
        self.coordinator_epoch = _NONE
        # The first offset of the transaction that is not decided yet, -1 if there is none.
        self.open_transaction_offset = _NONE
        # Oldest first; all of the current epoch.
        self.batches: list[AppendedBatch] = []


class ProducerState:
    """All producers of one partition."""

    __slots__ = ("_producers", "_producers_max", "transactions")

    def __init__(self, producers_max: int = PRODUCERS_MAX) -> None:
        self._producers: dict[int, Producer] = {}
        self._producers_max = producers_max
        self.transactions = OpenTransactions()

    def __len__(self) -> int:
        return len(self._producers)

    def __iter__(self) -> Iterator[Producer]:
        return iter(self._producers.values())

    def get(self, producer_id: int) -> Producer | None:
        """Give what is known of one producer."""
        return self._producers.get(producer_id)

    def check(self, header: BatchHeader) -> SequenceVerdict | None:
        """Judge a batch of data; None means: append it.

        One without a sequence is a coordinator's own: its epoch counts, its place among others does not.
        """
        producer = self._producers.get(header.producer_id)
        if producer is None:
            return None
        epoch = producer.epoch
        sequence = header.base_sequence
        if header.producer_epoch == epoch:
            if sequence != (producer.last_sequence + 1) & SEQUENCE_MAX and sequence >= 0:
                return _out_of_sequence(producer, header)
        elif header.producer_epoch < epoch:
            return _stale_epoch(producer, header.producer_epoch)
        elif sequence > 0:
            return SequenceVerdict(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"a new epoch of producer {header.producer_id} starts at sequence 0, not at {sequence}",
                None,
            )
        if producer.open_transaction_offset >= 0 and not header.attributes & TRANSACTIONAL_BIT:
            return SequenceVerdict(
                ErrorCode.INVALID_TXN_STATE,
                f"producer {header.producer_id} has an open transaction, the batch is not part of one",
                None,
            )
        return None

    def check_marker(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, transaction_version: int
    ) -> SequenceVerdict | None:
        """Judge the end of a transaction; None means: append it.

        From version 2 on a coordinator raises the producer's epoch before each end (KIP-890). So an end in
        the epoch of the open transaction's own records is a late one, of an earlier transaction. Where
        none is open it is the same end again: that does no harm.
        """
        producer = self._producers.get(producer_id)
        if producer is None:
            return None
        is_late = transaction_version >= FIRST_VERSION_WITH_EPOCH_PER_END and (
            producer_epoch == producer.epoch and producer.open_transaction_offset >= 0
        )
        if producer_epoch < producer.epoch or is_late:
            return _stale_epoch(producer, producer_epoch)
        if coordinator_epoch < producer.coordinator_epoch:
            return SequenceVerdict(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"producer {producer_id} is coordinated in epoch {producer.coordinator_epoch},"
                f" no longer in {coordinator_epoch}",
                None,
            )
        return None

    def record(self, header: BatchHeader, base_offset: int, timestamp: int) -> None:
        """Take in a batch of data that is in the file now; the producer's expiry counts from `timestamp`."""
        producer_id = header.producer_id
        producer = self._producers.get(producer_id)
        if producer is None:
            producer = self._add(producer_id, header.producer_epoch)
        elif producer.epoch != header.producer_epoch:
            producer.epoch = header.producer_epoch
            producer.batches = []
        first_sequence = header.base_sequence
        delta = header.last_offset_delta
        last_sequence = (first_sequence + delta) & SEQUENCE_MAX if first_sequence >= 0 else _NONE
        batches = producer.batches
        batches.append(
            AppendedBatch(
                first_sequence, last_sequence, base_offset, base_offset + delta, header.max_timestamp
            )
        )
        if len(batches) > BATCHES_REMEMBERED:
            del batches[0]
        producer.last_sequence = last_sequence
        producer.last_timestamp = timestamp
        if header.attributes & TRANSACTIONAL_BIT and producer.open_transaction_offset < 0:
            producer.open_transaction_offset = base_offset
            self.transactions.begin(producer_id, base_offset)

    def record_marker(
        self, header: BatchHeader, marker: TransactionMarker, offset: int, timestamp: int
    ) -> AbortedTransaction | None:
        """Take in the end of a transaction that is in the file now; give what it aborts.

        A transaction without any record here has no bearing on readers, however it ended.
        """
        producer = self._producers.get(header.producer_id)
        if producer is None:
            producer = self._add(header.producer_id, header.producer_epoch)
        elif header.producer_epoch > producer.epoch:
            producer.epoch = header.producer_epoch
            producer.batches = []
            producer.last_sequence = _NONE
        producer.coordinator_epoch = max(producer.coordinator_epoch, marker.coordinator_epoch)
        producer.last_timestamp = timestamp
        first_offset = producer.open_transaction_offset
        if first_offset < 0:
            return None
        producer.open_transaction_offset = _NONE
        transactions = self.transactions
        transactions.decide(first_offset, offset)
        if marker.is_commit:
            return None
        first_undecided = transactions.first_undecided
        last_stable_offset = offset + 1 if first_undecided < 0 else first_undecided
        return AbortedTransaction(producer.producer_id, first_offset, offset, last_stable_offset)

    def was_active_since(self, time_ms: int) -> bool:
        """Say whether any producer appended something at `time_ms` or later."""
        return any(producer.last_timestamp >= time_ms for producer in self._producers.values())

    def remember_from(self, earlier: ProducerState) -> None:
        """Take over the batches that `earlier` knows of producers which have not appended since."""
        for producer in self._producers.values():
            before = earlier.get(producer.producer_id)
            if (
                before is not None
                and before.epoch == producer.epoch
                and before.last_sequence == producer.last_sequence
                and len(before.batches) > len(producer.batches)
            ):
                producer.batches = before.batches

    def expire(self, now_ms: int, after_ms: int) -> int:
        """Forget producers silent for `after_ms` without an open transaction; say how many."""
        gone = [
            producer.producer_id
            for producer in self._producers.values()
            if producer.open_transaction_offset < 0 and now_ms - producer.last_timestamp >= after_ms
        ]
        for producer_id in gone:
            del self._producers[producer_id]
        return len(gone)

    def encode(self) -> bytes:
        """Write a snapshot file's content."""
        body = bytearray(_SNAPSHOT_HEAD.size)
        for producer in self._producers.values():
            last = producer.batches[-1] if producer.batches else None
            body += _SNAPSHOT_ENTRY.pack(
                producer.producer_id,
                producer.epoch,
                producer.last_sequence,
                last.last_offset if last else _NONE,
                last.last_offset - last.base_offset if last else 0,
                producer.last_timestamp,
                producer.coordinator_epoch,
                producer.open_transaction_offset,
            )
        _SNAPSHOT_HEAD.pack_into(body, 0, SNAPSHOT_VERSION, 0, len(self._producers))
        _SNAPSHOT_HEAD.pack_into(
            body, 0, SNAPSHOT_VERSION, crc32c(memoryview(body)[_CHECKED_FROM:]), len(self._producers)
        )
        return bytes(body)

    @classmethod
    def decode(cls, content: bytes, path: str) -> ProducerState:
        """Read a snapshot file's content. Raises StorageError if it is not whole."""
        if len(content) < _SNAPSHOT_HEAD.size:
            raise StorageError(f"a producer snapshot of {len(content)} bytes is too short", path=path)
        version, crc, count = _SNAPSHOT_HEAD.unpack_from(content)
        if version != SNAPSHOT_VERSION:
            raise StorageError(f"version {version} of a producer snapshot is unknown", path=path)
        if crc32c(memoryview(content)[_CHECKED_FROM:]) != crc:
            raise StorageError("a producer snapshot's CRC does not match its bytes", path=path)
        if len(content) != _SNAPSHOT_HEAD.size + count * _SNAPSHOT_ENTRY.size:
            raise StorageError(f"{count} producers do not take {len(content)} bytes", path=path)
        state = cls()
        state._load(_SNAPSHOT_ENTRY.iter_unpack(memoryview(content)[_SNAPSHOT_HEAD.size :]))
        return state

    def _load(self, entries: Iterable[tuple[int, ...]]) -> None:
        begun = []
        for producer_id, epoch, sequence, offset, delta, timestamp, coordinator_epoch, open_offset in entries:
            producer = self._add(producer_id, epoch)
            producer.last_sequence = sequence
            producer.last_timestamp = timestamp
            producer.coordinator_epoch = coordinator_epoch
            producer.open_transaction_offset = open_offset
            if open_offset >= 0:
                begun.append((open_offset, producer_id))
            if offset >= 0:
                first_sequence = (sequence - delta) & SEQUENCE_MAX if sequence >= 0 else _NONE
                producer.batches.append(
                    AppendedBatch(first_sequence, sequence, offset - delta, offset, timestamp)
                )
        for open_offset, producer_id in sorted(begun):
            self.transactions.begin(producer_id, open_offset)

    def _add(self, producer_id: int, epoch: int) -> Producer:
        if len(self._producers) >= self._producers_max:
            self._forget_oldest()
        producer = self._producers[producer_id] = Producer(producer_id, epoch)
        return producer

    def _forget_oldest(self) -> None:
        """Make room for a tenth of the limit, so that this is not done for every newcomer."""
        idle = [each for each in self._producers.values() if each.open_transaction_offset < 0]
        idle.sort(key=lambda producer: producer.last_timestamp)
        for producer in idle[: max(self._producers_max // 10, 1)]:
            del self._producers[producer.producer_id]


def _stale_epoch(producer: Producer, epoch: int) -> SequenceVerdict:
    return SequenceVerdict(
        ErrorCode.INVALID_PRODUCER_EPOCH,
        f"producer {producer.producer_id} has moved on from epoch {epoch}, to {producer.epoch}"
        if epoch < producer.epoch
        else f"producer {producer.producer_id} is in epoch {epoch}: its transaction ends in a later one",
        None,
    )


def _out_of_sequence(producer: Producer, header: BatchHeader) -> SequenceVerdict:
    first, last = header.base_sequence, (header.base_sequence + header.last_offset_delta) & SEQUENCE_MAX
    for batch in producer.batches:
        if batch.first_sequence == first and batch.last_sequence == last:
            return SequenceVerdict(ErrorCode.NONE, "", batch)
    return SequenceVerdict(
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"producer {producer.producer_id} sent sequence {first} where"
        f" {(producer.last_sequence + 1) & SEQUENCE_MAX} is next",
        None,
    )
