"""Decides on changes to settings of topics, brokers and other resources.

Two requests exist: an edit of single settings (IncrementalAlterConfigs), and the replacement of all of a
resource's settings (the older AlterConfigs). Either is checked against the settings that would result,
and done for a whole resource or not at all. What settings exist is the config room's knowledge, and
arrives here as `OverrideRules`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from riverlog.cluster.changes import Change, Refusal
from riverlog.cluster.metadata_image import MetadataImage, Resource, ResourceType
from riverlog.cluster.names import illegality
from riverlog.cluster.stored_nodes import encode, overrides_path
from riverlog.config import Change as Edit
from riverlog.config import Operation as EditKind
from riverlog.coordination import ANY_VERSION, Create, Delete, Operation, Set
from riverlog.errors import ConfigError, RequestRefused
from riverlog.protocol.error_codes import ErrorCode


class OverrideEdits(NamedTuple):
    """Edits of one resource's settings."""

    resource: Resource
    edits: Sequence[Edit]


class OverrideRules(Protocol):
    """What settings a resource can have: the broker's knowledge, over the config room."""

    def alter(
        self, resource: Resource, overrides: Mapping[str, str], edits: Sequence[Edit]
    ) -> dict[str, str]:
        """Work out the settings after these edits; raises ConfigError unless the resource may have them.

        Raises RequestRefused for a resource that can have none.
        The edits name each setting once, and have values except where they delete.
        """


def decide_overrides(
    image: MetadataImage, requests: Sequence[OverrideEdits], rules: OverrideRules
) -> dict[Resource, Change | Refusal]:
    """Decide on edits, by resource in the order asked for; a resource named twice is refused."""
    counts = Counter(request.resource for request in requests)
    outcomes: dict[Resource, Change | Refusal] = {}
    for resource, edits in requests:
        try:
            if counts[resource] > 1:
                raise RequestRefused(ErrorCode.INVALID_REQUEST, "the resource is named twice in this request")
            _check_resource(image, resource)
            outcomes[resource] = _decide(image, resource, edits, rules)
        except RequestRefused as refused:
            outcomes[resource] = Refusal(refused.error_code, refused.message)
    return outcomes


def replacement(
    image: MetadataImage, resource: Resource, settings: Sequence[tuple[str, str | None]]
) -> OverrideEdits:
    """Express "these settings and no others" as edits."""
    named = {name for name, _ in settings}
    edits = [Edit(name, EditKind.SET, value) for name, value in settings]
    gone = [name for name in image.overrides_of(resource) if name not in named]
    return OverrideEdits(resource, edits + [Edit(name, EditKind.DELETE, None) for name in gone])


def _check_resource(image: MetadataImage, resource: Resource) -> None:
    if resource.type == ResourceType.TOPIC:
        if not resource.name:
            raise RequestRefused(ErrorCode.INVALID_REQUEST, "settings for all topics are those of the broker")
        why = illegality(resource.name)
        if why is not None:
            raise RequestRefused(ErrorCode.INVALID_TOPIC_EXCEPTION, why)
        if resource.name not in image.topics:
            raise RequestRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {resource.name!r}")
    elif resource.type == ResourceType.GROUP and not resource.name:
        raise RequestRefused(ErrorCode.INVALID_REQUEST, "settings for all groups are those of the broker")
    elif resource.type == ResourceType.CLIENT_METRICS and not resource.name:
        raise RequestRefused(ErrorCode.INVALID_REQUEST, "a subscription to clients' metrics has a name")
    elif resource.type == ResourceType.BROKER and resource.name:
        if not resource.name.isascii() or not resource.name.isdigit():
            raise RequestRefused(
                ErrorCode.INVALID_REQUEST, f"a broker's id is a number, not {resource.name!r}"
            )
        if int(resource.name) not in image.brokers:
            raise RequestRefused(ErrorCode.INVALID_REQUEST, f"there is no broker {resource.name}")


def _decide(image: MetadataImage, resource: Resource, edits: Sequence[Edit], rules: OverrideRules) -> Change:
    counts = Counter(edit.name for edit in edits)
    for edit in edits:
        if counts[edit.name] > 1:
            raise RequestRefused(ErrorCode.INVALID_REQUEST, f"{edit.name} is named twice for one resource")
        if edit.value is None and edit.operation is not EditKind.DELETE:
            raise RequestRefused(ErrorCode.INVALID_REQUEST, f"{edit.name} has no value")
    former = image.overrides_of(resource)
    try:
        overrides = rules.alter(resource, former, edits)
    except ConfigError as error:
        is_invalid_request = resource.type in (ResourceType.BROKER, ResourceType.CLIENT_METRICS)
        code = ErrorCode.INVALID_REQUEST if is_invalid_request else ErrorCode.INVALID_CONFIG
        raise RequestRefused(code, str(error)) from error
    return Change(_operations(resource, former, overrides), overrides=(resource, overrides))


def _operations(
    resource: Resource, former: Mapping[str, str], overrides: Mapping[str, str]
) -> tuple[Operation, ...]:
    path = overrides_path(resource)
    if overrides == former:
        return ()
    if not overrides:
        return (Delete(path, ANY_VERSION),)
    if not former:
        return (Create(path, encode(overrides)),)
    return (Set(path, encode(overrides), ANY_VERSION),)
