"""Which batches are for readers: no control batches, and under read_committed none that was aborted.

How a transaction ended is told by its marker, a control batch behind its records. A reader comes to the
records first, so somebody has to tell it:

- A broker does, in the fetch reply: the aborted transactions with records in what it sends, by producer and
  first offset. `AbortedList` keeps which producers are inside one: from there to their abort marker.
- In segment files the markers are ahead. `Outcomes` is told of those by whoever looks ahead.

    offsets  0        1        2          3            4
             [A data] [B data] [A: abort] [A data]     [B: commit]
    read     skipped  1 taken             depends on A's next marker; without one, reading ends before it

Not from the `.txnindex` beside a segment: a running broker writes it in pieces, so it may lack the newest
transactions, and to take these for committed would be wrong without a sign of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from enum import Enum, auto

from riverlog.protocol.batches import BatchHeader, ReadableBuffer
from riverlog.protocol.control_records import TransactionMarker, read_marker
from riverlog.protocol.records import read_records


class Verdict(Enum):
    """What a reader does with a batch."""

    TAKE = auto()
    SKIP = auto()
    WAIT = auto()
    """Its transaction is not decided: nothing from here on may be read yet."""


def marker_in(buffer: ReadableBuffer, position: int) -> TransactionMarker | None:
    """Read the marker in a control batch; None for other control batches. Raises RemoteProtocolError."""
    for record in read_records(buffer, position):
        return read_marker(record)
    return None  # compaction may leave the batch and take its record


class AbortedList:
    """Leaves out what a broker's fetch replies name as aborted: under read_uncommitted they name nothing.

    Batches are to be judged in their order.
    """

    def __init__(self) -> None:
        self._ahead: deque[tuple[int, int]] = deque()
        self._inside: set[int] = set()

    def begin_reply(self, aborted: Iterable[tuple[int, int]]) -> None:
        """Take the (first offset, producer id) of the aborted transactions with records in the next reply.

        A reply tells all that concern it, so nothing is kept from the one before.
        """
        self._ahead = deque(sorted(aborted))
        self._inside.clear()

    def judge(self, header: BatchHeader, buffer: ReadableBuffer, position: int) -> Verdict:
        """Say what to do with the next batch. Raises RemoteProtocolError for a malformed marker."""
        while self._ahead and self._ahead[0][0] <= header.last_offset:
            self._inside.add(self._ahead.popleft()[1])
        is_inside = header.is_transactional and header.producer_id in self._inside
        if header.is_control and is_inside:
            marker = marker_in(buffer, position)
            if marker is not None and not marker.is_commit:
                self._inside.remove(header.producer_id)
        return Verdict.SKIP if header.is_control or is_inside else Verdict.TAKE


class Outcomes:
    """How transactions ended, as far as somebody has looked ahead in the log."""

    def __init__(self) -> None:
        # By producer: (offset of the marker, whether it commits), those ahead of the reader, in their order.
        self._markers: dict[int, deque[tuple[int, bool]]] = {}

    def note(self, header: BatchHeader, buffer: ReadableBuffer, position: int) -> None:
        """Take note of a control batch further on. Raises RemoteProtocolError for a malformed marker."""
        marker = marker_in(buffer, position)
        if marker is not None:
            ahead = self._markers.setdefault(header.producer_id, deque())
            ahead.append((header.base_offset, marker.is_commit))

    def judge(self, header: BatchHeader) -> Verdict:
        """Say what to do with the next batch. WAIT: look further ahead, and ask again."""
        if not header.is_transactional:
            return Verdict.SKIP if header.is_control else Verdict.TAKE
        ahead = self._markers.get(header.producer_id)
        while ahead and ahead[0][0] <= header.last_offset:
            ahead.popleft()
        if header.is_control:
            if ahead is not None and not ahead:
                del self._markers[header.producer_id]
            return Verdict.SKIP
        if not ahead:
            return Verdict.WAIT
        return Verdict.TAKE if ahead[0][1] else Verdict.SKIP
