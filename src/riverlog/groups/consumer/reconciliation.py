"""How a member gets from what it has to what it is meant to have, without two ever having one partition.

    has {0 1 2}, target {2 3}     1. told {2}: to give up 0 and 1. Its epoch stays.       UNREVOKED
                                  2. it says that it has {2}: to the target's epoch,
                                     with 3 if nobody has that any more, else without     STABLE, UNRELEASED
                                  3. as soon as 3 is given up, it gets that as well       STABLE

A member goes on to an epoch only when it has given up all that is not its own there. Whoever waits for the
partition is told in its own next heartbeat. So the other members work on while two exchange a partition.

Pure: from what is stored to what is to be stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import NamedTuple, TypeAlias

from riverlog.groups.assignors import Partitions
from riverlog.groups.consumer.member import NOTHING_HELD, Held, MemberState, Standing

Owned: TypeAlias = Mapping[bytes, Set[int]]
"""Topic id to partitions that a member says it works on."""


class Aim(NamedTuple):
    """What a member is to be brought to."""

    epoch: int
    target: Partitions
    topic_ids: Set[bytes]
    """What it reads now, of the topics that exist: nothing else may be its own."""
    is_free: Callable[[bytes, int], bool]
    """Whether nobody else has a partition."""


def next_standing(
    standing: Standing, aim: Aim, owned: Owned | None, *, has_resubscribed: bool
) -> Standing | None:
    """Take the next step; the same standing if there is none to take now.

    `owned` is what the member says it works on, None if it does not say. None as the answer: the member has
    to begin anew.
    """
    match standing.state:
        case MemberState.STABLE:
            if standing.epoch != aim.epoch:
                return _towards(standing, aim, owned)
            return _without_unread(standing, aim, owned) if has_resubscribed else standing
        case MemberState.UNREVOKED:
            if _still_works_on(owned, standing.revoking):
                return _without_unread(standing, aim, owned) if has_resubscribed else standing
            return _towards(standing, aim, owned)
        case MemberState.UNRELEASED:
            return _towards(standing, aim, owned)
        case _:
            if owned is None or any(owned.values()):
                return None
            return _towards(standing._replace(epoch=aim.epoch), aim, owned)


def _towards(standing: Standing, aim: Aim, owned: Owned | None) -> Standing:
    """Work out what to keep, to give up, and to get."""
    keeping: dict[bytes, Mapping[int, int]] = {}
    giving_up: dict[bytes, Mapping[int, int]] = {}
    for topic_id, epochs in standing.assigned.items():
        wanted = aim.target.get(topic_id, frozenset()) if topic_id in aim.topic_ids else frozenset()
        if epochs.keys() <= wanted:
            keeping[topic_id] = epochs
            continue
        kept = {partition: epoch for partition, epoch in epochs.items() if partition in wanted}
        if kept:
            keeping[topic_id] = kept
        giving_up[topic_id] = {
            partition: epoch for partition, epoch in epochs.items() if partition not in wanted
        }
    if giving_up and _still_works_on(owned, giving_up):
        return _in_epoch(standing, standing.epoch, MemberState.UNREVOKED, keeping, giving_up)
    waits = False
    for topic_id, partitions in aim.target.items():
        if topic_id not in aim.topic_ids:
            continue
        there = keeping.get(topic_id, {})
        if len(there) == len(partitions):
            continue
        got = {
            each: aim.epoch
            for each in sorted(partitions)
            if each not in there and aim.is_free(topic_id, each)
        }
        if got:
            keeping[topic_id] = {**there, **got}
        waits = waits or len(there) + len(got) < len(partitions)
    state = MemberState.UNRELEASED if waits else MemberState.STABLE
    return _in_epoch(standing, aim.epoch, state, keeping, NOTHING_HELD)


def _without_unread(standing: Standing, aim: Aim, owned: Owned | None) -> Standing:
    """Give up what the member does not read any more; the epoch, and with it all else, stays."""
    unread = standing.assigned.keys() - aim.topic_ids
    if not unread:
        return standing
    keeping = {topic_id: epochs for topic_id, epochs in standing.assigned.items() if topic_id not in unread}
    giving_up = dict(standing.revoking)
    for topic_id in unread:
        giving_up[topic_id] = {**giving_up.get(topic_id, {}), **standing.assigned[topic_id]}
    if _still_works_on(owned, giving_up):
        return _in_epoch(standing, standing.epoch, MemberState.UNREVOKED, keeping, giving_up)
    return _in_epoch(standing, standing.epoch, standing.state, keeping, standing.revoking)


def _still_works_on(owned: Owned | None, held: Held) -> bool:
    """Say whether a member may still work on some of these."""
    return owned is None or any(
        not partitions.isdisjoint(held.get(topic_id, ())) for topic_id, partitions in owned.items()
    )


def _in_epoch(standing: Standing, epoch: int, state: MemberState, assigned: Held, revoking: Held) -> Standing:
    return Standing(epoch, standing.epoch, state, assigned, revoking)
