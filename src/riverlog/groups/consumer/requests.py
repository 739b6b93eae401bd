"""Reading heartbeats, and writing their answers: what needs no look at the group."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

from riverlog.errors import RequestRefused
from riverlog.groups.consumer.member import (
    AWAY_EPOCH,
    JOINING_EPOCH,
    LEAVING_EPOCH,
    NO_TIMEOUT,
    Held,
    Subscription,
)
from riverlog.groups.consumer.patterns import compile_pattern
from riverlog.groups.consumer.reconciliation import Owned
from riverlog.groups.member import Client
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

FIRST_VERSION_WITH_OWN_IDS = 1
"""From it on members name themselves; before, the broker did (KIP-1082)."""

Request: TypeAlias = "messages.ConsumerGroupHeartbeatRequest"


def check(request: Request, version: int, assignors: Collection[str]) -> None:
    """Refuse what cannot be, whatever the group is. Raises RequestRefused."""
    _check_names(request, version)
    epoch = request.member_epoch
    if epoch == JOINING_EPOCH:
        _check_join(request)
    elif epoch == AWAY_EPOCH and request.instance_id is None:
        raise _invalid("only static members, which have an instance id, leave for a while")
    elif epoch < AWAY_EPOCH:
        raise _invalid(f"{epoch} is no epoch of a member")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise RequestRefused(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"there is no assignor {request.server_assignor[:100]!r}, only {', '.join(assignors)}",
        )
    if request.subscribed_topic_regex:
        compile_pattern(request.subscribed_topic_regex)


def _check_names(request: Request, version: int) -> None:
    epoch = request.member_epoch
    names_itself = version >= FIRST_VERSION_WITH_OWN_IDS or epoch > 0 or epoch == LEAVING_EPOCH
    if names_itself and not request.member_id.strip():
        raise _invalid("the member has no id")
    if not request.group_id.strip():
        raise _invalid("the group has no id")
    if request.instance_id is not None and not request.instance_id.strip():
        raise _invalid("an instance id may be absent, not empty")
    if request.rack_id is not None and not request.rack_id.strip():
        raise _invalid("a rack may be absent, not empty")


def _check_join(request: Request) -> None:
    if request.rebalance_timeout_ms == NO_TIMEOUT:
        raise _invalid("whoever joins says how long it may take to give up partitions")
    if request.topic_partitions is None or request.topic_partitions:
        raise _invalid("whoever joins has given up all partitions, and says so")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise _invalid("whoever joins says what it reads, by name or by regular expression")


def owned(request: Request) -> Owned | None:
    """Read what a member says it works on; None if it says nothing of that."""
    if request.topic_partitions is None:
        return None
    works_on: dict[bytes, set[int]] = {}
    for each in request.topic_partitions:
        works_on.setdefault(each.topic_id, set()).update(each.partitions)
    return works_on


def has_only(request: Request, assigned: Held) -> bool:
    """Say whether a member says what it works on, and that all of it is its own."""
    works_on = owned(request)
    return works_on is not None and all(
        partitions <= assigned.get(topic_id, {}).keys() for topic_id, partitions in works_on.items()
    )


def updated(former: Subscription, request: Request, client: Client) -> Subscription:
    """Take over what a heartbeat says; what it leaves out is as before."""
    topics, pattern = former.topics, former.pattern
    if request.subscribed_topic_names is not None:
        topics = frozenset(request.subscribed_topic_names)
    if request.subscribed_topic_regex is not None:
        pattern = request.subscribed_topic_regex
    rebalance_timeout_ms = request.rebalance_timeout_ms
    if rebalance_timeout_ms == NO_TIMEOUT:
        rebalance_timeout_ms = former.rebalance_timeout_ms
    return Subscription(
        former.instance_id if request.instance_id is None else request.instance_id,
        former.rack_id if request.rack_id is None else request.rack_id,
        client,
        topics,
        pattern,
        rebalance_timeout_ms,
        former.assignor if request.server_assignor is None else request.server_assignor,
    )


def is_full(request: Request) -> bool:
    """Say whether a member tells all of itself, as after an error: then it may have missed its partitions."""
    return (
        request.rebalance_timeout_ms != NO_TIMEOUT
        and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
        and request.topic_partitions is not None
    )


def told(assigned: Held) -> messages.ConsumerGroupHeartbeatResponseAssignment:
    """Tell a member its partitions."""
    return messages.ConsumerGroupHeartbeatResponseAssignment(
        topic_partitions=[
            messages.ConsumerGroupHeartbeatResponseTopicPartitions(topic_id=topic_id, partitions=list(epochs))
            for topic_id, epochs in assigned.items()
        ]
    )


def _invalid(message: str) -> RequestRefused:
    return RequestRefused(ErrorCode.INVALID_REQUEST, message)
