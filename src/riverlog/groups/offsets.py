"""What groups have committed, and what open transactions are about to commit for them.

    committed   group -> topic -> partition -> (place in the log, offset)
    undecided   producer -> (group, topic, partition) -> (place in the log, offset)

A transaction's commits wait here until its marker comes. If plain commits for the same partition were
made meanwhile, what stands later in the log wins; hence the places. The answer is then the same after
any replay, also of a compacted log (redpanda#31483).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from riverlog.groups.records import CommittedOffset, OffsetCommit
from riverlog.shards import NO_PRODUCER

_Place: TypeAlias = tuple[int, CommittedOffset]
_Key: TypeAlias = tuple[str, str, int]


class OffsetStore:
    """The committed offsets of all groups of one partition of the offsets topic. Changed by replay alone."""

    __slots__ = ("_committed", "_undecided", "_undecided_keys")

    def __init__(self) -> None:
        self._committed: dict[str, dict[str, dict[int, _Place]]] = {}
        self._undecided: dict[int, dict[_Key, _Place]] = {}
        # The same the other way round: which producers have something undecided, by group and partition.
        self._undecided_keys: dict[str, dict[tuple[str, int], set[int]]] = {}

    # Replay

    def replay(self, commit: OffsetCommit, place: int, producer_id: int = NO_PRODUCER) -> None:
        """Take in a record that lies at `place` in the log; with a producer id, as part of a transaction."""
        group_id, topic, partition, value = commit
        if value is None:
            self._remove(group_id, topic, partition)
            for waiting_id in list(self._undecided_keys.get(group_id, {}).get((topic, partition), ())):
                self._forget_undecided(waiting_id, (group_id, topic, partition))
        elif producer_id == NO_PRODUCER:
            self._put(group_id, topic, partition, (place, value))
        else:
            key = (group_id, topic, partition)
            self._undecided.setdefault(producer_id, {})[key] = (place, value)
            by_partition = self._undecided_keys.setdefault(group_id, {})
            by_partition.setdefault((topic, partition), set()).add(producer_id)

    def replay_marker(self, producer_id: int, *, is_commit: bool) -> None:
        """Take in the end of a producer's transaction."""
        for key, (place, value) in list(self._undecided.get(producer_id, {}).items()):
            self._forget_undecided(producer_id, key)
            group_id, topic, partition = key
            if is_commit:
                there = self._committed.get(group_id, {}).get(topic, {}).get(partition)
                if there is None or there[0] < place:
                    self._put(group_id, topic, partition, (place, value))

    # Questions

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        """Give what is committed for one partition."""
        place = self._committed.get(group_id, {}).get(topic, {}).get(partition)
        return None if place is None else place[1]

    def group_ids(self) -> list[str]:
        """List the groups that have committed anything."""
        return list(self._committed)

    def of_group(self, group_id: str) -> Iterator[tuple[str, int, CommittedOffset]]:
        """Go through what a group has committed, topic by topic."""
        for topic, partitions in self._committed.get(group_id, {}).items():
            for partition, (_, value) in partitions.items():
                yield topic, partition, value

    def is_undecided(self, group_id: str, topic: str, partition: int) -> bool:
        """Say whether an open transaction commits for this partition."""
        return (topic, partition) in self._undecided_keys.get(group_id, ())

    def has_undecided(self, group_id: str) -> bool:
        """Say whether an open transaction commits for this group."""
        return group_id in self._undecided_keys

    def has_any(self, group_id: str) -> bool:
        """Say whether anything is committed for this group, or about to be."""
        return group_id in self._committed or group_id in self._undecided_keys

    def known_partitions(self, group_id: str) -> list[tuple[str, int]]:
        """List the partitions for which a group has committed, or is about to."""
        known = dict.fromkeys((topic, partition) for topic, partition, _ in self.of_group(group_id))
        known.update(dict.fromkeys(self._undecided_keys.get(group_id, ())))
        return list(known)

    def of_topics(self, topics: Iterable[str]) -> Iterator[tuple[str, str, int]]:
        """Go through the groups and partitions of some topics for which there are commits."""
        wanted = frozenset(topics)
        for group_id in {**self._committed, **self._undecided_keys}:
            for topic, partition in self.known_partitions(group_id):
                if topic in wanted:
                    yield group_id, topic, partition

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OffsetStore):
            return NotImplemented
        return self._committed == other._committed and self._undecided == other._undecided

    __hash__ = None  # type: ignore[assignment]  # it changes

    # Changes

    def _put(self, group_id: str, topic: str, partition: int, place: _Place) -> None:
        topics = self._committed.get(group_id)
        if topics is None:
            topics = self._committed[group_id] = {}
        partitions = topics.get(topic)
        if partitions is None:
            topics[topic] = {partition: place}
        else:
            partitions[partition] = place

    def _remove(self, group_id: str, topic: str, partition: int) -> None:
        """Remove a commit, and what has become empty by that."""
        topics = self._committed.get(group_id, {})
        partitions = topics.get(topic, {})
        if partitions.pop(partition, None) is None or partitions:
            return
        del topics[topic]
        if not topics:
            del self._committed[group_id]

    def _forget_undecided(self, producer_id: int, key: _Key) -> None:
        group_id, topic, partition = key
        keys = self._undecided[producer_id]
        del keys[key]
        if not keys:
            del self._undecided[producer_id]
        by_partition = self._undecided_keys[group_id]
        producers = by_partition[topic, partition]
        producers.discard(producer_id)
        if not producers:
            del by_partition[topic, partition]
            if not by_partition:
                del self._undecided_keys[group_id]
