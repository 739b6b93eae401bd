"""DescribeConfigs (key 32), versions 1-4: settings of all that has some, and where each came from.

A topic has all settings of topics, a broker all of its own; the broker named "" has what was altered for
all brokers. A group, whether it is there or not, has its own over those of all groups, which are the
broker's. A list of names restricts the answer, the empty list does not. Only this broker knows its own
settings, so a broker asks no other: clients send such a request to the broker in question.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.cluster import ALL_BROKERS, Refusal, Resource, ResourceType, illegality
from riverlog.config import (
    ConfigEntry,
    Source,
    describe_broker,
    describe_client_metrics,
    describe_cluster,
    describe_group,
    describe_kept,
    describe_topic,
)
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context
    from riverlog.cluster import MetadataImage
    from riverlog.config import BrokerConfig


_WITHOUT_SETTINGS = {
    ResourceType.BROKER_LOGGER: "the levels of loggers cannot be seen or changed while the broker runs",
}


def answer(
    broker: Broker, request: messages.DescribeConfigsRequest, _context: Context
) -> messages.DescribeConfigsResponse:
    """Describe each resource."""
    # Once, however often it is named: a broker described a thousand times over would be 60 MB of answer.
    asked = {(each.resource_type, each.resource_name): each for each in request.resources}
    return messages.DescribeConfigsResponse(
        results=[
            result(
                resource,
                entries_of(
                    resource.resource_type,
                    resource.resource_name,
                    image=broker.cluster.image,
                    config=broker.config,
                    node_id=broker.node_id,
                ),
                with_synonyms=request.include_synonyms,
                with_documentation=request.include_documentation,
            )
            for resource in asked.values()
        ]
    )


def entries_of(
    kind: int, name: str, *, image: MetadataImage, config: BrokerConfig, node_id: int
) -> list[ConfigEntry] | Refusal:
    """List a resource's settings, or say why there are none."""
    if kind == ResourceType.TOPIC:
        why = illegality(name)
        if why is not None:
            return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, why)
        if image.topic(name) is None:
            return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")
        return describe_topic(config, image.topic_overrides(name))
    if kind == ResourceType.BROKER:
        if not name:
            return describe_cluster(image.overrides_of(ALL_BROKERS))
        if name != str(node_id):
            return Refusal(ErrorCode.INVALID_REQUEST, f"this is broker {node_id}, not {name!r}")
        own = image.overrides_of(Resource(ResourceType.BROKER, name))
        return [*describe_broker(config), *describe_kept(own, Source.DYNAMIC_BROKER)]
    if kind == ResourceType.GROUP:
        if not name:
            return Refusal(ErrorCode.INVALID_REQUEST, "a group has a name")
        return describe_group(config, image.overrides_of(Resource(ResourceType.GROUP, name)))
    if kind == ResourceType.CLIENT_METRICS:
        if not name:
            return Refusal(ErrorCode.INVALID_REQUEST, "a subscription to clients' metrics has a name")
        return describe_client_metrics(image.overrides_of(Resource(ResourceType.CLIENT_METRICS, name)))
    if kind in _WITHOUT_SETTINGS:
        return Refusal(ErrorCode.INVALID_REQUEST, _WITHOUT_SETTINGS[ResourceType(kind)])
    return Refusal(ErrorCode.INVALID_REQUEST, f"nothing that has settings is of type {kind}")


def result(
    resource: messages.DescribeConfigsResource,
    entries: list[ConfigEntry] | Refusal,
    *,
    with_synonyms: bool,
    with_documentation: bool,
) -> messages.DescribeConfigsResult:
    """Tell one resource's settings, or why there are none."""
    if isinstance(entries, Refusal):
        return messages.DescribeConfigsResult(
            error_code=entries.error_code,
            error_message=entries.message,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
    return messages.DescribeConfigsResult(
        error_message="",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[
            _told(entry, with_synonyms=with_synonyms, with_documentation=with_documentation)
            for entry in chosen(entries, resource.configuration_keys)
        ],
    )


def chosen(entries: list[ConfigEntry], names: Collection[str] | None) -> list[ConfigEntry]:
    """Keep the entries asked for; None asks for all, and so does the empty list, as clients rely on."""
    if not names:
        return entries
    wanted = set(names)
    return [entry for entry in entries if entry.name in wanted]


def _told(
    entry: ConfigEntry, *, with_synonyms: bool, with_documentation: bool
) -> messages.DescribeConfigsResourceResult:
    return messages.DescribeConfigsResourceResult(
        name=entry.name,
        value=None if entry.is_sensitive else entry.value,
        read_only=entry.is_read_only,
        config_source=entry.source,
        is_sensitive=entry.is_sensitive,
        synonyms=[
            messages.DescribeConfigsSynonym(name=each.name, value=each.value, source=each.source)
            for each in (entry.synonyms if with_synonyms else ())
        ],
        config_type=entry.type,
        documentation=entry.documentation if with_documentation else None,
    )


HANDLER = Handler(api_key=32, min_version=1, max_version=4, answer=answer)
