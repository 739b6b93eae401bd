"""The client room: small conveniences over confluent-kafka (librdkafka) for people and for our other rooms.

    admin.py       topics, settings and offsets of a running cluster, as plain values
    groups.py      who reads, how far each group has come, and moving or deleting one
    produce.py     send records, with back-pressure and an exact account of what failed
    consume.py     read a span of a topic, alone or as a member of a group
    positions.py   where in a topic to start and stop: an offset, a time, the last N records
    bootstrap.py   where the cluster is, and whether anything answers there
    refusals.py    librdkafka's errors as ours, in a sentence that says what to do

Everything here is an ordinary Kafka client: it speaks to riverlog and to Apache Kafka alike and knows
nothing of the broker's insides. Failures are `RiverlogError`s. librdkafka's own log goes to the logger
`riverlog.client.librdkafka` and is silent unless the program configures logging.

Names are imported on first use, since librdkafka takes a tenth of a second to load.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from riverlog.client.admin import Admin, Partition, SettingValue, Topic
    from riverlog.client.bootstrap import Bootstrap
    from riverlog.client.consume import ConsumedRecord, GroupReader, SpanReader
    from riverlog.client.groups import GroupAdmin, GroupHasMembers, UnknownGroup
    from riverlog.client.positions import Position, Span
    from riverlog.client.produce import DeliveryFailed, Producer
    from riverlog.client.refusals import BrokerUnreachable, TopicExists, UnknownTopic

__all__ = [
    "Admin",
    "GroupAdmin",
    "Topic",
    "Partition",
    "SettingValue",
    "Producer",
    "SpanReader",
    "GroupReader",
    "ConsumedRecord",
    "Position",
    "Span",
    "Bootstrap",
    "BrokerUnreachable",
    "UnknownTopic",
    "TopicExists",
    "UnknownGroup",
    "GroupHasMembers",
    "DeliveryFailed",
]

_HOMES = {
    "Admin": "admin",
    "Topic": "admin",
    "Partition": "admin",
    "SettingValue": "admin",
    "GroupAdmin": "groups",
    "UnknownGroup": "groups",
    "GroupHasMembers": "groups",
    "Producer": "produce",
    "DeliveryFailed": "produce",
    "SpanReader": "consume",
    "GroupReader": "consume",
    "ConsumedRecord": "consume",
    "Position": "positions",
    "Span": "positions",
    "Bootstrap": "bootstrap",
    "BrokerUnreachable": "refusals",
    "UnknownTopic": "refusals",
    "TopicExists": "refusals",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
