"""Who may commit for a group whose assignment the broker decides, and who may ask.

A member commits in its epoch. One that was told of a new epoch a moment ago may still commit in an older
one, for partitions that it has had since then: nobody else can have committed for them. With anything else
it is told that its epoch is out of date, 113, or in the classic protocol's terms, 22.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.groups.commits import Commit
    from riverlog.groups.consumer.group import ConsumerGroup

FIRST_COMMIT_VERSION_WITH_EPOCHS = 9


def objection_to_commit(group: ConsumerGroup, commit: Commit) -> ErrorCode:
    """Say why this committer may not commit now."""
    epoch = commit.generation
    if epoch < 0 and not group.members:
        return ErrorCode.NONE
    if commit.producer is not None and commit.names_nobody:
        return ErrorCode.NONE
    member = group.members.get(commit.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    is_classic = member.classic is not None
    if commit.producer is None and not is_classic and commit.version < FIRST_COMMIT_VERSION_WITH_EPOCHS:
        return ErrorCode.UNSUPPORTED_VERSION
    standing = group.standing(commit.member_id)
    if epoch == standing.epoch:
        return ErrorCode.NONE
    if epoch < standing.epoch:
        since = (standing.epoch_of(each.topic_id, each.partition) for each in commit.offsets)
        if all(each is not None and each <= epoch for each in since):
            return ErrorCode.NONE
    if is_classic or commit.producer is not None:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.STALE_MEMBER_EPOCH


def objection_to_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> ErrorCode:
    """Say why whoever asks for offsets is not told them. Who names neither member nor epoch is."""
    if member_id is None and epoch < 0:
        return ErrorCode.NONE
    member = group.members.get(member_id or "")
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if epoch == group.standing(member_id or "").epoch:
        return ErrorCode.NONE
    return ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION
