"""The assignor "uniform" for members that read different topics.

1. Everybody keeps what it had and still reads.
2. What nobody has goes to the reader with least, the topics with the fewest readers for their size first:
   they leave the least choice.
3. Topic by topic, partitions move from the reader with most to the reader with least, until that makes no
   difference any more. One topic's moves may unsettle another, hence several rounds; their number is bounded,
   and the last one's outcome is good even where it is not the best.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from riverlog.groups.assignors.spec import MemberSpec, Partitions, frozen

ROUNDS_MAX = 16


def assign_unevenly(
    members: Mapping[str, MemberSpec], partition_counts: Mapping[bytes, int]
) -> dict[str, Partitions]:
    """Spread each topic's partitions over its readers, so that all members have about as many."""
    assignment = _Assignment(members, partition_counts)
    assignment.hand_out()
    for _ in range(ROUNDS_MAX):
        if not assignment.even_out():
            break
    return {member_id: frozen(topics) for member_id, topics in assignment.topics_of.items()}


class _Assignment:
    """Who has what while it is worked out."""

    def __init__(self, members: Mapping[str, MemberSpec], partition_counts: Mapping[bytes, int]) -> None:
        self._places = {member_id: place for place, member_id in enumerate(members)}
        self._readers: dict[bytes, list[str]] = {}
        for member_id, spec in members.items():
            for topic_id in spec.topics:
                self._readers.setdefault(topic_id, []).append(member_id)
        self._free = {
            topic_id: dict.fromkeys(range(partition_counts[topic_id])) for topic_id in self._readers
        }
        self.topics_of: dict[str, dict[bytes, list[int]]] = {}
        self._counts: dict[str, int] = {}
        for member_id, spec in members.items():
            mine = self.topics_of[member_id] = {}
            for topic_id, partitions in spec.assigned.items():
                if topic_id in spec.topics:
                    free = self._free[topic_id]
                    mine[topic_id] = [each for each in sorted(partitions) if each in free]
                    for each in mine[topic_id]:
                        del free[each]
            self._counts[member_id] = sum(map(len, mine.values()))
        self._order = sorted(
            self._readers,
            key=lambda topic_id: (-partition_counts[topic_id] / len(self._readers[topic_id]), topic_id),
        )

    def hand_out(self) -> None:
        """Give away what nobody has."""
        for topic_id in self._order:
            if self._free[topic_id]:
                readers = self._least_first(self._readers[topic_id])
                for partition in self._free[topic_id]:
                    _, _, member_id = readers[0]
                    self._give(topic_id, partition, member_id)
                    heapq.heapreplace(readers, self._entry(member_id))

    def even_out(self) -> bool:
        """Move partitions from those with most to those with least; False if there was nothing to move."""
        moves = sum(self._even_out_topic(topic_id) for topic_id in self._order)
        return moves > 0

    def _even_out_topic(self, topic_id: bytes) -> int:
        readers = self._readers[topic_id]
        if len(readers) < 2:
            return 0
        counts = self._counts
        least = self._least_first(readers)
        most = [
            (-counts[member_id], self._places[member_id], member_id)
            for member_id in readers
            if self.topics_of[member_id].get(topic_id)
        ]
        heapq.heapify(most)
        moves = 0
        while most:
            _, _, giver = most[0]
            _, _, taker = least[0]
            if counts[giver] - counts[taker] < 2:
                break
            self._counts[giver] -= 1
            self._give(topic_id, self.topics_of[giver][topic_id].pop(), taker)
            moves += 1
            heapq.heapreplace(least, self._entry(taker))
            if self.topics_of[giver][topic_id]:
                heapq.heapreplace(most, (-counts[giver], self._places[giver], giver))
            else:
                heapq.heappop(most)
        return moves

    def _least_first(self, member_ids: list[str]) -> list[tuple[int, int, str]]:
        entries = [self._entry(member_id) for member_id in member_ids]
        heapq.heapify(entries)
        return entries

    def _entry(self, member_id: str) -> tuple[int, int, str]:
        return self._counts[member_id], self._places[member_id], member_id

    def _give(self, topic_id: bytes, partition: int, member_id: str) -> None:
        self.topics_of[member_id].setdefault(topic_id, []).append(partition)
        self._counts[member_id] += 1
