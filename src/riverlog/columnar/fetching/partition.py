"""The fetch loop of one partition: replies with whole, checked batches, one request ahead of who reads them.

    fetch 0 ─▶ reply ─▶ fetch 9 goes out ─▶ the reader decodes [0 .. 8] ─▶ reply ─▶ fetch 17 goes out ─▶ ...

So the broker and the network work while records are decoded, without a thread. Held at a time are the reply
being read and what the operating system buffers of the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from riverlog.columnar.batches import BadBatch, batches_from, checked_batches
from riverlog.columnar.fetching import requests
from riverlog.columnar.fetching.cluster import Cluster
from riverlog.columnar.fetching.connection import Connection
from riverlog.columnar.fetching.requests import Fetched, Retry
from riverlog.columnar.options import RecordsLost
from riverlog.errors import RemoteProtocolError, RequestRefused
from riverlog.protocol.batches import BatchHeader
from riverlog.protocol.error_codes import ErrorCode
from riverlog.types import TopicPartition


class Reply(NamedTuple):
    """Batches that follow each other, from the one that holds the offset asked for."""

    buffer: bytes
    batches: list[tuple[int, BatchHeader]]
    aborted: list[tuple[int, int]]
    """(first offset, producer id) of the aborted transactions with records here."""


class PartitionFetcher:
    """Reads [start, end) of one partition. Where records are gone it raises RecordsLost, or `skips_lost`."""

    def __init__(
        self,
        cluster: Cluster,
        place: TopicPartition,
        start: int,
        end: int,
        *,
        committed: bool,
        fetch_bytes: int,
        skips_lost: bool,
    ) -> None:
        self._cluster = cluster
        self._place = place
        self.start = start
        """Nothing below it is to be read; rises where records are gone, if need be to inside of a batch."""
        self._offset = start
        self._end = end
        self._committed = committed
        self._fetch_bytes = fetch_bytes
        self._skips_lost = skips_lost
        self._asked: tuple[Connection, int] | None = None  # whom, and from which offset

    def replies(self) -> Iterator[Reply]:
        """Give what the partition holds, up to the batch that reaches `end`.

        Raises BadBatch, RecordsLost, ClusterUnavailable, RequestRefused.
        """
        try:
            while self._offset < self._end:
                reply = self._cluster.attempt(f"{self._place} from offset {self._offset}", self._next)
                if reply is None:
                    continue
                if self._offset < self._end:
                    self._ask_ahead()
                yield reply
        finally:
            if self._asked is not None:
                self._cluster.discard(self._asked[0])

    def _next(self) -> Reply | None:
        """Receive a reply, for which it asks if that was not done; None if it moved on without records."""
        if self._asked is None or self._asked[1] != self._offset:
            self._ask()
        assert self._asked is not None
        connection = self._asked[0]
        self._asked = None
        try:
            response = connection.receive()
        except (OSError, RemoteProtocolError):
            self._cluster.discard(connection)
            raise
        fetched = requests.fetched(response, self._place)
        if fetched.error is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._move_to_what_is_left()
            return None
        return self._checked(fetched)

    def _checked(self, fetched: Fetched) -> Reply:
        data = fetched.records
        if not data:
            raise Retry(f"there is nothing at offset {self._offset} yet")
        walk = checked_batches(data, 0, len(data), self._place, expected_offset=self._offset)
        if not walk.batches:
            raise BadBatch(self._place, self._offset, f"the broker sent {len(data)} bytes of it")
        batches = list(batches_from(walk, self._offset))
        if not batches:
            raise Retry(f"the broker sent what lies before offset {self._offset}")
        self._offset = batches[-1][1].next_offset
        return Reply(data, batches, fetched.aborted)

    def _ask(self) -> None:
        connection = self._cluster.leader(self._place)
        request = requests.fetch_request(
            self._place, self._offset, committed=self._committed, max_bytes=self._fetch_bytes
        )
        try:
            connection.send(requests.FETCH, request)
        except OSError:
            self._cluster.discard(connection)
            raise
        self._asked = connection, self._offset

    def _ask_ahead(self) -> None:
        try:
            self._ask()
        except (OSError, Retry, RemoteProtocolError):
            pass  # asked again, and with patience, when the reply is wanted

    def _move_to_what_is_left(self) -> None:
        earliest = self._cluster.offset_at(self._place, requests.EARLIEST, committed=False)
        if earliest is None or earliest <= self._offset:
            raise RequestRefused(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{self._place}: offset {self._offset} lies behind the end of the log",
            )
        if not self._skips_lost:
            raise RecordsLost(self._place, self._offset, min(earliest, self._end))
        self._offset = self.start = earliest
