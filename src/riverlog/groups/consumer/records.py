"""The records about groups whose assignment the broker decides, in Kafka's own format.

kind  key                 what the value says
  3   group               the group's epoch, and a digest of the topics that it reads
  4   group               its topics' partitions; Kafka up to 4.0 wrote it, now it is only removed
  5   group, member       what a member told of itself
  6   group               the epoch, and when, of the assignment that is aimed at
  7   group, member       what a member is meant to have in that epoch
  8   group, member       what a member has, and in which epoch it is
 16   group, expression   which topics a regular expression matched
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from riverlog.errors import RemoteProtocolError
from riverlog.groups.assignors import Partitions
from riverlog.groups.consumer.member import ClassicSide, Held, MemberState, Standing, Subscription
from riverlog.groups.member import Client
from riverlog.protocol import codec, messages

_SHORT = struct.Struct(">h")
VERSION = 0
"""The one version that each of these records has."""
_VERSION_PREFIX = _SHORT.pack(VERSION)


class Epoch(NamedTuple):
    """A group's epoch: rises with each change of its members and of what they read."""

    epoch: int
    topics_digest: int


class TargetEpoch(NamedTuple):
    """The epoch that the targets of a group belong to, and when they were worked out."""

    epoch: int
    decided_ms: int


class Matches(NamedTuple):
    """The topics that a regular expression matched, and when."""

    topics: frozenset[str]
    version: int
    matched_ms: int


class GroupEpoch(NamedTuple):
    """A group's epoch; without a value the group is gone."""

    group_id: str
    value: Epoch | None


class GroupTopics(NamedTuple):
    """What Kafka up to 4.0 kept about a group's topics; there, or not."""

    group_id: str
    value: Any | None


class GroupMember(NamedTuple):
    """A member; without a value it is gone."""

    group_id: str
    member_id: str
    value: Subscription | None


class GroupTargetEpoch(NamedTuple):
    """To which epoch a group's targets belong."""

    group_id: str
    value: TargetEpoch | None


class MemberTarget(NamedTuple):
    """What a member is meant to have."""

    group_id: str
    member_id: str
    value: Partitions | None


class MemberStanding(NamedTuple):
    """What a member has."""

    group_id: str
    member_id: str
    value: Standing | None


class GroupPattern(NamedTuple):
    """What one of a group's regular expressions matched."""

    group_id: str
    pattern: str
    value: Matches | None


ConsumerRecord: TypeAlias = (
    GroupEpoch | GroupTopics | GroupMember | GroupTargetEpoch | MemberTarget | MemberStanding | GroupPattern
)


class _Form(NamedTuple):
    """How one kind of record is written."""

    kind: int
    record: type[Any]
    message: str
    """The common part of the names of its key and its value."""
    subject: tuple[str, ...]
    """The fields of its key, in the order in which the record has them."""
    to_message: Callable[[Any], Any]
    from_message: Callable[[Any], Any]


def encode(record: ConsumerRecord) -> tuple[bytes, bytes | None]:
    """Give a record's key and value."""
    form = _FORMS_BY_TYPE[type(record)]
    key_type = getattr(messages, f"{form.message}Key")
    about = key_type(**dict(zip(form.subject, record, strict=False)))
    key = _SHORT.pack(form.kind) + codec.encode(about, VERSION)
    if record.value is None:
        return key, None
    return key, _VERSION_PREFIX + codec.encode(form.to_message(record.value), VERSION)


def decode(kind: int, key: bytes, value: bytes | None) -> ConsumerRecord | None:
    """Read a record of one of these kinds; None for any other kind."""
    form = _FORMS_BY_KIND.get(kind)
    if form is None:
        return None
    about = codec.decode(f"{form.message}Key", VERSION, key, _SHORT.size)
    subject = (getattr(about, name) for name in form.subject)
    if value is None:
        return form.record(*subject, None)  # type: ignore[no-any-return]  # the form says which it is
    if not value.startswith(_VERSION_PREFIX):
        raise RemoteProtocolError(
            f"only version {VERSION} of a record of kind {kind} is known: {value[:2]!r}"
        )
    read = codec.decode(f"{form.message}Value", VERSION, value, _SHORT.size)
    return form.record(*subject, form.from_message(read))  # type: ignore[no-any-return]  # as above


# Members


def _member_message(value: Subscription) -> messages.ConsumerGroupMemberMetadataValue:
    classic = None
    if value.classic is not None:
        classic = messages.ClassicMemberMetadata(
            session_timeout_ms=value.classic.session_timeout_ms,
            supported_protocols=[
                messages.ClassicProtocol(name=name, metadata=metadata)
                for name, metadata in value.classic.protocols
            ],
        )
    return messages.ConsumerGroupMemberMetadataValue(
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client.client_id,
        client_host=value.client.host,
        subscribed_topic_names=sorted(value.topics),
        subscribed_topic_regex=value.pattern,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        server_assignor=value.assignor,
        classic_member_metadata=classic,
    )


def _subscription(read: messages.ConsumerGroupMemberMetadataValue) -> Subscription:
    classic = read.classic_member_metadata
    return Subscription(
        instance_id=read.instance_id,
        rack_id=read.rack_id,
        client=Client(read.client_id, read.client_host),
        topics=frozenset(read.subscribed_topic_names),
        pattern=read.subscribed_topic_regex or "",
        rebalance_timeout_ms=read.rebalance_timeout_ms,
        assignor=read.server_assignor,
        classic=None
        if classic is None
        else ClassicSide(
            classic.session_timeout_ms,
            tuple((protocol.name, protocol.metadata) for protocol in classic.supported_protocols),
        ),
    )


# Targets


def _target_message(value: Partitions) -> messages.ConsumerGroupTargetAssignmentMemberValue:
    return messages.ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[
            messages.ConsumerGroupTargetAssignmentMemberValueTopicPartition(
                topic_id=topic_id, partitions=sorted(partitions)
            )
            for topic_id, partitions in value.items()
        ]
    )


def _target(read: messages.ConsumerGroupTargetAssignmentMemberValue) -> Partitions:
    return {each.topic_id: frozenset(each.partitions) for each in read.topic_partitions}


# Standings


def _standing_message(value: Standing) -> messages.ConsumerGroupCurrentMemberAssignmentValue:
    return messages.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=value.epoch,
        previous_member_epoch=value.previous_epoch,
        state=value.state,
        assigned_partitions=_held_message(value.assigned),
        partitions_pending_revocation=_held_message(value.revoking),
    )


def _held_message(held: Held) -> list[messages.ConsumerGroupCurrentMemberAssignmentValueTopicPartitions]:
    return [
        messages.ConsumerGroupCurrentMemberAssignmentValueTopicPartitions(
            topic_id=topic_id, partitions=list(epochs), assignment_epochs=list(epochs.values())
        )
        for topic_id, epochs in held.items()
    ]


def _standing(read: messages.ConsumerGroupCurrentMemberAssignmentValue) -> Standing:
    try:
        state = MemberState(read.state)
    except ValueError:
        state = MemberState.UNKNOWN
    return Standing(
        read.member_epoch,
        read.previous_member_epoch,
        state,
        _held(read.assigned_partitions, read.member_epoch),
        _held(read.partitions_pending_revocation, read.member_epoch),
    )


def _held(
    read: list[messages.ConsumerGroupCurrentMemberAssignmentValueTopicPartitions], member_epoch: int
) -> Held:
    """Read partitions with their epochs. Records from before 4.3 have none: then it is the member's."""
    held: dict[bytes, Mapping[int, int]] = {}
    for topic in read:
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):
            epochs = [member_epoch] * len(topic.partitions)
        held[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
    return held


_GROUP = ("group_id",)
_MEMBER = ("group_id", "member_id")

_FORMS: Final = (
    _Form(
        3,
        GroupEpoch,
        "ConsumerGroupMetadata",
        _GROUP,
        lambda value: messages.ConsumerGroupMetadataValue(
            epoch=value.epoch, metadata_hash=value.topics_digest
        ),
        lambda read: Epoch(read.epoch, read.metadata_hash),
    ),
    _Form(4, GroupTopics, "ConsumerGroupPartitionMetadata", _GROUP, lambda value: value, lambda read: read),
    _Form(5, GroupMember, "ConsumerGroupMemberMetadata", _MEMBER, _member_message, _subscription),
    _Form(
        6,
        GroupTargetEpoch,
        "ConsumerGroupTargetAssignmentMetadata",
        _GROUP,
        lambda value: messages.ConsumerGroupTargetAssignmentMetadataValue(
            assignment_epoch=value.epoch, assignment_timestamp=value.decided_ms
        ),
        lambda read: TargetEpoch(read.assignment_epoch, read.assignment_timestamp),
    ),
    _Form(7, MemberTarget, "ConsumerGroupTargetAssignmentMember", _MEMBER, _target_message, _target),
    _Form(8, MemberStanding, "ConsumerGroupCurrentMemberAssignment", _MEMBER, _standing_message, _standing),
    _Form(
        16,
        GroupPattern,
        "ConsumerGroupRegularExpression",
        ("group_id", "regular_expression"),
        lambda value: messages.ConsumerGroupRegularExpressionValue(
            topics=sorted(value.topics), version=value.version, timestamp=value.matched_ms
        ),
        lambda read: Matches(frozenset(read.topics), read.version, read.timestamp),
    ),
)
_FORMS_BY_KIND: Final = {form.kind: form for form in _FORMS}
_FORMS_BY_TYPE: Final = {form.record: form for form in _FORMS}
