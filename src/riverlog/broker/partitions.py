"""The partitions this broker holds, found by topic name or topic id: the hot path's only look-up.

A partition that belongs here but whose directory could not be opened has its place and no log: it answers
KAFKA_STORAGE_ERROR, while the rest of its topic is served.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from riverlog.log import PartitionLog


class Partitions:
    """Topic (name, or 16-byte id) and index to the open log."""

    __slots__ = ("_by_topic",)

    def __init__(self) -> None:
        self._by_topic: dict[str | bytes, list[PartitionLog | None]] = {}

    def add(self, topic: str, topic_id: bytes, index: int, log: PartitionLog | None) -> None:
        """Make a partition findable by the topic's name and by its id; without a log it is out of order."""
        logs = self._by_topic.setdefault(topic_id, [])
        self._by_topic[topic] = logs
        while len(logs) <= index:
            logs.append(None)
        logs[index] = log

    def remove_topic(self, topic: str, topic_id: bytes) -> None:
        """Forget a topic; its id is never found again, also when the name comes back."""
        self._by_topic.pop(topic, None)
        self._by_topic.pop(topic_id, None)

    def find(self, topic: str | bytes, index: int) -> PartitionLog | None:
        """Give the log of one partition, or None if it is not here."""
        logs = self._by_topic.get(topic)
        if logs is None or not 0 <= index < len(logs):
            return None
        return logs[index]

    def why_absent(self, topic: str | bytes, index: int) -> ErrorCode:
        """Say what to answer where `find` gave nothing."""
        logs = self._by_topic.get(topic)
        if logs is not None and 0 <= index < len(logs):
            return ErrorCode.KAFKA_STORAGE_ERROR
        if logs is None and isinstance(topic, bytes):
            return ErrorCode.UNKNOWN_TOPIC_ID
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def of(self, topic: str | bytes) -> list[PartitionLog | None]:
        """Give all partitions of a topic, by index; empty for an unknown topic."""
        return self._by_topic.get(topic, [])

    def knows(self, topic: str | bytes) -> bool:
        """Say whether the topic (by name or id) is here at all."""
        return topic in self._by_topic

    def __iter__(self) -> Iterator[PartitionLog]:
        """Go through every log once."""
        for topic, logs in self._by_topic.items():
            if isinstance(topic, str):
                for log in logs:
                    if log is not None:
                        yield log
