"""The topics in which coordinators keep their state: how large they are made, and with which settings.

They are created when they are first needed, by whichever request comes first, and always the same: their
partition count decides where each group and transaction lives, so it is never that of ordinary topics.
A cluster smaller than the replication factor asked for gets as many replicas as it has brokers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from riverlog.cluster import COORDINATOR_OVERRIDES, NewTopic

if TYPE_CHECKING:
    from riverlog.config import BrokerSettings


class _Size(NamedTuple):
    partition_count: int
    replication_factor: int
    segment_bytes: int
    min_in_sync: int = 1


def new_topic(name: str, settings: BrokerSettings, *, broker_count: int) -> NewTopic:
    """Ask for a topic: of the default size, unless it is a coordinator's."""
    size = _sizes(settings).get(name)
    if size is None:
        return NewTopic(name)
    replication_factor = max(min(size.replication_factor, broker_count), 1)
    overrides = {
        **COORDINATOR_OVERRIDES[name],
        "segment.bytes": str(size.segment_bytes),
        "min.insync.replicas": str(min(size.min_in_sync, replication_factor)),
    }
    return NewTopic(name, size.partition_count, replication_factor, overrides=tuple(overrides.items()))


def _sizes(settings: BrokerSettings) -> dict[str, _Size]:
    groups, transactions, shares = settings.groups, settings.transactions, settings.share_groups
    return {
        "__consumer_offsets": _Size(
            groups.offsets_topic_num_partitions,
            groups.offsets_topic_replication_factor,
            groups.offsets_topic_segment_bytes,
        ),
        "__transaction_state": _Size(
            transactions.transaction_state_log_num_partitions,
            transactions.transaction_state_log_replication_factor,
            transactions.transaction_state_log_segment_bytes,
            transactions.transaction_state_log_min_isr,
        ),
        "__share_group_state": _Size(
            shares.share_coordinator_state_topic_num_partitions,
            shares.share_coordinator_state_topic_replication_factor,
            shares.share_coordinator_state_topic_segment_bytes,
            shares.share_coordinator_state_topic_min_isr,
        ),
    }
