"""A reader of an output that goes along when another version takes over.

    for record in follow("clicks-per-minute", "127.0.0.1:9092"):
        ...

It reads committed records of the current version, and at a flip the old one to its recorded end and the new
one from its recorded offset on (`pointers`). It keeps no offsets in the cluster: `place` is where it
stands, to be kept by whoever needs to come back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Self

from riverlog.client import ConsumedRecord, Span
from riverlog.errors import RiverlogError
from riverlog.pipelines.jobs.board import Board
from riverlog.pipelines.jobs.pointers import Place, Pointer, first, next_place, spans, topic_of


class UnknownOutput(RiverlogError):
    """No app has ever published an output of this name."""


class Follower:
    """Records of an output, across its versions; made by `follow`."""

    def __init__(self, board: Board, output: str, place: Place | None, *, stops_at_end: bool) -> None:
        self._board = board
        self._output = output
        self._stops_at_end = stops_at_end
        pointer = self._pointer()
        start = place if place is not None else first(pointer)
        self._leg = start.leg
        self._offsets = dict(start.offsets)
        self._is_done = False

    @property
    def place(self) -> Place:
        """Where it stands: after the record that was handed out last."""
        return Place(self._leg, dict(self._offsets))

    @property
    def version(self) -> int:
        """The version that it reads."""
        return self._board.known.pointers[f"pointer {self._output}"].legs[self._leg].version

    def __iter__(self) -> Iterator[ConsumedRecord]:
        for batch in self._batches():
            for record in batch:
                self._offsets[record.partition] = record.offset + 1
                yield record

    def _batches(self) -> Iterator[list[ConsumedRecord]]:
        """Hand out records as they come, an empty list while none does."""
        while not self._is_done:
            yield from self._read_leg()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End reading."""
        self._is_done = True
        self._board.__exit__()

    def _read_leg(self) -> Iterator[list[ConsumedRecord]]:
        """Read the leg where it stands to its end, or until it gets one."""
        pointer = self._pointer()
        leg = pointer.legs[self._leg]
        topic = topic_of(self._output, leg.version)
        partitions = len(self._board.admin.topic(topic).partitions)
        wanted = {index: Span(*span) for index, span in spans(pointer, self.place, partitions).items()}
        is_last = leg.end is None
        if is_last and self._stops_at_end:
            bounds = self._board.admin.bounds(topic)
            wanted = {index: Span(span.start, bounds[index].latest) for index, span in wanted.items()}
        reader = self._board.reader(topic, wanted)
        with closing(reader):
            for batch in reader.batches():
                if is_last and not self._stops_at_end and self._pointer().legs[self._leg].end is not None:
                    return  # what of this batch belongs to the leg is read again, with its end
                yield batch
                if self._is_done:
                    return
        if is_last:
            self._is_done = True
            return
        place = next_place(pointer, self.place)
        self._leg, self._offsets = place.leg, dict(place.offsets)

    def _pointer(self) -> Pointer:
        pointer = self._board.refresh().pointer(self._output)
        if pointer is None:
            known = ", ".join(sorted(each.output for each in self._board.known.pointers.values()))
            raise UnknownOutput(f"no app has an output {self._output!r}; known are: {known or 'none'}")
        return pointer


def follow(
    output: str,
    servers: str = "127.0.0.1:9092",
    *,
    place: Place | None = None,
    stops_at_end: bool = False,
    timeout_seconds: float = 10.0,
    properties: Mapping[str, str] | None = None,
) -> Follower:
    """Read an output by its readable name, through all changes of its version.

    Begins with the whole history in the current version's words, or at a `place` that an earlier reader
    kept. With `stops_at_end` it ends once it has read what was there. Raises `UnknownOutput`.
    """
    board = Board(servers, timeout_seconds=timeout_seconds, properties=properties)
    return Follower(board, output, place, stops_at_end=stops_at_end)
