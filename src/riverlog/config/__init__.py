"""config: the one typed place for settings.

    settings.py, topic.py   the table: a dataclass per room, a field per setting, said once
            |
            +-- loading.py      defaults < file < environment < flags  ->  BrokerConfig
            +-- dynamic.py      what may change while the broker runs   ->  another BrokerConfig
            +-- describe.py     what DescribeConfigs answers, and where each value came from
            +-- reference.py    the page docs/reference/settings.md

Promises: values are checked before a room sees them; every problem of a start is reported at once; what
Apache Kafka knows and riverlog does not honour is named in a warning, and what nobody knows is refused.
A `BrokerSettings` never changes: a live change makes another one. Only `loading` touches the world, to
read the one file it is told to.
"""

from riverlog.config.client_metrics import alter_client_metrics
from riverlog.config.describe import (
    ConfigEntry,
    Synonym,
    describe_broker,
    describe_client_metrics,
    describe_cluster,
    describe_group,
    describe_kept,
    describe_topic,
)
from riverlog.config.dynamic import Change, Operation, alter_broker, alter_group, alter_topic, with_dynamic
from riverlog.config.effective import BrokerConfig, Given, Source, effective_config
from riverlog.config.group import GroupConfig, group_config
from riverlog.config.kinds import ConfigType
from riverlog.config.listeners import Listener, advertised_listeners
from riverlog.config.loading import load_config
from riverlog.config.problems import CombinedConfigError
from riverlog.config.settings import (
    AdminSettings,
    BrokerSettings,
    CleanerSettings,
    ConsumerGroupSettings,
    CoordinationSettings,
    GroupSettings,
    LogSettings,
    MonitoringSettings,
    NetworkSettings,
    NodeSettings,
    QuotaSettings,
    ReplicationSettings,
    ShareGroupSettings,
    TransactionSettings,
)
from riverlog.config.topic import TopicSettings, topic_settings

__all__ = [
    "BrokerConfig",
    "BrokerSettings",
    "TopicSettings",
    "NodeSettings",
    "NetworkSettings",
    "AdminSettings",
    "LogSettings",
    "CleanerSettings",
    "GroupSettings",
    "ConsumerGroupSettings",
    "ShareGroupSettings",
    "TransactionSettings",
    "ReplicationSettings",
    "CoordinationSettings",
    "QuotaSettings",
    "MonitoringSettings",
    "Listener",
    "load_config",
    "effective_config",
    "topic_settings",
    "GroupConfig",
    "group_config",
    "advertised_listeners",
    "with_dynamic",
    "alter_broker",
    "alter_topic",
    "alter_client_metrics",
    "alter_group",
    "Change",
    "Operation",
    "describe_broker",
    "describe_client_metrics",
    "describe_cluster",
    "describe_topic",
    "describe_group",
    "describe_kept",
    "ConfigEntry",
    "Synonym",
    "ConfigType",
    "Source",
    "Given",
    "CombinedConfigError",
]
