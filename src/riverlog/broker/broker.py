"""One broker's parts, put together: what a request handler may use.

    cluster     what was decided: topics, ids, overrides       (durable in the coordination store)
    logs        the partitions on disk                          (durable in the log directories)
    partitions  topic and index to open log, for the hot path
    commit      group commit: many acknowledgements, one fsync
    waiters     parked fetches        sessions    incremental fetches
    lag         who is about to lose records            counters    requests and errors, for metrics

Everything here belongs to one event loop. A change of the cluster reaches the logs through
`_follow`, at run time; at the start, the same functions bring the disk to what the store says.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
import time
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from riverlog.broker.coordinator_topics import new_topic
from riverlog.broker.fetch_sessions import FetchSessions
from riverlog.broker.lag_watch import LagWatch
from riverlog.broker.metrics.counters import RequestCounters
from riverlog.broker.override_rules import ConfigOverrideRules
from riverlog.broker.partitions import Partitions
from riverlog.broker.transaction_markers import write_marker_of
from riverlog.broker.waiting import FetchWaiters
from riverlog.cluster import (
    ALL_BROKERS,
    NO_TOPIC_ID,
    BrokerRegistration,
    Cluster,
    Endpoint,
    FoundPartition,
    Refusal,
    Resource,
    ResourceType,
    TopicDefaults,
    read_kafka_overrides,
)
from riverlog.config import (
    Given,
    Source,
    advertised_listeners,
    describe_kept,
    effective_config,
    topic_settings,
    with_dynamic,
)
from riverlog.coordination import LocalStore
from riverlog.errors import StorageError
from riverlog.groups import OFFSETS_TOPIC, GroupCoordinator
from riverlog.log import Cleaner, GroupCommit, LogManager
from riverlog.transactions import TRANSACTIONS_TOPIC, TransactionCoordinator
from riverlog.types import TopicPartition

if TYPE_CHECKING:
    from riverlog.cluster import Delta, Topic
    from riverlog.config import BrokerConfig, BrokerSettings, TopicSettings
    from riverlog.log import LoadProgress, PartitionLog

Result = TypeVar("Result")

STORE_FILE = "riverlog.cluster"
"""What this broker decided, in the first log directory. A file, since Kafka refuses to start on a log
directory with sub-directories that are not partitions."""

logger = logging.getLogger("riverlog.broker")


class Broker:
    """The parts of one broker, opened and closed in order."""

    def __init__(self, config: BrokerConfig, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.config = config
        """What the broker was started with, overlaid by what was altered since."""
        self.settings: BrokerSettings = config.settings
        """`config.settings`, one look-up nearer to the hot path."""
        settings = config.settings
        self.node_id = settings.node.node_id
        self.on_settings_changed: list[Callable[[BrokerSettings], None]] = []
        """Told of new settings, for those who keep a section of their own."""
        self.advertised_versions: list[tuple[int, int, int]] = []
        self.counters = RequestCounters()
        self.partitions = Partitions()
        self.waiters = FetchWaiters(loop)
        self.sessions = FetchSessions(
            settings.network.max_incremental_fetch_session_cache_slots,
            new_id=lambda: secrets.randbelow(2**31 - 1) + 1,
        )
        self.commit = GroupCommit(loop)
        self.logs = LogManager(
            settings.log,
            self.topic_settings,
            run_in_thread=lambda function: loop.run_in_executor(None, function),
            request_sync=self.commit.request,
            on_failure=self._take_offline,
            before_deletion=lambda log, offset: self.lag.before_deletion(log, offset),
        )
        self.cleaner = Cleaner(self.logs, settings.cleaner, now_ms=self.now_ms)
        self.groups = GroupCoordinator(
            settings.groups,
            loop,
            logs=lambda: self.partitions.of(OFFSETS_TOPIC),
            create_topic=lambda: self._create_coordinator_topic(OFFSETS_TOPIC),
            commit=self.commit,
            on_appended=self.waiters.appended,
            wall_ms=self.now_ms,
            consumer_settings=settings.consumer_groups,
            overrides=lambda group_id: self.cluster.image.overrides_of(
                Resource(ResourceType.GROUP, group_id)
            ),
        )
        self.lag = LagWatch(
            self.groups, self.partitions, settings=lambda: self.settings.monitoring, now_ms=self.now_ms
        )
        self.transactions = TransactionCoordinator(
            settings.transactions,
            loop,
            logs=lambda: self.partitions.of(TRANSACTIONS_TOPIC),
            create_topic=lambda: self._create_coordinator_topic(TRANSACTIONS_TOPIC),
            commit=self.commit,
            on_appended=self.waiters.appended,
            wall_ms=self.now_ms,
            new_producer_id=lambda: self.cluster.next_producer_id(),
            write_marker=partial(write_marker_of, self),
        )
        self._cluster: Cluster | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._logs_are_loaded = False

    @property
    def cluster(self) -> Cluster:
        """What the cluster decided; there once the broker is open."""
        assert self._cluster is not None, "the broker is not open"
        return self._cluster

    # -- opening and closing -----------------------------------------------------------------------

    async def open(self, bound: Iterable[tuple[str, str, int]]) -> None:
        """Load what is on disk and bring it to what the store says; `bound` are the listeners' addresses."""
        self._cluster = cluster = Cluster(
            LocalStore(str(self._first_directory() / STORE_FILE)),
            broker_id=self.node_id,
            defaults=self._topic_defaults(),
            rules=ConfigOverrideRules(lambda: self.config),
        )
        self._apply_overrides()
        # Recovery may read gigabytes: in a thread, so that a signal can still end the start.
        await self.run_in_thread(self.logs.load, self.now_ms(), _report_progress)
        self._logs_are_loaded = True
        found = [
            FoundPartition(
                log.topic_partition.topic, log.topic_partition.partition, log.topic_id, log.leader_epoch
            )
            for log in self.logs
        ]
        if cluster.is_new:
            identities = [one.identity for one in self.logs.directories if one.identity is not None]
            cluster.begin(
                cluster_id=identities[0].cluster_id if identities else None,
                found=found,
                overrides=read_kafka_overrides(self.settings.log.log_dirs),
            )
            self._apply_overrides()
        self._bring_disk_in_line(found)
        self.logs.write_identity(cluster.image.cluster_id, self.node_id)
        if not all(directory.was_clean for directory in self.logs.online_directories()):
            # Whoever read further than what survived must learn that the log was cut (KIP-320).
            cluster.begin_new_leader_epochs()
        for topic in cluster.image.topics.values():
            self._serve(topic)
        cluster.register(self._registration(bound))
        cluster.listeners.append(self._follow)
        self.groups.follow_topics(cluster.image, created=(), changed=(), deleted=())
        self.groups.start()
        self.transactions.start()
        self.cleaner.start()

    def _first_directory(self) -> Path:
        directory = Path(self.settings.log.log_dirs[0])
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"cannot create the log directory: {error.strerror}", path=str(directory)
            ) from error
        return directory

    def _bring_disk_in_line(self, found: list[FoundPartition]) -> None:
        """Finish deletions, make what is missing, and leave alone what belongs to no topic here."""
        cluster = self.cluster
        work = cluster.reconcile(found)
        now_ms = self.now_ms()
        # Deletions first: a topic may have been created again under the same name.
        self.logs.delete_all([TopicPartition(each.topic, each.partition) for each in work.deleted], now_ms)
        cluster.forget_deletions()
        for missing in work.missing:
            topic = cluster.image.topic(missing.topic)
            assert topic is not None
            self._create_log(missing, topic.topic_id, now_ms, is_new=False)
        for stray in work.stray:
            logger.warning(
                "%s-%d lies in a log directory but belongs to no topic here: left alone, not served",
                stray.topic,
                stray.partition,
            )

    def _create_log(
        self, partition: TopicPartition, topic_id: bytes, now_ms: int, *, is_new: bool = True
    ) -> None:
        try:
            self.logs.create(partition, topic_id, now_ms, is_new=is_new)
        except StorageError as error:
            # One partition's trouble is its own: it answers with an error, the others serve.
            logger.error("%s is not served: %s", partition, error)

    def _registration(self, bound: Iterable[tuple[str, str, int]]) -> BrokerRegistration:
        """Tell where this broker is reached, and let DescribeConfigs tell the same addresses.

        The settings may leave them open: a port of 0, or no advertised address at all.
        """
        network = self.settings.network
        protocols = dict(network.listener_security_protocol_map)
        ports = {name: port for name, _host, port in bound}
        listening = [listener._replace(port=ports[listener.name]) for listener in network.listeners]
        told = advertised_listeners(
            network.listeners, network.advertised_listeners, ports, socket.gethostname()
        )
        in_use = {
            name: Given(name, ",".join(map(str, addresses)), Source.STATIC, "the addresses in use")
            for name, addresses in (("listeners", listening), ("advertised.listeners", told))
        }
        config = self.config
        self.config = effective_config(
            (*config.static_layers, in_use), config.dynamic_layers, config.warnings
        )
        endpoints = tuple(
            Endpoint(listener.name, listener.host, listener.port, protocols[listener.name])
            for listener in told
        )
        return BrokerRegistration(self.node_id, endpoints, rack=self.settings.node.broker_rack)

    async def close(self, *, clean: bool) -> None:
        """End all work and close the data; `clean` leaves the marker that spares the next start recovery."""
        self.transactions.stop()
        self.groups.stop()
        await self.cleaner.stop()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self.run_in_thread(self.commit.close)
        if self._logs_are_loaded or not clean:
            deadline = time.monotonic() + self.settings.node.shutdown_timeout_ms / 1000
            await self.run_in_thread(self.logs.close, self.now_ms(), lambda: time.monotonic() > deadline)
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = None

    # -- following the cluster ---------------------------------------------------------------------

    def _follow(self, delta: Delta) -> None:
        """Bring the logs to what was decided: run by the cluster, right after each change."""
        now_ms = self.now_ms()
        for topic in delta.deleted:
            logs = [log for log in self.partitions.of(topic.topic_id) if log is not None]
            self.partitions.remove_topic(topic.name, topic.topic_id)
            self.logs.delete_all([log.topic_partition for log in logs], now_ms)
            for log in logs:
                self.waiters.appended(log)
        self._tell_groups(delta)
        if delta.deleted:
            self.transactions.topics_deleted([topic.name for topic in delta.deleted])
        for topic in (*delta.created, *delta.updated):
            for index in range(len(topic.partitions)):
                if self.logs.get(TopicPartition(topic.name, index)) is None:
                    self._create_log(TopicPartition(topic.name, index), topic.topic_id, now_ms)
            self._serve(topic)
        if any(resource.type == ResourceType.BROKER for resource in delta.reconfigured):
            self._apply_overrides()
            for log in self.partitions:
                log.settings = self.topic_settings(log.topic_partition.topic)
        for resource in delta.reconfigured:
            if resource.type == ResourceType.TOPIC:
                settings = self.topic_settings(resource.name)
                for each in self.partitions.of(resource.name):
                    if each is not None:
                        each.settings = settings
            elif resource.type == ResourceType.CLIENT_METRICS:
                what = "the subscription %r is kept, but no client is asked for metrics yet"
                logger.warning(what, resource.name)

    def _tell_groups(self, delta: Delta) -> None:
        created, updated, deleted = (
            [topic.name for topic in topics] for topics in (delta.created, delta.updated, delta.deleted)
        )
        self.groups.follow_topics(delta.after, created=created, changed=updated, deleted=deleted)

    def _apply_overrides(self) -> None:
        """Overlay the broker's settings with what was altered while it ran, now or before."""
        image = self.cluster.image
        of_all = image.overrides_of(ALL_BROKERS)
        own = image.overrides_of(Resource(ResourceType.BROKER, str(self.node_id)))
        self.config = with_dynamic(self.config, of_all, own)
        for kept in describe_kept({**of_all, **own}, Source.DYNAMIC_BROKER):
            logger.warning("%s was set to %s. %s", kept.name, kept.value, kept.documentation)
        self.settings = self.config.settings
        self.logs.follow(self.settings.log)
        self.cleaner.change_settings(self.settings.cleaner)
        self.groups.change_settings(self.settings.groups, self.settings.consumer_groups)
        self.transactions.change_settings(self.settings.transactions)
        self.cluster.defaults = self._topic_defaults()
        for listener in self.on_settings_changed:
            listener(self.settings)

    def _topic_defaults(self) -> TopicDefaults:
        admin = self.settings.admin
        return TopicDefaults(
            admin.num_partitions,
            admin.default_replication_factor,
            lambda overrides: topic_settings(self.settings.topic_defaults, overrides),
        )

    def _serve(self, topic: Topic) -> None:
        """Make a topic's partitions findable, led in the epoch that was decided."""
        settings = self.topic_settings(topic.name)
        for index, partition in enumerate(topic.partitions):
            log = self.logs.get(TopicPartition(topic.name, index))
            if log is not None and log.topic_id not in (topic.topic_id, NO_TOPIC_ID):
                log = None  # a stray under this topic's name
            if log is not None:
                log.settings = settings
                if log.leader_epoch < partition.leader_epoch and log.is_offline is None:
                    log.assign_epoch(partition.leader_epoch)
            self.partitions.add(topic.name, topic.topic_id, index, log)

    def _create_coordinator_topic(self, name: str) -> int:
        """Create the topic in which a coordinator keeps its state; give why not, or NONE."""
        image = self.cluster.image
        asked = new_topic(name, self.settings, broker_count=len(image.brokers))
        outcome = self.cluster.create_topics([asked])[name]
        return outcome.error_code if isinstance(outcome, Refusal) else 0

    def topic_settings(self, topic: str) -> TopicSettings:
        """Give a topic's effective settings: its own over the broker's."""
        overrides = self._cluster.topic_overrides(topic) if self._cluster is not None else {}
        return topic_settings(self.settings.topic_defaults, overrides)

    def _take_offline(self, log: PartitionLog, error: StorageError) -> None:
        logger.error("%s is offline: %s", log.topic_partition, error)
        self.waiters.appended(log)

    # -- small services ----------------------------------------------------------------------------

    def now_ms(self) -> int:
        """Give the time in milliseconds since 1970."""
        return int(time.time() * 1000)

    def supported_versions(self) -> list[tuple[int, int, int]]:
        """List (API key, first version, last version) as ApiVersions tells it."""
        return self.advertised_versions

    async def run_in_thread(self, function: Callable[..., Result], *args: Any) -> Result:
        """Run blocking work beside the event loop."""
        return await self.loop.run_in_executor(None, function, *args)

    def start_task(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a coroutine until it ends or the broker closes; it handles its own errors."""
        task = self.loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _report_progress(progress: LoadProgress) -> None:
    if not progress.is_clean and progress.partition is not None:
        logger.info("recovered %s (%d of %d)", progress.partition, progress.loaded, progress.total)
