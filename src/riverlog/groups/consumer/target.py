"""What the members of a group are meant to have: asked of an assignor, turned into records.

Only what differs from before is recorded. Everything is told of topics by id; a topic that does not exist is
left out, and comes in when it is created.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from riverlog.groups.assignors import ASSIGNORS, NOTHING, MemberSpec
from riverlog.groups.consumer.records import ConsumerRecord, GroupTargetEpoch, MemberTarget, TargetEpoch

if TYPE_CHECKING:
    from riverlog.groups.consumer.group import ConsumerGroup
    from riverlog.groups.surroundings import Topics

NO_TOPICS_DIGEST = 0


def new_targets(
    group: ConsumerGroup, topics: Topics, assignor: str, decided_ms: int
) -> Iterator[ConsumerRecord]:
    """Work out the targets of the group's present epoch."""
    known = topics.topics
    ids_by_subscription: dict[object, frozenset[bytes]] = {}
    specs: dict[str, MemberSpec] = {}
    for member_id, member in group.members.items():
        subscription = (member.topics, member.pattern)
        topic_ids = ids_by_subscription.get(subscription)
        if topic_ids is None:
            topic_ids = topic_ids_of(group.topics_of(member), topics)
            ids_by_subscription[subscription] = topic_ids
        specs[member_id] = MemberSpec(topic_ids, group.target(member_id), member.instance_id)
    counts = {
        known[name].topic_id: len(known[name].partitions) for name in group.all_topics() if name in known
    }
    assignment = ASSIGNORS[assignor](specs, counts)
    for member_id in specs:
        target = assignment.get(member_id, NOTHING)
        if target != group.targets.get(member_id):
            yield MemberTarget(group.group_id, member_id, target)
    yield GroupTargetEpoch(group.group_id, TargetEpoch(group.epoch, decided_ms))


def topic_ids_of(names: Iterable[str], topics: Topics) -> frozenset[bytes]:
    """Give the ids of those topics that exist."""
    known = topics.topics
    return frozenset(known[name].topic_id for name in names if name in known)


def digest(names: Iterable[str], topics: Topics) -> int:
    """Fold what a group's topics look like into one number, to see whether they have changed.

    It is compared with itself alone. Apache Kafka folds them otherwise: when it takes over a log from us, or
    we from it, a group's epoch rises by one, and its members keep what they have.
    """
    known = topics.topics
    present = sorted(name for name in names if name in known)
    if not present:
        return NO_TOPICS_DIGEST
    fold = hashlib.blake2b(digest_size=8)
    for name in present:
        topic = known[name]
        fold.update(topic.topic_id + len(topic.partitions).to_bytes(4))
    return int.from_bytes(fold.digest(), signed=True)
