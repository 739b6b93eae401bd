"""Groups of a running cluster: who reads, how far each group has come, and how to move or delete one.

    with GroupAdmin("127.0.0.1:9092") as admin:
        admin.group("billing").state                # "Stable"
        admin.committed("billing")                  # {("orders", 0): 1234, ...}

Rules: as those of `Admin`. Offsets are moved for a group without members alone: members go by what they
have read, and would commit over whatever is written here. All kinds of groups that commit offsets are told
of alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeAlias

from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)

from riverlog.client.admin import Admin
from riverlog.client.refusals import refusal, refusal_of
from riverlog.errors import RequestRefused

Place: TypeAlias = tuple[str, int]
"""Topic and partition."""

_STATES = {
    ConsumerGroupState.UNKNOWN: "Unknown",
    ConsumerGroupState.PREPARING_REBALANCING: "PreparingRebalance",
    ConsumerGroupState.COMPLETING_REBALANCING: "CompletingRebalance",
    ConsumerGroupState.STABLE: "Stable",
    ConsumerGroupState.DEAD: "Dead",
    ConsumerGroupState.EMPTY: "Empty",
}
"""As brokers and Kafka's own tools write them."""


class UnknownGroup(RequestRefused):
    """There is no such group."""


class GroupHasMembers(RequestRefused):
    """The group is in use: what was asked is for groups without members."""


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """A group's name, kind (classic, consumer, share ...) and state."""

    name: str
    kind: str
    state: str


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody in a group, and what was assigned to it."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """A group and its members."""

    name: str
    kind: str
    state: str
    members: tuple[Member, ...]


class GroupAdmin(Admin):
    """An `Admin` that knows of groups too."""

    def groups(self) -> list[ListedGroup]:
        """List the groups of all brokers, sorted by name."""
        doing = "listing groups"
        answer = self._result(self._client().list_consumer_groups(request_timeout=self._patience), doing)
        for error in answer.errors:
            # One broker's groups are missing: half a list would pass for a whole one.
            raise (
                refusal_of(error, doing, last_trouble=self._last_trouble.text)
                if isinstance(error, KafkaException)
                else refusal(error, doing)
            )
        listed = [
            ListedGroup(each.group_id, each.type.name.lower(), _state_name(each.state))
            for each in answer.valid
        ]
        return sorted(listed, key=lambda group: group.name)

    def group(self, name: str) -> Group:
        """Describe one group; raise `UnknownGroup` where it is not there."""
        futures = self._client().describe_consumer_groups([name], request_timeout=self._patience)
        try:
            found = self._result(futures[name], f"describing group {name!r}")
        except RequestRefused as error:
            raise self._refused(error, name) from None
        if found.state is ConsumerGroupState.DEAD:
            raise self._unknown(name)
        members = (_member(each) for each in found.members)
        return Group(
            name,
            found.type.name.lower(),
            _state_name(found.state),
            tuple(sorted(members, key=lambda member: (member.client_id, member.member_id))),
        )

    def committed(self, name: str) -> dict[Place, int]:
        """The offsets that a group has committed, by topic and partition; empty for a group without any."""
        asked = [ConsumerGroupTopicPartitions(name)]
        futures = self._client().list_consumer_group_offsets(asked, request_timeout=self._patience)
        answer = self._result(futures[name], f"asking for the offsets of group {name!r}")
        for place in answer.topic_partitions:
            if place.error is not None:
                raise refusal(place.error, f"asking for the offset of group {name!r}")
        found = {(place.topic, place.partition): place.offset for place in answer.topic_partitions}
        return {place: offset for place, offset in sorted(found.items()) if offset >= 0}

    def commit(self, name: str, offsets: Mapping[Place, int]) -> None:
        """Let a group without members go on at these offsets, creating it if need be.

        Raises `GroupHasMembers` while it has members.
        """
        doing = f"moving group {name!r}"
        places = [TopicPartition(topic, index, offset) for (topic, index), offset in offsets.items()]
        asked = [ConsumerGroupTopicPartitions(name, places)]
        futures = self._client().alter_consumer_group_offsets(asked, request_timeout=self._patience)
        try:
            answer = self._result(futures[name], doing)
            for place in answer.topic_partitions:
                if place.error is not None:
                    raise refusal(place.error, f"{doing} at {place.topic}-{place.partition}")
        except RequestRefused as error:
            raise self._refused(error, name) from None

    def delete_group(self, name: str) -> None:
        """Delete a group without members, with all it has committed.

        Raises `UnknownGroup`, or `GroupHasMembers` while it has members.
        """
        futures = self._client().delete_consumer_groups([name], request_timeout=self._patience)
        try:
            self._result(futures[name], f"deleting group {name!r}")
        except RequestRefused as error:
            raise self._refused(error, name) from None

    # Details

    def _refused(self, error: RequestRefused, name: str) -> RequestRefused:
        """Say what a refusal means for whoever looks after the group."""
        if error.error_code == KafkaError.GROUP_ID_NOT_FOUND:
            return self._unknown(name)
        if error.error_code in _HAS_MEMBERS:
            return GroupHasMembers(
                error.error_code,
                f"group {name!r} has members: stop its consumers first "
                f"(`riverlog groups describe {name}` names them)",
            )
        return error

    def _unknown(self, name: str) -> UnknownGroup:
        alike = get_close_matches(name, [group.name for group in self.groups()])
        hint = (
            f"did you mean {' or '.join(alike)}?" if alike else "`riverlog groups list` shows those that do"
        )
        return UnknownGroup(KafkaError.GROUP_ID_NOT_FOUND, f"group {name!r} does not exist: {hint}")


_HAS_MEMBERS = frozenset(
    {
        KafkaError.NON_EMPTY_GROUP,
        # What a commit by somebody who is no member is answered with.
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.REBALANCE_IN_PROGRESS,
    }
)


def _state_name(state: ConsumerGroupState) -> str:
    return _STATES.get(state, state.name.capitalize())


def _member(described: Any) -> Member:
    places = sorted((place.topic, place.partition) for place in described.assignment.topic_partitions)
    return Member(
        described.member_id,
        described.group_instance_id,
        described.client_id,
        described.host.removeprefix("/"),
        tuple(places),
    )
