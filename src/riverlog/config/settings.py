"""The one table of settings: a dataclass per room, a field per setting.

Each field says once: its Kafka name, kind (type, bounds, unit), default, whether it may change while
the broker runs, and what it does. Files, flags, environment, DescribeConfigs and the reference page
are derived from here (`table.py`). The settings that a topic may override are in `topic.py`.

Rules:
- The attribute is the setting's name with `_` for `.`: `settings.network.max_connections`.
- A name, default or bound that Apache Kafka has is Kafka's; where we differ, `kafka_default` or
  `is_ours` says so on the field.
- A setting stands here only if a room honours it. Names of Kafka's that mean nothing here are in
  `known.py`, so that they can be named to the operator instead of passing in silence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from riverlog.config.kinds import (
    DOUBLE_MAX,
    INT_MAX,
    LONG_MAX,
    AnyCaseChoice,
    Boolean,
    Choice,
    ConfigType,
    Decimal,
    HostLimits,
    Integer,
    Maybe,
    Text,
    TextList,
    byte_count,
    count,
    milliseconds,
)
from riverlog.config.listeners import (
    DEFAULT_PROTOCOL_MAP,
    Listener,
    Listeners,
    ProtocolMap,
    listener_on_localhost,
)
from riverlog.config.setting import CLUSTER_WIDE, Alternative, setting
from riverlog.config.topic import TopicSettings

_INT: Final = ConfigType.INT
_LONG: Final = ConfigType.LONG
_SHORT: Final = ConfigType.SHORT
_SINGLE_REPLICA: Final = "A broker without `zookeeper.connect` keeps one replica, whatever this says."


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """Who this broker is, and how it ends."""

    node_id: int = setting(
        "node.id",
        count(),
        1,
        alternatives=(Alternative("broker.id", count(), int, is_same=True),),
        kafka_default="none",
        doc="The broker's number in its cluster. Data remembers the number it was written under.",
    )
    broker_rack: str | None = setting(
        "broker.rack",
        Maybe(Text()),
        None,
        doc="The rack, room or zone this broker stands in. Replicas are spread over racks, and a consumer"
        " that names its own rack reads nearby.",
    )
    shutdown_timeout_ms: int = setting(
        "shutdown.timeout.ms",
        milliseconds(_INT, lowest=0),
        10_000,
        is_ours=True,
        doc="The longest time a stop may take: connections that have not drained by then are cut, and the"
        " logs are closed.",
    )


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """Addresses, connections, and the limits on what a client may send."""

    listeners: tuple[Listener, ...] = setting(
        "listeners",
        Listeners(),
        listener_on_localhost(9092),
        alternatives=(Alternative("port", count(highest=65535), listener_on_localhost),),
        kafka_default="PLAINTEXT://:9092",
        doc="The addresses to listen on. An empty host is every interface, port 0 is any free port. The"
        " default serves this machine alone: opening a broker to the network is a decision. `port`"
        " is short for one plain listener on 127.0.0.1.",
    )
    advertised_listeners: tuple[Listener, ...] | None = setting(
        "advertised.listeners",
        Maybe(Listeners()),
        None,
        doc="The addresses that clients are told to use, where they differ from `listeners`: behind a"
        " name, a port mapping or a proxy. Port 0 stands for the port that was really opened.",
    )
    listener_security_protocol_map: tuple[tuple[str, str], ...] = setting(
        "listener.security.protocol.map",
        ProtocolMap(),
        DEFAULT_PROTOCOL_MAP,
        doc="Which security protocol each listener name speaks.",
    )
    controller_listener_names: tuple[str, ...] = setting(
        "controller.listener.names",
        TextList(),
        (),
        kafka_default="none",
        doc="Names of listeners that belong to a controller quorum. riverlog has none, so these are left"
        " closed; the setting is read so that a file written for Apache Kafka means the same.",
    )
    socket_send_buffer_bytes: int = setting(
        "socket.send.buffer.bytes",
        byte_count(lowest=1, also=(-1,)),
        -1,
        kafka_default="102400",
        doc="The send buffer asked of the operating system for each connection. -1 leaves it to the system,"
        " which lets it grow as the connection needs: nearly twice the throughput of a small fixed one.",
    )
    socket_receive_buffer_bytes: int = setting(
        "socket.receive.buffer.bytes",
        byte_count(lowest=1, also=(-1,)),
        -1,
        kafka_default="102400",
        doc="The receive buffer asked of the operating system for each connection. -1 leaves it to the"
        " system, which lets it grow as the connection needs.",
    )
    socket_listen_backlog_size: int = setting(
        "socket.listen.backlog.size",
        count(lowest=1),
        50,
        doc="How many connections may wait to be accepted.",
    )
    socket_request_max_bytes: int = setting(
        "socket.request.max.bytes",
        byte_count(lowest=1),
        100 << 20,
        doc="The largest request. A connection that announces a larger one is closed.",
    )
    request_without_records_max_bytes: int = setting(
        "request.without.records.max.bytes",
        byte_count(lowest=1024),
        1 << 20,
        is_ours=True,
        doc="The largest request other than Produce. Records stay the bytes they are, everything else is"
        " taken apart, into objects of up to a hundred times its size: a connection that sends a larger one"
        " is closed. Offsets for 10,000 partitions take less than half of the default.",
    )
    queued_max_request_bytes: int = setting(
        "queued.max.request.bytes",
        byte_count(_LONG, lowest=1, also=(-1,)),
        512 << 20,
        kafka_default="-1",
        doc="How many bytes of requests may be held in memory over all connections; beyond, no more is"
        " read until some are answered. -1 means no limit.",
    )
    request_read_timeout_ms: int = setting(
        "request.read.timeout.ms",
        milliseconds(_INT, lowest=1),
        30_000,
        is_ours=True,
        doc="How long a request may take to arrive, from its first byte to its last. A connection that"
        " trickles more slowly is closed.",
    )
    connections_max_idle_ms: int = setting(
        "connections.max.idle.ms",
        milliseconds(lowest=1, also=(-1,)),
        600_000,
        doc="A connection on which nothing was asked or answered for this long is closed; -1 means never.",
    )
    max_connections: int = setting(
        "max.connections",
        count(),
        INT_MAX,
        dynamic=CLUSTER_WIDE,
        doc="How many connections the broker holds at once; further ones wait until one ends.",
    )
    max_connections_per_ip: int = setting(
        "max.connections.per.ip",
        count(),
        INT_MAX,
        dynamic=CLUSTER_WIDE,
        doc="How many connections one client address may hold at once.",
    )
    max_connections_per_ip_overrides: tuple[tuple[str, int], ...] = setting(
        "max.connections.per.ip.overrides",
        HostLimits(),
        (),
        dynamic=CLUSTER_WIDE,
        doc="Other limits than `max.connections.per.ip` for some addresses.",
    )
    max_connection_creation_rate: int = setting(
        "max.connection.creation.rate",
        count(),
        INT_MAX,
        dynamic=CLUSTER_WIDE,
        doc="How many connections are accepted in a second; the rest wait their turn.",
    )
    fetch_max_bytes: int = setting(
        "fetch.max.bytes",
        byte_count(lowest=1024),
        55 << 20,
        doc="The most that one fetch returns, whatever the client asks for; one batch is always returned.",
    )
    max_incremental_fetch_session_cache_slots: int = setting(
        "max.incremental.fetch.session.cache.slots",
        count(),
        1000,
        doc="How many fetch sessions are remembered, so that clients need not repeat the list of their"
        " partitions. Sessions beyond are served in full each time.",
    )


@dataclass(frozen=True, slots=True)
class AdminSettings:
    """How topics come and go."""

    auto_create_topics_enable: bool = setting(
        "auto.create.topics.enable",
        Boolean(),
        True,
        doc="Create a topic when a client that permits it first asks about its name.",
    )
    delete_topic_enable: bool = setting(
        "delete.topic.enable",
        Boolean(),
        True,
        doc="Whether topics may be deleted.",
    )
    num_partitions: int = setting(
        "num.partitions",
        count(lowest=1),
        1,
        doc="The number of partitions of a topic that is created without saying how many.",
    )
    default_replication_factor: int = setting(
        "default.replication.factor",
        count(lowest=1, highest=32767),
        1,
        doc="The number of replicas of a topic that is created without saying how many.",
    )
    max_request_partition_size_limit: int = setting(
        "max.request.partition.size.limit",
        count(lowest=1),
        2000,
        doc="The most partitions that one page of a topic description shows.",
    )


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Where partitions are stored and how they are looked after."""

    log_dirs: tuple[str, ...] = setting(
        "log.dirs",
        TextList(is_empty_accepted=False),
        ("./riverlog-data",),
        alternatives=(Alternative("log.dir", TextList(is_empty_accepted=False), tuple, "./riverlog-data"),),
        kafka_default="/tmp/kafka-logs",
        doc="The directories that hold the partitions; a new partition goes where least is stored. Relative"
        " paths start where the broker was started.",
    )
    num_recovery_threads_per_data_dir: int = setting(
        "num.recovery.threads.per.data.dir",
        count(lowest=1),
        2,
        dynamic=CLUSTER_WIDE,
        doc="How many threads read each log directory at the start after a crash.",
    )
    log_retention_check_interval_ms: int = setting(
        "log.retention.check.interval.ms",
        milliseconds(lowest=1),
        300_000,
        doc="How often the logs are looked through for segments to delete.",
    )
    log_flush_offset_checkpoint_interval_ms: int = setting(
        "log.flush.offset.checkpoint.interval.ms",
        milliseconds(_INT),
        60_000,
        doc="How often it is written down up to where each log is known to be on disk; recovery starts"
        " there.",
    )
    log_flush_start_offset_checkpoint_interval_ms: int = setting(
        "log.flush.start.offset.checkpoint.interval.ms",
        milliseconds(_INT),
        60_000,
        doc="How often it is written down where each log starts after records were deleted on request.",
    )
    producer_id_expiration_ms: int = setting(
        "producer.id.expiration.ms",
        milliseconds(_INT, lowest=1),
        86_400_000,
        dynamic=CLUSTER_WIDE,
        doc="A partition forgets an idempotent producer that has not written to it for this long.",
    )
    producer_id_expiration_check_interval_ms: int = setting(
        "producer.id.expiration.check.interval.ms",
        milliseconds(_INT, lowest=1),
        600_000,
        doc="How often partitions look for producers to forget.",
    )


@dataclass(frozen=True, slots=True)
class CleanerSettings:
    """Compaction: what it may use, and when it runs."""

    log_cleaner_enable: bool = setting(
        "log.cleaner.enable",
        Boolean(),
        True,
        doc="Run compaction. Without it, compacted topics grow for ever, that of the group offsets included.",
    )
    log_cleaner_threads: int = setting(
        "log.cleaner.threads",
        count(),
        1,
        dynamic=CLUSTER_WIDE,
        doc="How many logs are compacted at the same time.",
    )
    log_cleaner_io_max_bytes_per_second: float = setting(
        "log.cleaner.io.max.bytes.per.second",
        Decimal(unit="bytes/s"),
        DOUBLE_MAX,
        dynamic=CLUSTER_WIDE,
        doc="The most that compaction reads and writes in a second, taken together.",
    )
    log_cleaner_dedupe_buffer_size: int = setting(
        "log.cleaner.dedupe.buffer.size",
        byte_count(_LONG, lowest=1),
        128 << 20,
        dynamic=CLUSTER_WIDE,
        doc="The memory in which compaction remembers the latest offset of each key, over all its threads:"
        " 40 bytes a key. A log with more keys is cleaned in several rounds.",
    )
    log_cleaner_io_buffer_size: int = setting(
        "log.cleaner.io.buffer.size",
        byte_count(),
        512 << 10,
        dynamic=CLUSTER_WIDE,
        doc="The memory for reading and writing while compacting, over all threads.",
    )
    log_cleaner_io_buffer_load_factor: float = setting(
        "log.cleaner.io.buffer.load.factor",
        Decimal(lowest=0.0, highest=1.0),
        0.9,
        dynamic=CLUSTER_WIDE,
        doc="How full the memory for keys may become before compaction stops reading on and writes.",
    )
    log_cleaner_backoff_ms: int = setting(
        "log.cleaner.backoff.ms",
        milliseconds(),
        15_000,
        dynamic=CLUSTER_WIDE,
        doc="How long compaction rests when no log needs it.",
    )


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """Consumer groups: membership limits, and the topic that keeps their offsets."""

    group_initial_rebalance_delay_ms: int = setting(
        "group.initial.rebalance.delay.ms",
        milliseconds(_INT),
        3000,
        doc="How long an empty group waits for more members before the first assignment; each member that"
        " arrives prolongs the wait.",
    )
    group_min_session_timeout_ms: int = setting(
        "group.min.session.timeout.ms",
        milliseconds(_INT),
        6000,
        doc="The shortest session a member may ask for.",
    )
    group_max_session_timeout_ms: int = setting(
        "group.max.session.timeout.ms",
        milliseconds(_INT),
        1_800_000,
        doc="The longest session a member may ask for.",
    )
    group_max_size: int = setting(
        "group.max.size",
        count(lowest=1),
        INT_MAX,
        doc="How many members a group may have.",
    )
    group_coordinator_rebalance_protocols: tuple[str, ...] = setting(
        "group.coordinator.rebalance.protocols",
        TextList("classic", "consumer", "share", "streams"),
        ("classic", "consumer", "streams"),
        doc="The kinds of groups that are served.",
    )
    offset_metadata_max_bytes: int = setting(
        "offset.metadata.max.bytes",
        byte_count(),
        4096,
        doc="The longest note that a member may store beside a committed offset.",
    )
    offsets_commit_timeout_ms: int = setting(
        "offsets.commit.timeout.ms",
        milliseconds(_INT, lowest=1),
        5000,
        doc="How long a commit may wait for its records to be replicated.",
    )
    offsets_load_buffer_size: int = setting(
        "offsets.load.buffer.size",
        byte_count(lowest=1),
        5 << 20,
        doc="How much of the offsets topic is read at a time when a coordinator starts.",
    )
    offsets_retention_minutes: int = setting(
        "offsets.retention.minutes",
        Integer(lowest=1, unit="minutes"),
        7 * 24 * 60,
        doc="How long a group's offsets are kept after its last member left; for a consumer that commits"
        " without a group's membership, after its last commit.",
    )
    offsets_retention_check_interval_ms: int = setting(
        "offsets.retention.check.interval.ms",
        milliseconds(lowest=1),
        600_000,
        doc="How often the coordinator looks for offsets to forget.",
    )
    offsets_topic_compression_codec: int = setting(
        "offsets.topic.compression.codec",
        count(highest=4),
        0,
        doc="The codec of the offsets topic, by its number: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
    )
    offsets_topic_num_partitions: int = setting(
        "offsets.topic.num.partitions",
        count(lowest=1),
        50,
        doc="The number of partitions of the offsets topic. A group's partition follows from it, so it must"
        " not change once the topic exists.",
    )
    offsets_topic_replication_factor: int = setting(
        "offsets.topic.replication.factor",
        count(_SHORT, lowest=1),
        3,
        doc=f"The number of replicas of the offsets topic when it is created. {_SINGLE_REPLICA}",
    )
    offsets_topic_segment_bytes: int = setting(
        "offsets.topic.segment.bytes",
        byte_count(lowest=1),
        100 << 20,
        doc="The segment size of the offsets topic; small, so that compaction keeps loading fast.",
    )


@dataclass(frozen=True, slots=True)
class ConsumerGroupSettings:
    """Groups whose assignment the broker itself computes."""

    group_consumer_session_timeout_ms: int = setting(
        "group.consumer.session.timeout.ms",
        milliseconds(_INT, lowest=1),
        45_000,
        doc="A member that is silent for this long is taken out of its group.",
    )
    group_consumer_min_session_timeout_ms: int = setting(
        "group.consumer.min.session.timeout.ms",
        milliseconds(_INT, lowest=1),
        45_000,
        doc="The shortest session time-out that may be set for a single group.",
    )
    group_consumer_max_session_timeout_ms: int = setting(
        "group.consumer.max.session.timeout.ms",
        milliseconds(_INT, lowest=1),
        60_000,
        doc="The longest session time-out that may be set for a single group.",
    )
    group_consumer_heartbeat_interval_ms: int = setting(
        "group.consumer.heartbeat.interval.ms",
        milliseconds(_INT, lowest=1),
        5000,
        doc="How often members are told to report.",
    )
    group_consumer_min_heartbeat_interval_ms: int = setting(
        "group.consumer.min.heartbeat.interval.ms",
        milliseconds(_INT, lowest=1),
        5000,
        doc="The shortest heartbeat interval that may be set for a single group.",
    )
    group_consumer_max_heartbeat_interval_ms: int = setting(
        "group.consumer.max.heartbeat.interval.ms",
        milliseconds(_INT, lowest=1),
        15_000,
        doc="The longest heartbeat interval that may be set for a single group.",
    )
    group_consumer_max_size: int = setting(
        "group.consumer.max.size",
        count(lowest=1),
        INT_MAX,
        doc="How many members such a group may have.",
    )
    group_consumer_assignors: tuple[str, ...] = setting(
        "group.consumer.assignors",
        TextList("uniform", "range", is_empty_accepted=False),
        ("uniform", "range"),
        doc="The ways of assigning partitions that members may ask for; the first one serves those who do"
        " not ask.",
    )
    group_consumer_assignment_interval_ms: int = setting(
        "group.consumer.assignment.interval.ms",
        milliseconds(_INT),
        1000,
        dynamic=CLUSTER_WIDE,
        doc="How long a group's assignment is kept before the next one is worked out, so that many members"
        " that come at once cause few of them.",
    )
    group_consumer_min_assignment_interval_ms: int = setting(
        "group.consumer.min.assignment.interval.ms",
        milliseconds(_INT),
        0,
        doc="The shortest such interval that may be set for a single group.",
    )
    group_consumer_max_assignment_interval_ms: int = setting(
        "group.consumer.max.assignment.interval.ms",
        milliseconds(_INT),
        15_000,
        doc="The longest such interval that may be set for a single group.",
    )
    group_consumer_regex_refresh_interval_ms: int = setting(
        "group.consumer.regex.refresh.interval.ms",
        milliseconds(_INT, lowest=10_000),
        600_000,
        doc="How often regular expressions that groups read topics by are tried again although no topic was"
        " created or deleted.",
    )
    group_consumer_migration_policy: str = setting(
        "group.consumer.migration.policy",
        AnyCaseChoice("disabled", "downgrade", "upgrade", "bidirectional"),
        "bidirectional",
        doc="Whether a live group may pass from assignment by its leader to assignment by the broker"
        " (upgrade), back (downgrade), or both.",
    )


@dataclass(frozen=True, slots=True)
class ShareGroupSettings:
    """Share groups: queues on top of topics, where single records are acquired and acknowledged."""

    group_share_session_timeout_ms: int = setting(
        "group.share.session.timeout.ms",
        milliseconds(_INT, lowest=1),
        45_000,
        doc="A member that is silent for this long is taken out of its group.",
    )
    group_share_heartbeat_interval_ms: int = setting(
        "group.share.heartbeat.interval.ms",
        milliseconds(_INT, lowest=1),
        5000,
        doc="How often members are told to report.",
    )
    group_share_max_size: int = setting(
        "group.share.max.size",
        count(lowest=1, highest=1000),
        200,
        doc="How many members a share group may have.",
    )
    group_share_record_lock_duration_ms: int = setting(
        "group.share.record.lock.duration.ms",
        milliseconds(_INT, lowest=1000, highest=3_600_000),
        30_000,
        doc="How long an acquired record stays with its member before it is offered to others again.",
    )
    group_share_min_record_lock_duration_ms: int = setting(
        "group.share.min.record.lock.duration.ms",
        milliseconds(_INT, lowest=1000, highest=30_000),
        15_000,
        doc="The shortest lock that may be set for a single group.",
    )
    group_share_max_record_lock_duration_ms: int = setting(
        "group.share.max.record.lock.duration.ms",
        milliseconds(_INT, lowest=30_000, highest=3_600_000),
        60_000,
        doc="The longest lock that may be set for a single group.",
    )
    group_share_delivery_count_limit: int = setting(
        "group.share.delivery.count.limit",
        count(lowest=2, highest=10),
        5,
        doc="How often a record is offered before it is given up.",
    )
    group_share_partition_max_record_locks: int = setting(
        "group.share.partition.max.record.locks",
        count(lowest=100, highest=10_000),
        2000,
        doc="How many records of one partition may be in flight at once.",
    )
    group_share_max_share_sessions: int = setting(
        "group.share.max.share.sessions",
        count(lowest=1),
        2000,
        doc="How many share sessions the broker remembers.",
    )
    share_coordinator_state_topic_num_partitions: int = setting(
        "share.coordinator.state.topic.num.partitions",
        count(lowest=1),
        50,
        doc="The number of partitions of the topic that keeps the state of share groups.",
    )
    share_coordinator_state_topic_replication_factor: int = setting(
        "share.coordinator.state.topic.replication.factor",
        count(_SHORT, lowest=1),
        3,
        doc=f"The number of replicas of that topic when it is created. {_SINGLE_REPLICA}",
    )
    share_coordinator_state_topic_min_isr: int = setting(
        "share.coordinator.state.topic.min.isr",
        count(_SHORT, lowest=1),
        2,
        doc=f"How many replicas of that topic must be in sync for it to be written. {_SINGLE_REPLICA}",
    )
    share_coordinator_state_topic_segment_bytes: int = setting(
        "share.coordinator.state.topic.segment.bytes",
        byte_count(lowest=1),
        100 << 20,
        doc="The segment size of that topic.",
    )
    share_coordinator_snapshot_update_records_per_snapshot: int = setting(
        "share.coordinator.snapshot.update.records.per.snapshot",
        count(highest=500),
        500,
        doc="How many updates follow a snapshot of a share partition before the next snapshot is written.",
    )


@dataclass(frozen=True, slots=True)
class TransactionSettings:
    """Transactions: time limits, and the topic that keeps their state."""

    transaction_max_timeout_ms: int = setting(
        "transaction.max.timeout.ms",
        milliseconds(_INT, lowest=1),
        900_000,
        doc="The longest time-out a transactional producer may ask for.",
    )
    transactional_id_expiration_ms: int = setting(
        "transactional.id.expiration.ms",
        milliseconds(_INT, lowest=1),
        604_800_000,
        doc="A transactional id that was not used for this long is forgotten.",
    )
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = setting(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        milliseconds(_INT, lowest=1),
        10_000,
        doc="How often the coordinator looks for transactions that have run out of time, to abort them.",
    )
    transaction_remove_expired_transaction_cleanup_interval_ms: int = setting(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        milliseconds(_INT, lowest=1),
        3_600_000,
        doc="How often the coordinator looks for transactional ids to forget.",
    )
    transaction_partition_verification_enable: bool = setting(
        "transaction.partition.verification.enable",
        Boolean(),
        True,
        dynamic=CLUSTER_WIDE,
        doc="Before a transactional write, ask the coordinator whether the partition is part of the"
        " transaction, so that a late write cannot leave it open for ever.",
    )
    transaction_state_log_load_buffer_size: int = setting(
        "transaction.state.log.load.buffer.size",
        byte_count(lowest=1),
        5 << 20,
        doc="How much of the transaction topic is read at a time when a coordinator starts.",
    )
    transaction_state_log_num_partitions: int = setting(
        "transaction.state.log.num.partitions",
        count(lowest=1),
        50,
        doc="The number of partitions of the transaction topic. A transactional id's partition follows from"
        " it, so it must not change once the topic exists.",
    )
    transaction_state_log_replication_factor: int = setting(
        "transaction.state.log.replication.factor",
        count(_SHORT, lowest=1),
        3,
        doc=f"The number of replicas of the transaction topic when it is created. {_SINGLE_REPLICA}",
    )
    transaction_state_log_min_isr: int = setting(
        "transaction.state.log.min.isr",
        count(lowest=1),
        2,
        doc=f"How many replicas of that topic must be in sync for it to be written. {_SINGLE_REPLICA}",
    )
    transaction_state_log_segment_bytes: int = setting(
        "transaction.state.log.segment.bytes",
        byte_count(lowest=1),
        100 << 20,
        doc="The segment size of the transaction topic.",
    )


@dataclass(frozen=True, slots=True)
class ReplicationSettings:
    """Followers that fetch from leaders, and the leadership that moves between them."""

    num_replica_fetchers: int = setting(
        "num.replica.fetchers",
        count(lowest=1),
        1,
        dynamic=CLUSTER_WIDE,
        doc="How many connections a follower opens to each leader's broker.",
    )
    replica_fetch_max_bytes: int = setting(
        "replica.fetch.max.bytes",
        byte_count(),
        1 << 20,
        doc="How much of one partition a follower asks for at a time; one batch is always returned.",
    )
    replica_fetch_response_max_bytes: int = setting(
        "replica.fetch.response.max.bytes",
        byte_count(),
        10 << 20,
        doc="How much a follower asks for at a time over all partitions.",
    )
    replica_fetch_min_bytes: int = setting(
        "replica.fetch.min.bytes",
        byte_count(),
        1,
        doc="How much must be there before a follower's fetch is answered ahead of its waiting time.",
    )
    replica_fetch_wait_max_ms: int = setting(
        "replica.fetch.wait.max.ms",
        milliseconds(_INT),
        500,
        doc="How long a follower's fetch waits for new records; well below `replica.lag.time.max.ms`.",
    )
    replica_fetch_backoff_ms: int = setting(
        "replica.fetch.backoff.ms",
        milliseconds(_INT),
        1000,
        doc="How long a follower rests after a fetch that failed.",
    )
    replica_lag_time_max_ms: int = setting(
        "replica.lag.time.max.ms",
        milliseconds(lowest=1),
        30_000,
        doc="A follower that has not caught up with its leader for this long is no longer in sync.",
    )
    replica_high_watermark_checkpoint_interval_ms: int = setting(
        "replica.high.watermark.checkpoint.interval.ms",
        milliseconds(lowest=1),
        5000,
        doc="How often the high watermarks are written to disk.",
    )
    replica_socket_timeout_ms: int = setting(
        "replica.socket.timeout.ms",
        milliseconds(_INT, lowest=1),
        30_000,
        doc="How long a follower waits for its leader's answer.",
    )
    replica_socket_receive_buffer_bytes: int = setting(
        "replica.socket.receive.buffer.bytes",
        byte_count(lowest=1, also=(-1,)),
        64 << 10,
        doc="The receive buffer asked of the operating system for a follower's connection; -1 leaves its own"
        " choice.",
    )
    replica_selector_class: str | None = setting(
        "replica.selector.class",
        Maybe(
            Choice(
                "org.apache.kafka.common.replica.LeaderSelector",
                "org.apache.kafka.common.replica.RackAwareReplicaSelector",
            )
        ),
        None,
        doc="Where consumers read: from the leader, or from an in-sync replica in their own rack. Kafka's"
        " names for the two are kept; no class is loaded.",
    )
    auto_leader_rebalance_enable: bool = setting(
        "auto.leader.rebalance.enable",
        Boolean(),
        True,
        doc="Give leadership back to the first replica of a partition once it is in sync again.",
    )
    leader_imbalance_check_interval_seconds: int = setting(
        "leader.imbalance.check.interval.seconds",
        Integer(_LONG, lowest=1, unit="s"),
        300,
        doc="How often leaderships are looked through for ones to give back.",
    )
    controlled_shutdown_enable: bool = setting(
        "controlled.shutdown.enable",
        Boolean(),
        True,
        doc="Hand leaderships over before stopping.",
    )
    controller_socket_timeout_ms: int = setting(
        "controller.socket.timeout.ms",
        milliseconds(_INT, lowest=1),
        30_000,
        doc="How long the controller waits for a broker's answer.",
    )
    request_timeout_ms: int = setting(
        "request.timeout.ms",
        milliseconds(_INT, lowest=1),
        30_000,
        doc="How long a broker waits for another broker's answer.",
    )


@dataclass(frozen=True, slots=True)
class CoordinationSettings:
    """How several brokers become a cluster. A single broker keeps these decisions in a file of its own."""

    zookeeper_connect: str | None = setting(
        "zookeeper.connect",
        Maybe(Text()),
        None,
        doc="The ZooKeeper servers as HOST:PORT,..., with /PATH at the end where the cluster is not at"
        " the root. Without it, the broker is a cluster of one.",
    )
    zookeeper_session_timeout_ms: int = setting(
        "zookeeper.session.timeout.ms",
        milliseconds(_INT, lowest=1),
        18_000,
        doc="A broker that ZooKeeper has not heard of for this long counts as gone.",
    )
    zookeeper_connection_timeout_ms: int | None = setting(
        "zookeeper.connection.timeout.ms",
        Maybe(milliseconds(_INT, lowest=1)),
        None,
        doc="How long a start waits for ZooKeeper; nothing means as long as the session time-out.",
    )


@dataclass(frozen=True, slots=True)
class QuotaSettings:
    """How rates are measured against quotas, and how fast replicas may be moved."""

    quota_window_num: int = setting(
        "quota.window.num",
        count(lowest=1),
        11,
        doc="Over how many windows a client's rate is measured.",
    )
    quota_window_size_seconds: int = setting(
        "quota.window.size.seconds",
        Integer(lowest=1, unit="s"),
        1,
        doc="The length of one such window.",
    )
    controller_quota_window_num: int = setting(
        "controller.quota.window.num",
        count(lowest=1),
        11,
        doc="Over how many windows the rate of topic changes is measured.",
    )
    controller_quota_window_size_seconds: int = setting(
        "controller.quota.window.size.seconds",
        Integer(lowest=1, unit="s"),
        1,
        doc="The length of one such window.",
    )
    replication_quota_window_num: int = setting(
        "replication.quota.window.num",
        count(lowest=1),
        11,
        doc="Over how many windows the rate of throttled replication is measured.",
    )
    replication_quota_window_size_seconds: int = setting(
        "replication.quota.window.size.seconds",
        Integer(lowest=1, unit="s"),
        1,
        doc="The length of one such window.",
    )
    leader_replication_throttled_rate: int = setting(
        "leader.replication.throttled.rate",
        Integer(_LONG, lowest=0, unit="bytes/s"),
        LONG_MAX,
        dynamic=CLUSTER_WIDE,
        doc="How fast this broker sends throttled replicas to their followers.",
    )
    follower_replication_throttled_rate: int = setting(
        "follower.replication.throttled.rate",
        Integer(_LONG, lowest=0, unit="bytes/s"),
        LONG_MAX,
        dynamic=CLUSTER_WIDE,
        doc="How fast this broker fetches throttled replicas from their leaders.",
    )


@dataclass(frozen=True, slots=True)
class MonitoringSettings:
    """What a broker tells of itself, and when it warns."""

    metrics_port: int | None = setting(
        "metrics.port",
        Maybe(count(highest=65535)),
        None,
        is_ours=True,
        doc="The port on which metrics are served, as `http://HOST:PORT/metrics` in Prometheus' text format."
        " 0 is any free port; without a value nothing is served.",
    )
    metrics_host: str = setting(
        "metrics.host",
        Text(),
        "127.0.0.1",
        is_ours=True,
        doc="The address on which metrics are served. Whoever reaches it may read them: there is no"
        " password.",
    )
    metrics_series_max: int = setting(
        "metrics.series.max",
        count(),
        10_000,
        dynamic=CLUSTER_WIDE,
        is_ours=True,
        doc="How many partitions have metrics of their own, and likewise how many topics, groups, and pairs"
        " of a group and a partition. Those beyond are counted in `riverlog_metrics_omitted`; pairs that are"
        " at risk come first.",
    )
    lag_alarm_retention_percent: int = setting(
        "lag.alarm.retention.percent",
        count(highest=100),
        20,
        dynamic=CLUSTER_WIDE,
        is_ours=True,
        doc="Warn of a group when so little is left of a topic's retention (of its time or of its bytes,"
        " whichever comes first) until records are deleted that the group has not read. 0 warns only of what"
        " was lost.",
    )
    lag_check_interval_ms: int = setting(
        "lag.check.interval.ms",
        milliseconds(_INT, lowest=100),
        10_000,
        is_ours=True,
        doc="How often the lag of all groups is looked at. It is also looked at before segments are deleted.",
    )


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """Everything that can be set on a broker, a section for each room."""

    node: NodeSettings = field(default_factory=NodeSettings)
    network: NetworkSettings = field(default_factory=NetworkSettings)
    admin: AdminSettings = field(default_factory=AdminSettings)
    log: LogSettings = field(default_factory=LogSettings)
    topic_defaults: TopicSettings = field(default_factory=TopicSettings)
    cleaner: CleanerSettings = field(default_factory=CleanerSettings)
    groups: GroupSettings = field(default_factory=GroupSettings)
    consumer_groups: ConsumerGroupSettings = field(default_factory=ConsumerGroupSettings)
    share_groups: ShareGroupSettings = field(default_factory=ShareGroupSettings)
    transactions: TransactionSettings = field(default_factory=TransactionSettings)
    replication: ReplicationSettings = field(default_factory=ReplicationSettings)
    coordination: CoordinationSettings = field(default_factory=CoordinationSettings)
    quotas: QuotaSettings = field(default_factory=QuotaSettings)
    monitoring: MonitoringSettings = field(default_factory=MonitoringSettings)
