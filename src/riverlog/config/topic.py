"""A topic's settings: the broker's defaults overlaid by what the topic itself says.

`TopicSettings` is declared once and used twice: with the broker's values it is the section
`topic_defaults` of `BrokerSettings`, and with a topic's overrides on top it is what that topic's
partitions obey. So a setting has two names here: `log.segment.bytes` for the broker, `segment.bytes`
for the topic; the attribute follows the topic's name.

    topic_settings(broker.topic_defaults, {"retention.ms": "60000"}).retention_ms == 60000

Overrides are kept and travel as text, as topics' configurations do in the protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from riverlog.config.kinds import (
    LONG_MAX,
    Boolean,
    Choice,
    ConfigType,
    Decimal,
    Integer,
    ReplicaList,
    TextSet,
    byte_count,
    count,
    milliseconds,
)
from riverlog.config.problems import unknown_setting
from riverlog.config.setting import CLUSTER_WIDE, Alternative, Setting, from_hours, from_minutes, setting
from riverlog.errors import ConfigError

_LONG: Final = ConfigType.LONG
_NOT_TIERED: Final = "riverlog keeps no tiered storage, so only the default is accepted"


class _OnlyFalse(Boolean):
    """A switch of something that riverlog does not have."""

    accepted = "only false"

    def parse(self, text: str) -> bool:
        if super().parse(text):
            raise ValueError(text)
        return False


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """How the partitions of one topic are kept. -1 means no limit where the help says so."""

    segment_bytes: int = setting(
        "log.segment.bytes",
        byte_count(lowest=1 << 20),
        1 << 30,
        topic="segment.bytes",
        dynamic=CLUSTER_WIDE,
        doc="A segment is sealed, and the next one begun, before it would grow past this size.",
    )
    segment_ms: int = setting(
        "log.roll.ms",
        milliseconds(lowest=1),
        7 * 24 * 3_600_000,
        topic="segment.ms",
        dynamic=CLUSTER_WIDE,
        alternatives=(Alternative("log.roll.hours", Integer(lowest=1, unit="hours"), from_hours, "168"),),
        doc="A segment is sealed once its first record is this old, even if it is small, so that retention"
        " and compaction can get at it.",
    )
    segment_jitter_ms: int = setting(
        "log.roll.jitter.ms",
        milliseconds(),
        0,
        topic="segment.jitter.ms",
        dynamic=CLUSTER_WIDE,
        alternatives=(
            Alternative("log.roll.jitter.hours", Integer(lowest=0, unit="hours"), from_hours, "0"),
        ),
        doc="Up to this much is taken off the sealing age at random, so that many partitions do not seal"
        " their segments at the same moment.",
    )
    segment_index_bytes: int = setting(
        "log.index.size.max.bytes",
        byte_count(lowest=4),
        10 << 20,
        topic="segment.index.bytes",
        dynamic=CLUSTER_WIDE,
        doc="The largest size of a segment's offset index; a segment whose index is full is sealed.",
    )
    index_interval_bytes: int = setting(
        "log.index.interval.bytes",
        byte_count(),
        4096,
        topic="index.interval.bytes",
        dynamic=CLUSTER_WIDE,
        doc="About how many bytes of log lie between two entries of its index. Smaller finds an offset with"
        " less scanning and makes larger indexes.",
    )
    retention_ms: int = setting(
        "log.retention.ms",
        milliseconds(lowest=1, also=(-1,)),
        7 * 24 * 3_600_000,
        topic="retention.ms",
        topic_kind=milliseconds(lowest=-1),
        dynamic=CLUSTER_WIDE,
        alternatives=(
            Alternative("log.retention.minutes", Integer(lowest=1, also=(-1,), unit="minutes"), from_minutes),
            Alternative(
                "log.retention.hours", Integer(lowest=1, also=(-1,), unit="hours"), from_hours, "168"
            ),
        ),
        doc="With cleanup policy `delete`, a sealed segment is deleted once its newest record is older than"
        " this. -1 means no limit.",
    )
    retention_bytes: int = setting(
        "log.retention.bytes",
        byte_count(_LONG, lowest=-1),
        -1,
        topic="retention.bytes",
        dynamic=CLUSTER_WIDE,
        doc="With cleanup policy `delete`, the oldest segments of a partition are deleted as long as what"
        " remains is at least this large. Counted for each partition. -1 means no limit.",
    )
    local_retention_ms: int = setting(
        "log.local.retention.ms",
        Integer(_LONG, lowest=-2, highest=-2, unit="ms"),
        -2,
        topic="local.retention.ms",
        dynamic=CLUSTER_WIDE,
        doc=f"Age limit of the local part of a tiered log; -2 means as `retention.ms`. {_NOT_TIERED}.",
    )
    local_retention_bytes: int = setting(
        "log.local.retention.bytes",
        Integer(_LONG, lowest=-2, highest=-2, unit="bytes"),
        -2,
        topic="local.retention.bytes",
        dynamic=CLUSTER_WIDE,
        doc=f"Size limit of the local part of a tiered log; -2 means as `retention.bytes`. {_NOT_TIERED}.",
    )
    remote_storage_enable: bool = setting(
        None,
        _OnlyFalse(),
        False,
        topic="remote.storage.enable",
        doc=f"Copies sealed segments of the topic to a remote store. {_NOT_TIERED}.",
    )
    remote_log_copy_disable: bool = setting(
        None,
        _OnlyFalse(),
        False,
        topic="remote.log.copy.disable",
        doc=f"Stops copying to the remote store. {_NOT_TIERED}.",
    )
    remote_log_delete_on_disable: bool = setting(
        None,
        _OnlyFalse(),
        False,
        topic="remote.log.delete.on.disable",
        doc=f"Deletes the remote copy when tiering is switched off. {_NOT_TIERED}.",
    )
    max_message_bytes: int = setting(
        "message.max.bytes",
        byte_count(),
        1048588,
        topic="max.message.bytes",
        dynamic=CLUSTER_WIDE,
        doc="The largest record batch that is accepted, measured as it is stored: after compression, with"
        " its header.",
    )
    message_timestamp_type: str = setting(
        "log.message.timestamp.type",
        Choice("CreateTime", "LogAppendTime"),
        "CreateTime",
        topic="message.timestamp.type",
        dynamic=CLUSTER_WIDE,
        doc="Whose clock a record's timestamp shows: its producer's (CreateTime) or the broker's at the"
        " moment of the append (LogAppendTime).",
    )
    message_timestamp_before_max_ms: int = setting(
        "log.message.timestamp.before.max.ms",
        milliseconds(),
        LONG_MAX,
        topic="message.timestamp.before.max.ms",
        dynamic=CLUSTER_WIDE,
        doc="How far a producer's timestamp may lie in the past of the broker's clock; a record beyond is"
        " refused. Without effect under LogAppendTime.",
    )
    message_timestamp_after_max_ms: int = setting(
        "log.message.timestamp.after.max.ms",
        milliseconds(),
        3_600_000,
        topic="message.timestamp.after.max.ms",
        dynamic=CLUSTER_WIDE,
        doc="How far a producer's timestamp may lie in the future of the broker's clock; a record beyond is"
        " refused. Without effect under LogAppendTime.",
    )
    compression_type: str = setting(
        "compression.type",
        Choice("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        "producer",
        topic="compression.type",
        dynamic=CLUSTER_WIDE,
        doc="The codec in which batches are stored. `producer` keeps each batch as it arrived; another codec"
        " makes the broker compress again what comes in differently.",
    )
    compression_gzip_level: int = setting(
        "compression.gzip.level",
        Integer(lowest=1, highest=9, also=(-1,)),
        -1,
        topic="compression.gzip.level",
        dynamic=CLUSTER_WIDE,
        doc="How hard gzip tries where the broker itself compresses; -1 is the codec's own choice.",
    )
    compression_lz4_level: int = setting(
        "compression.lz4.level",
        count(lowest=1, highest=17),
        9,
        topic="compression.lz4.level",
        dynamic=CLUSTER_WIDE,
        doc="How hard lz4 tries where the broker itself compresses.",
    )
    compression_zstd_level: int = setting(
        "compression.zstd.level",
        Integer(lowest=-131072, highest=22),
        3,
        topic="compression.zstd.level",
        dynamic=CLUSTER_WIDE,
        doc="How hard zstd tries where the broker itself compresses.",
    )
    cleanup_policy: frozenset[str] = setting(
        "log.cleanup.policy",
        TextSet("compact", "delete"),
        frozenset({"delete"}),
        topic="cleanup.policy",
        dynamic=CLUSTER_WIDE,
        doc="What happens to old data: `delete` drops whole segments by age and size, `compact` keeps the"
        " latest record of each key, both do both, and an empty list keeps everything.",
    )
    delete_retention_ms: int = setting(
        "log.cleaner.delete.retention.ms",
        milliseconds(),
        24 * 3_600_000,
        topic="delete.retention.ms",
        dynamic=CLUSTER_WIDE,
        doc="In a compacted topic, how long a tombstone stays readable after compaction first met it. A"
        " reader that starts at the beginning must finish within this time to see every deletion.",
    )
    min_cleanable_dirty_ratio: float = setting(
        "log.cleaner.min.cleanable.ratio",
        Decimal(lowest=0, highest=1),
        0.5,
        topic="min.cleanable.dirty.ratio",
        dynamic=CLUSTER_WIDE,
        doc="A log is compacted once this share of it has been written since the last time. Lower spends"
        " more work for less waste.",
    )
    min_compaction_lag_ms: int = setting(
        "log.cleaner.min.compaction.lag.ms",
        milliseconds(),
        0,
        topic="min.compaction.lag.ms",
        dynamic=CLUSTER_WIDE,
        doc="How long a record is safe from compaction after it was written.",
    )
    max_compaction_lag_ms: int = setting(
        "log.cleaner.max.compaction.lag.ms",
        milliseconds(lowest=1),
        LONG_MAX,
        topic="max.compaction.lag.ms",
        dynamic=CLUSTER_WIDE,
        doc="How long a record may stay out of reach of compaction, whatever the dirty ratio says.",
    )
    file_delete_delay_ms: int = setting(
        "log.segment.delete.delay.ms",
        milliseconds(),
        60_000,
        topic="file.delete.delay.ms",
        dynamic=CLUSTER_WIDE,
        doc="How long a file stays on disk after its segment was deleted from the log, for readers that are"
        " still at it.",
    )
    flush_messages: int = setting(
        "log.flush.interval.messages",
        count(_LONG, lowest=1),
        LONG_MAX,
        topic="flush.messages",
        dynamic=CLUSTER_WIDE,
        doc="Force a partition's log to disk after this many records, besides what `durability` does.",
    )
    flush_ms: int = setting(
        "log.flush.interval.ms",
        milliseconds(),
        LONG_MAX,
        topic="flush.ms",
        dynamic=CLUSTER_WIDE,
        alternatives=(Alternative("log.flush.scheduler.interval.ms", milliseconds(), int, str(LONG_MAX)),),
        doc="Force a partition's log to disk after this time, besides what `durability` does.",
    )
    durability: str = setting(
        "durability",
        Choice("fsync", "page-cache"),
        "fsync",
        topic="durability",
        dynamic=CLUSTER_WIDE,
        is_ours=True,
        doc="What acks=all waits for where a partition has a single replica: `fsync` means that the records"
        " are on the disk, one flush serving all requests that wait; `page-cache` means that the operating"
        " system has them, so that they survive the broker but not a power failure.",
    )
    min_insync_replicas: int = setting(
        "min.insync.replicas",
        count(lowest=1),
        1,
        topic="min.insync.replicas",
        dynamic=CLUSTER_WIDE,
        doc="With acks=all, a write is refused while fewer replicas than this are in sync.",
    )
    unclean_leader_election_enable: bool = setting(
        "unclean.leader.election.enable",
        Boolean(),
        False,
        topic="unclean.leader.election.enable",
        dynamic=CLUSTER_WIDE,
        doc="Whether a replica that had fallen behind may lead when no other is left: the partition serves"
        " again, and acknowledged records may be lost.",
    )
    preallocate: bool = setting(
        "log.preallocate",
        Boolean(),
        False,
        topic="preallocate",
        dynamic=CLUSTER_WIDE,
        doc="Reserve a new segment's full size on disk when it is begun.",
    )
    leader_replication_throttled_replicas: tuple[str, ...] = setting(
        None,
        ReplicaList(),
        (),
        topic="leader.replication.throttled.replicas",
        doc="The replicas, as PARTITION:BROKER, whose replication the leader's side slows down to"
        " `leader.replication.throttled.rate`; * for all.",
    )
    follower_replication_throttled_replicas: tuple[str, ...] = setting(
        None,
        ReplicaList(),
        (),
        topic="follower.replication.throttled.replicas",
        doc="The replicas, as PARTITION:BROKER, whose replication the follower's side slows down to"
        " `follower.replication.throttled.rate`; * for all.",
    )


def _fields_by_topic_name() -> dict[str, tuple[str, Setting]]:
    declared = ((field.name, field.metadata["setting"]) for field in fields(TopicSettings))
    return {setting.topic_name: (attribute, setting) for attribute, setting in declared}


TOPIC_NAMES: Final[Mapping[str, tuple[str, Setting]]] = _fields_by_topic_name()
"""Each setting that a topic may override: its name there, with its attribute and declaration."""


def topic_settings(defaults: TopicSettings, overrides: Mapping[str, str]) -> TopicSettings:
    """Overlay a topic's own values on the broker's.

    Raises ConfigError, naming the setting, for an unknown name, a value that is not accepted, or two
    values that contradict each other.
    """
    if not overrides:
        return defaults
    values: dict[str, Any] = {}
    for name, text in overrides.items():
        if name not in TOPIC_NAMES:
            raise unknown_setting(name, text, TOPIC_NAMES, what="topic setting")
        attribute, declared = TOPIC_NAMES[name]
        try:
            values[attribute] = declared.topic_kind.parse(text)
        except ValueError:
            raise ConfigError(name, text, declared.topic_kind.accepted) from None
    settings = replace(defaults, **values)
    check_topic_settings(settings)
    return settings


def check_topic_settings(settings: TopicSettings) -> None:
    """Refuse values that contradict each other."""
    if settings.min_compaction_lag_ms > settings.max_compaction_lag_ms:
        raise ConfigError(
            "min.compaction.lag.ms",
            str(settings.min_compaction_lag_ms),
            f"at most max.compaction.lag.ms, which is {settings.max_compaction_lag_ms}",
        )
