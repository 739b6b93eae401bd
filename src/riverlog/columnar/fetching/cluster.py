"""The brokers of a cluster, who leads what, and trying again while that changes.

    attempt(act) ──▶ act ──▶ leader(partition) ──▶ connection      answers: done
                      ▲                                 │
                      └── pause, leaders forgotten ◀────┘          fails: again, until the deadline

One owner, one thread: whoever reads in several threads has a Cluster in each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from types import TracebackType
from typing import Any, TypeVar

from riverlog.columnar.fetching import requests
from riverlog.columnar.fetching.connection import Connection
from riverlog.columnar.fetching.requests import Absent, Leaders, Retry
from riverlog.columnar.nearby import Home
from riverlog.errors import RemoteProtocolError, RequestRefused, RiverlogError
from riverlog.protocol.message import Message
from riverlog.types import TopicPartition

SILENCE_SECONDS_MAX = 10.0
"""How long a broker may take to send the next byte of an answer, where less is not asked for."""

TRIES_MIN = 3
"""How many silent brokers the time must do for: one that hangs must not use up all of it."""

ABSENCE_SECONDS_MAX = 2.0
"""How long a topic may stay unknown that somebody may just have created."""

PAUSE_SECONDS_MIN = 0.05
PAUSE_SECONDS_MAX = 1.0
"""Between two attempts; doubled each time from the one to the other."""

_Result = TypeVar("_Result")


class ClusterUnavailable(RiverlogError):
    """Nothing came of it within the time allowed; the text names the last trouble."""


class Cluster:
    """Connections to the brokers of one cluster, made when they are needed."""

    def __init__(self, bootstrap: str, timeout_seconds: float) -> None:
        """Raise ConfigError for addresses that are none. `timeout_seconds`: see `attempt`."""
        self._bootstrap = requests.addresses(bootstrap)
        self._timeout_seconds = timeout_seconds
        self._silence_seconds = min(SILENCE_SECONDS_MAX, timeout_seconds / TRIES_MIN)
        self._brokers: dict[int, tuple[str, int]] = {}
        self._leaders: dict[TopicPartition, int] = {}
        self._connections: dict[tuple[str, int], Connection] = {}
        self._suspects: set[tuple[str, int]] = set()  # did not answer the last time; asked after the others

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all connections."""
        while self._connections:
            self._connections.popitem()[1].close()

    def attempt(self, what: str, act: Callable[[], _Result]) -> _Result:
        """Call `act` until it succeeds. OSError and Retry are tried again until the time is over.

        Raises ClusterUnavailable then, RequestRefused for what stays absent, and what else `act` raises.
        """
        start = time.monotonic()
        deadline = start + self._timeout_seconds
        pause = PAUSE_SECONDS_MIN
        while True:
            try:
                return act()
            except (OSError, Retry) as trouble:
                self._leaders.clear()
                if isinstance(trouble, Absent) and time.monotonic() - start >= ABSENCE_SECONDS_MAX:
                    raise RequestRefused(trouble.error, str(trouble)) from None
                if time.monotonic() + pause >= deadline:
                    raise ClusterUnavailable(
                        f"{what}: {requests.describe(trouble)} (for {self._timeout_seconds:g} s)"
                    ) from None
            time.sleep(pause)
            pause = min(2 * pause, PAUSE_SECONDS_MAX)

    def topics(self) -> list[str]:
        """Name all topics but those that the cluster keeps for itself. Raises ClusterUnavailable."""

        def look() -> list[str]:
            return requests.topics_in(
                self._ask(self._any(), requests.METADATA, requests.metadata_request(None))
            )

        return self.attempt("topics", look)

    def partitions(self, topic: str) -> list[TopicPartition]:
        """Name the partitions of a topic. Raises ClusterUnavailable, RequestRefused."""

        def look() -> list[TopicPartition]:
            self._learn(topic)
            return sorted(place for place in self._leaders if place.topic == topic)

        return self.attempt(f"topic {topic!r}", look)

    def partitions_of(self, topics: Collection[str]) -> list[TopicPartition]:
        """Name the partitions of topics; those which the cluster does not know have none.

        Raises ClusterUnavailable, RequestRefused.
        """

        return self.attempt("partitions", lambda: sorted(self._look(topics).leaders))

    def offset_at(self, place: TopicPartition, moment: int, *, committed: bool) -> int | None:
        """Find the first offset at or after a time in ms; or an end of the log, by a time that means it.

        Raises ClusterUnavailable, RequestRefused.
        """
        return self.offsets_at({place: moment}, committed=committed)[place]

    def offsets_at(
        self, moments: Mapping[TopicPartition, int], *, committed: bool
    ) -> dict[TopicPartition, int | None]:
        """Do what `offset_at` does for many partitions: one question to each broker that leads some."""
        found: dict[TopicPartition, int | None] = {}

        def ask() -> dict[TopicPartition, int | None]:
            asked: dict[Connection, dict[TopicPartition, int]] = {}
            for place, moment in moments.items():
                if place not in found:
                    asked.setdefault(self.leader(place), {})[place] = moment
            for connection, wanted in asked.items():
                request = requests.list_offsets_request(wanted, committed=committed)
                answer = self._ask(connection, requests.LIST_OFFSETS, request)
                found.update(requests.offsets_in(answer, wanted))
            return found

        what = next(iter(moments), "")
        return self.attempt(f"{what}: offsets", ask)

    def home(self, place: TopicPartition) -> Home:
        """Say whose a partition's files are. Raises ClusterUnavailable, RequestRefused."""

        def look() -> Home:
            found = self._look([place.topic])
            if place not in found.leaders:
                raise requests.absence(place.topic)
            return Home(found.cluster_id, found.topic_ids[place.topic], found.leaders[place])

        return self.attempt(str(place), look)

    def leader(self, place: TopicPartition) -> Connection:
        """Give the connection to a partition's leader. Raises OSError, Retry, RequestRefused."""
        if place not in self._leaders:
            self._learn(place.topic)
        address = self._brokers.get(self._leaders.get(place, -1))
        if address is None:
            raise Retry(f"{place} has no leader")
        return self._connected(address)

    def discard(self, connection: Connection) -> None:
        """Give up a connection that failed, or whose answers nobody wants."""
        connection.close()
        for address, kept in list(self._connections.items()):
            if kept is connection:
                del self._connections[address]
                self._suspects.add(address)

    def _ask(self, connection: Connection, api_key: int, message: Message) -> Any:
        try:
            return connection.ask(api_key, message)
        except (OSError, RemoteProtocolError):
            self.discard(connection)
            raise

    def _learn(self, topic: str) -> None:
        """Ask any broker who leads the topic's partitions."""
        if topic in self._look([topic]).absent:
            raise requests.absence(topic)

    def _look(self, topics: Collection[str]) -> Leaders:
        response = self._ask(self._any(), requests.METADATA, requests.metadata_request(topics))
        found = requests.leaders_in(response, topics)
        self._brokers = found.brokers
        self._leaders.update(found.leaders)
        return found

    def _any(self) -> Connection:
        trouble: OSError | None = None
        known = dict.fromkeys([*self._connections, *self._brokers.values(), *self._bootstrap])
        for address in sorted(known, key=self._suspects.__contains__):
            try:
                return self._connected(address)
            except OSError as error:
                self._suspects.add(address)
                trouble = OSError(error.errno, f"{address[0]}:{address[1]}: {requests.describe(error)}")
        assert trouble is not None, "there is at least the bootstrap address"
        raise trouble

    def _connected(self, address: tuple[str, int]) -> Connection:
        connection = self._connections.get(address)
        if connection is not None and not connection.is_idle:
            self.discard(connection)  # somebody stopped reading before its answer came
            connection = None
        if connection is None:
            connection = self._connections[address] = Connection(*address, self._silence_seconds)
            self._suspects.discard(address)
        return connection
