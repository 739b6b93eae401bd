"""One file per API: its key, its versions, its behaviour, and the function that answers it."""

from __future__ import annotations

from typing import Final

from riverlog.broker.apis import (
    alter_configs,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    api_versions,
    create_partitions,
    create_topics,
    delete_records,
    delete_topics,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_log_dirs,
    describe_producers,
    describe_topic_partitions,
    elect_leaders,
    fetch,
    incremental_alter_configs,
    init_producer_id,
    list_config_resources,
    list_offsets,
    list_partition_reassignments,
    metadata,
    offset_for_leader_epoch,
    produce,
)
from riverlog.broker.handler import Handler, RawHandler

HANDLERS: Final[tuple[Handler | RawHandler, ...]] = (
    produce.HANDLER,
    fetch.HANDLER,
    list_offsets.HANDLER,
    metadata.HANDLER,
    api_versions.HANDLER,
    create_topics.HANDLER,
    delete_topics.HANDLER,
    delete_records.HANDLER,
    init_producer_id.HANDLER,
    offset_for_leader_epoch.HANDLER,
    describe_configs.HANDLER,
    alter_configs.HANDLER,
    alter_replica_log_dirs.HANDLER,
    describe_log_dirs.HANDLER,
    create_partitions.HANDLER,
    elect_leaders.HANDLER,
    incremental_alter_configs.HANDLER,
    alter_partition_reassignments.HANDLER,
    list_partition_reassignments.HANDLER,
    describe_client_quotas.HANDLER,
    describe_cluster.HANDLER,
    describe_producers.HANDLER,
    list_config_resources.HANDLER,
    describe_topic_partitions.HANDLER,
)
"""By API key. What is listed here is what ApiVersions tells, and nothing else is answered."""

__all__ = ["HANDLERS"]
