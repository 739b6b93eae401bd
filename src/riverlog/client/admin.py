"""Topics, settings and offsets of a running cluster, as plain values.

    with Admin("127.0.0.1:9092") as admin:
        admin.create_topic("orders", partitions=3, settings={"retention.ms": "86400000"})
        admin.bounds("orders")          # {0: Bounds(earliest=0, latest=0), 1: ...}

Rules: a call returns when its effect can be seen by the next call (a created topic has leaders, a deleted
one is gone) or raises; every call ends within `timeout_seconds`; what is refused while leadership is being
decided is asked again until then. Works against riverlog and Apache Kafka alike.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Self, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # exported without `__all__`
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)

from riverlog.client.bootstrap import DEFAULT_SERVERS, DEFAULT_TIMEOUT_SECONDS, Bootstrap
from riverlog.client.positions import Bounds
from riverlog.client.refusals import BrokerUnreachable, LastTrouble, UnknownTopic, is_passing, refusal_of
from riverlog.errors import RequestRefused

PAUSE_SECONDS = 0.05
"""Between two askings of something that is not so yet."""

_EARLIEST: OffsetSpec = OffsetSpec.earliest()  # type: ignore[no-untyped-call]  # untyped in the library
_LATEST: OffsetSpec = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_MAX_TIMESTAMP: OffsetSpec = OffsetSpec.max_timestamp()  # type: ignore[no-untyped-call]

_T = TypeVar("_T")

_SOURCES = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG: "topic",
    ConfigSource.DYNAMIC_BROKER_CONFIG: "broker",
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: "all brokers",
    ConfigSource.STATIC_BROKER_CONFIG: "broker's file",
    ConfigSource.DEFAULT_CONFIG: "default",
    ConfigSource.GROUP_CONFIG: "group",
    ConfigSource.UNKNOWN_CONFIG: "unknown",
}


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition as the cluster sees it; `leader` is None while there is none."""

    partition: int
    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic and its partitions, in order."""

    name: str
    topic_id: str
    is_internal: bool
    partitions: tuple[Partition, ...]

    @property
    def replication_factor(self) -> int:
        """On how many brokers each partition lies."""
        return max((len(partition.replicas) for partition in self.partitions), default=0)


@dataclass(frozen=True, slots=True)
class SettingValue:
    """A setting in force; `value` is None where it is secret or unset. `source` says where it was set."""

    name: str
    value: str | None
    source: str
    is_default: bool
    is_read_only: bool
    is_secret: bool


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker's id and the address it tells clients to use."""

    broker_id: int
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """The brokers that are up; `controller` is the id of the one that decides, None while there is none."""

    cluster_id: str | None
    controller: int | None
    brokers: tuple[Broker, ...]


class Admin:
    """Ask about and change topics and settings. Cheap to make: connects on first use."""

    def __init__(
        self,
        servers: str = DEFAULT_SERVERS,
        *,
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self._bootstrap = Bootstrap(servers, timeout_seconds, properties or {})
        self._patience = timeout_seconds
        self._last_trouble = LastTrouble()
        self._connected: AdminClient | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._connected = None  # librdkafka closes its connections once nobody holds the client

    # Topics

    def topic_names(self) -> list[str]:
        """The names of all topics, sorted; internal ones (`__consumer_offsets`) included."""
        return sorted(self._metadata("listing topics").topics)

    def cluster(self) -> Cluster:
        """Tell which brokers are up."""
        metadata = self._metadata("asking for the brokers")
        brokers = sorted(metadata.brokers.values(), key=lambda broker: broker.id)
        return Cluster(
            metadata.cluster_id,
            None if metadata.controller_id < 0 else metadata.controller_id,
            tuple(Broker(broker.id, broker.host, broker.port) for broker in brokers),
        )

    def topics(self, names: Iterable[str]) -> list[Topic]:
        """Describe several topics in the given order; raise `UnknownTopic` for the first that is missing."""
        wanted = list(dict.fromkeys(names))
        if not wanted:
            return []
        futures = self._client().describe_topics(TopicCollection(wanted), request_timeout=self._patience)
        topics = []
        for name in wanted:
            try:
                topics.append(_topic(self._result(futures[name], f"describing topic {name!r}")))
            except UnknownTopic as error:
                raise UnknownTopic(error.error_code, self._missing_topic_text(name)) from None
        return topics

    def topic(self, name: str) -> Topic:
        """Describe one topic; raise `UnknownTopic` where it is not there."""
        return self.topics([name])[0]

    def create_topic(
        self,
        name: str,
        *,
        partitions: int = -1,
        replication_factor: int = -1,
        settings: Mapping[str, str] | None = None,
        dry_run: bool = False,
    ) -> None:
        """Create a topic and return once it can be used; -1 stands for the broker's default.

        Raises `TopicExists`, or `RequestRefused` with the broker's reason. With `dry_run` the broker
        checks the request and creates nothing.
        """
        new = NewTopic(name, partitions, replication_factor, config=dict(settings or {}))
        futures = self._client().create_topics(
            [new],
            validate_only=dry_run,
            operation_timeout=self._patience,
            request_timeout=self._patience,
        )
        self._result(futures[name], f"creating topic {name!r}")
        if not dry_run:
            self._wait_until(lambda: self._has_leaders(name), f"waiting for a leader of topic {name!r}")

    def delete_topic(self, name: str) -> None:
        """Delete a topic with its records and return once it is gone; raise `UnknownTopic`."""
        futures = self._client().delete_topics(
            [name], operation_timeout=self._patience, request_timeout=self._patience
        )
        self._result(futures[name], f"deleting topic {name!r}")
        self._wait_until(lambda: not self._exists(name), f"waiting for topic {name!r} to be gone")

    def add_partitions(self, name: str, total: int, *, dry_run: bool = False) -> None:
        """Grow a topic to `total` partitions. Keys move to other partitions: order per key starts anew."""
        futures = self._client().create_partitions(
            [NewPartitions(name, total)],
            validate_only=dry_run,
            operation_timeout=self._patience,
            request_timeout=self._patience,
        )
        self._result(futures[name], f"growing topic {name!r} to {total} partitions")
        if not dry_run:
            doing = f"waiting for leaders of the {total} partitions of topic {name!r}"
            self._wait_until(lambda: self._has_leaders(name, total), doing)

    # Settings

    def topic_settings(self, name: str) -> list[SettingValue]:
        """All settings in force for a topic, sorted by name."""
        return self._settings(ConfigResource(ConfigResource.Type.TOPIC, name), f"topic {name!r}")

    def broker_settings(self, broker_id: int) -> list[SettingValue]:
        """All settings in force for a broker, sorted by name."""
        self._check_broker(broker_id)
        return self._settings(
            ConfigResource(ConfigResource.Type.BROKER, str(broker_id)), f"broker {broker_id}"
        )

    def change_topic_settings(
        self,
        name: str,
        changes: Mapping[str, str | None],
        *,
        dry_run: bool = False,
    ) -> None:
        """Set some of a topic's settings, leaving the others; None puts one back to the broker's value."""
        self._change(ConfigResource.Type.TOPIC, name, f"topic {name!r}", changes, dry_run)

    def change_broker_settings(
        self, broker_id: int, changes: Mapping[str, str | None], *, dry_run: bool = False
    ) -> None:
        """Set some of a broker's settings while it runs; None puts one back to what it was started with."""
        self._check_broker(broker_id)
        self._change(ConfigResource.Type.BROKER, str(broker_id), f"broker {broker_id}", changes, dry_run)

    # Offsets

    def bounds(
        self, name: str, partitions: Sequence[int] | None = None, *, read_committed: bool = True
    ) -> dict[int, Bounds]:
        """First and end offset of each partition; the end is what readers can see now."""
        wanted = self._partitions(name, partitions)
        isolation = IsolationLevel.READ_COMMITTED if read_committed else IsolationLevel.READ_UNCOMMITTED
        earliest = self._offsets(name, wanted, _EARLIEST, isolation)
        latest = self._offsets(name, wanted, _LATEST, isolation)
        return {index: Bounds(earliest[index][0], latest[index][0]) for index in wanted}

    def offsets_at(
        self, name: str, time_ms: int, partitions: Sequence[int] | None = None
    ) -> dict[int, int | None]:
        """For each partition the first offset whose record is not older than `time_ms`, None if all are."""
        wanted = self._partitions(name, partitions)
        found = self._offsets(
            name, wanted, OffsetSpec.for_timestamp(time_ms), IsolationLevel.READ_UNCOMMITTED
        )
        return {index: offset if offset >= 0 else None for index, (offset, _) in found.items()}

    def newest(self, name: str, partitions: Sequence[int] | None = None) -> dict[int, tuple[int, int] | None]:
        """For each partition (offset, time in ms) of the record with the latest time, None if it is empty."""
        wanted = self._partitions(name, partitions)
        found = self._offsets(name, wanted, _MAX_TIMESTAMP, IsolationLevel.READ_UNCOMMITTED)
        return {index: pair if pair[0] >= 0 else None for index, pair in found.items()}

    def delete_records(self, name: str, before: Mapping[int, int]) -> dict[int, int]:
        """Delete the records below an offset (-1: all) in each partition; return the new first offsets."""
        requests = [TopicPartition(name, index, offset) for index, offset in before.items()]
        futures = self._client().delete_records(
            requests, operation_timeout=self._patience, request_timeout=self._patience
        )
        return {
            key.partition: self._result(future, f"deleting records of {name}-{key.partition}").low_watermark
            for key, future in futures.items()
        }

    # Details, in the order they are called

    def _client(self) -> AdminClient:
        if self._connected is None:
            self._connected = self._bootstrap.connect(AdminClient, {"error_cb": self._last_trouble.note})
        return self._connected

    def _missing_topic_text(self, name: str) -> str:
        alike = get_close_matches(name, self.topic_names())
        hint = (
            f"did you mean {' or '.join(alike)}?" if alike else "`riverlog topics list` shows those that do"
        )
        return f"topic {name!r} does not exist: {hint}"

    def _metadata(self, doing: str) -> Any:
        client = self._client()
        try:
            return _in_thread(lambda: client.list_topics(timeout=self._patience))
        except KafkaException as exception:
            client.poll(0)
            raise refusal_of(exception, doing, last_trouble=self._last_trouble.text) from None

    def _result(self, future: Future[Any], doing: str) -> Any:
        try:
            return future.result(self._patience + 1)
        except KafkaException as exception:
            self._client().poll(0)
            raise refusal_of(exception, doing, last_trouble=self._last_trouble.text) from None

    def _wait_until(self, is_so: Callable[[], bool], doing: str) -> None:
        deadline = time.monotonic() + self._patience
        while not is_so():
            if time.monotonic() >= deadline:
                raise BrokerUnreachable(f"gave up after {self._patience:g} s {doing}")
            time.sleep(PAUSE_SECONDS)

    def _has_leaders(self, name: str, count: int = 1) -> bool:
        # Absent means that the broker we ask has not heard of it yet.
        found = self._metadata(f"looking for topic {name!r}").topics.get(name)
        partitions = [] if found is None else list(found.partitions.values())
        return len(partitions) >= count and all(partition.leader >= 0 for partition in partitions)

    def _exists(self, name: str) -> bool:
        return name in self._metadata(f"looking for topic {name!r}").topics

    def _partitions(self, name: str, partitions: Sequence[int] | None) -> list[int]:
        there = [partition.partition for partition in self.topic(name).partitions]
        if partitions is None:
            return there
        for index in partitions:
            if index not in there:
                raise UnknownTopic(
                    KafkaError.UNKNOWN_TOPIC_OR_PART,
                    f"topic {name!r} has no partition {index}: it has {len(there)}, numbered from 0",
                )
        return list(partitions)

    def _offsets(
        self, name: str, partitions: Sequence[int], spec: OffsetSpec, isolation: IsolationLevel
    ) -> dict[int, tuple[int, int]]:
        """Ask each leader, again while leadership moves; (offset, time in ms) by partition."""
        deadline = time.monotonic() + self._patience
        found: dict[int, tuple[int, int]] = {}
        while missing := [index for index in partitions if index not in found]:
            asked = {TopicPartition(name, index): spec for index in missing}
            futures = self._client().list_offsets(
                asked, isolation_level=isolation, request_timeout=self._patience
            )
            for key, future in futures.items():
                try:
                    answer = future.result(self._patience + 1)
                except KafkaException as exception:
                    if not is_passing(exception.args[0]) or time.monotonic() >= deadline:
                        raise refusal_of(
                            exception,
                            f"asking for the offsets of {name}-{key.partition}",
                            last_trouble=self._last_trouble.text,
                        ) from None
                else:
                    found[key.partition] = (answer.offset, answer.timestamp)
            if len(found) < len(partitions):
                time.sleep(PAUSE_SECONDS)
        return found

    def _check_broker(self, broker_id: int) -> None:
        # librdkafka would wait for an unknown id until time is up, as if that broker were about to start.
        known = [broker.broker_id for broker in self.cluster().brokers]
        if broker_id not in known:
            numbers = ", ".join(map(str, known))
            raise RequestRefused(
                KafkaError.BROKER_NOT_AVAILABLE, f"no broker has the id {broker_id}: running are {numbers}"
            )

    def _settings(self, resource: ConfigResource, whose: str) -> list[SettingValue]:
        futures = self._client().describe_configs([resource], request_timeout=self._patience)
        entries = self._result(next(iter(futures.values())), f"asking for the settings of {whose}")
        return sorted((_setting(entry) for entry in entries.values()), key=lambda setting: setting.name)

    def _change(
        self,
        kind: Any,
        name: str,
        whose: str,
        changes: Mapping[str, str | None],
        dry_run: bool,
    ) -> None:
        entries = [
            ConfigEntry(
                setting,
                value,
                incremental_operation=AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET,
            )
            for setting, value in changes.items()
        ]
        resource = ConfigResource(kind, name, incremental_configs=entries)
        futures = self._client().incremental_alter_configs(
            [resource], validate_only=dry_run, request_timeout=self._patience
        )
        self._result(next(iter(futures.values())), f"changing settings of {whose}")


def _topic(description: Any) -> Topic:
    partitions = tuple(
        Partition(
            info.id,
            info.leader.id if info.leader is not None and info.leader.id >= 0 else None,
            tuple(node.id for node in info.replicas),
            tuple(node.id for node in info.isr),
        )
        for info in sorted(description.partitions, key=lambda info: info.id)
    )
    return Topic(description.name, str(description.topic_id), description.is_internal, partitions)


def _setting(entry: ConfigEntry) -> SettingValue:
    source = ConfigSource(entry.source)  # librdkafka hands over the bare number
    return SettingValue(
        entry.name,
        entry.value,
        _SOURCES[source],
        entry.is_default or source is ConfigSource.DEFAULT_CONFIG,
        entry.is_read_only,
        entry.is_sensitive,
    )


def _in_thread(call: Callable[[], _T]) -> _T:
    """Run a blocking call so that Ctrl-C is heard meanwhile: librdkafka's plain calls do not look up.

    When interrupted, the call is left to its own time limit on a daemon thread.
    """
    outcome: Future[_T] = Future()

    def run() -> None:
        try:
            outcome.set_result(call())
        except Exception as exception:  # every failure belongs to the caller, which is waiting for it
            outcome.set_exception(exception)

    threading.Thread(target=run, name="riverlog-metadata", daemon=True).start()
    return outcome.result()
