"""Incremental fetch sessions (KIP-227): the broker remembers what a consumer fetches.

A session lets a client name only the partitions whose position changed, and lets the broker answer
only for those that have something to say. Pure: time arrives as an argument, and reading a partition
any number of times changes nothing here; only `record_reply` does, when the reply is final.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.fetch import FetchedPartition, FetchPartition, FetchRequest

SESSIONLESS_ID = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
_EPOCH_MAX = 2**31 - 1

TopicKey: TypeAlias = str | bytes
"""A topic as the request names it: by name up to Fetch 12, by id from 13 on."""


class WantedPartition:
    """One partition of a fetch: what is asked, and (in a session) what was last told."""

    __slots__ = ("asked", "index", "told_high_watermark", "told_log_start", "topic")

    def __init__(self, topic: TopicKey, asked: FetchPartition) -> None:
        self.topic = topic
        self.index = asked.index
        self.asked = asked
        self.told_high_watermark = -1
        self.told_log_start = -1

    def has_news(self, fetched: FetchedPartition) -> bool:
        """Say whether the reply must carry this partition (row 34)."""
        return (
            bool(fetched.records is not None and fetched.records.length)
            or fetched.error_code != ErrorCode.NONE
            or fetched.high_watermark != self.told_high_watermark
            or fetched.log_start_offset != self.told_log_start
            or fetched.preferred_read_replica >= 0
            or fetched.diverging_epoch is not None
        )

    def remember(self, fetched: FetchedPartition) -> None:
        """Note what the client now knows. After an error it knows nothing, so the next answer is news."""
        if fetched.error_code == ErrorCode.NONE:
            self.told_high_watermark = fetched.high_watermark
            self.told_log_start = fetched.log_start_offset
        else:
            self.told_high_watermark = self.told_log_start = -1


class FetchSession:
    """The partitions of one client, in the order in which they are read."""

    __slots__ = ("by_topic_id", "created_ms", "epoch", "id", "last_used_ms", "partitions")

    def __init__(self, session_id: int, *, by_topic_id: bool, now_ms: int) -> None:
        self.id = session_id
        self.epoch = 1
        """The epoch that the next request must carry."""
        self.by_topic_id = by_topic_id
        self.created_ms = self.last_used_ms = now_ms
        self.partitions: dict[tuple[TopicKey, int], WantedPartition] = {}

    def update(self, request: FetchRequest) -> None:
        """Apply one request's additions, changes and removals."""
        partitions = self.partitions
        for topic, asked_partitions in request.topics:
            for asked in asked_partitions:
                known = partitions.get((topic, asked.index))
                if known is None:
                    partitions[topic, asked.index] = WantedPartition(topic, asked)
                else:
                    known.asked = asked
        for topic, indexes in request.forgotten:
            for index in indexes:
                partitions.pop((topic, index), None)


class FetchPlan:
    """What one request reads, and how its reply is put together."""

    __slots__ = ("error_code", "is_incremental", "session", "wanted")

    def __init__(
        self,
        wanted: Iterable[WantedPartition] = (),
        *,
        session: FetchSession | None = None,
        is_incremental: bool = False,
        error_code: int = ErrorCode.NONE,
    ) -> None:
        self.wanted = list(wanted)
        self.session = session
        self.is_incremental = is_incremental
        self.error_code = error_code

    @property
    def session_id(self) -> int:
        """The id that the reply carries."""
        return self.session.id if self.session is not None else SESSIONLESS_ID

    def record_reply(self, fetched: list[FetchedPartition]) -> list[tuple[TopicKey, list[FetchedPartition]]]:
        """Choose what the final reply carries, grouped by topic, and remember that it was told.

        `fetched` answers `wanted`, one for one. In a session, partitions that gave data move to the
        end of the order, so that under a byte limit each gets its turn.
        """
        chosen: dict[TopicKey, list[FetchedPartition]] = {}
        for wanted, answer in zip(self.wanted, fetched, strict=True):
            if self.is_incremental and not wanted.has_news(answer):
                continue
            chosen.setdefault(wanted.topic, []).append(answer)
            if self.session is not None:
                wanted.remember(answer)
                if answer.records is not None and answer.records.length:
                    key = (wanted.topic, wanted.index)
                    if self.session.partitions.pop(key, None) is not None:
                        self.session.partitions[key] = wanted
        return list(chosen.items())


class FetchSessions:
    """The sessions of a broker, at most `slots_max` of them."""

    def __init__(self, slots_max: int, new_id: Callable[[], int], eviction_ms: int = 120_000) -> None:
        self.slots_max = slots_max
        self._new_id = new_id
        """Gives random positive int32 numbers; hard to guess, so nobody lands in another's session."""
        self._eviction_ms = eviction_ms
        self._sessions: dict[int, FetchSession] = {}
        self.evictions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def plan(self, request: FetchRequest, *, by_topic_id: bool, now_ms: int) -> FetchPlan:
        """Decide what a request reads, and bring its session up to date."""
        session_id, epoch = request.session_id, request.session_epoch
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if session_id != SESSIONLESS_ID:
                self._sessions.pop(session_id, None)
            wanted = [
                WantedPartition(topic, asked) for topic, partitions in request.topics for asked in partitions
            ]
            if epoch == FINAL_EPOCH:
                return FetchPlan(wanted)
            session = self._create(wanted, by_topic_id=by_topic_id, now_ms=now_ms)
            return FetchPlan(wanted, session=session)
        known = self._sessions.get(session_id)
        if known is None:
            return FetchPlan(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if known.by_topic_id != by_topic_id:
            return FetchPlan(error_code=ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        if known.epoch != epoch:
            return FetchPlan(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        known.update(request)
        known.last_used_ms = now_ms
        if not known.partitions:
            del self._sessions[session_id]
            return FetchPlan()
        known.epoch = 1 if epoch == _EPOCH_MAX else epoch + 1
        return FetchPlan(known.partitions.values(), session=known, is_incremental=True)

    def _create(
        self, wanted: list[WantedPartition], *, by_topic_id: bool, now_ms: int
    ) -> FetchSession | None:
        if not wanted or not self._make_room(len(wanted), now_ms):
            return None
        session_id = self._new_id()
        while session_id in self._sessions or session_id == SESSIONLESS_ID:
            session_id = self._new_id()
        session = FetchSession(session_id, by_topic_id=by_topic_id, now_ms=now_ms)
        session.partitions = {(one.topic, one.index): one for one in wanted}
        self._sessions[session_id] = session
        return session

    def _make_room(self, size: int, now_ms: int) -> bool:
        """Evict a stale session, or one that has had its time and is smaller than the new one."""
        if len(self._sessions) < self.slots_max:
            return True
        if not self._sessions:
            return False
        stalest = min(self._sessions.values(), key=lambda session: session.last_used_ms)
        if now_ms - stalest.last_used_ms > self._eviction_ms:
            victim = stalest
        else:
            settled = [s for s in self._sessions.values() if now_ms - s.created_ms > self._eviction_ms]
            if not settled:
                return False
            victim = min(settled, key=lambda session: len(session.partitions))
            if len(victim.partitions) >= size:
                return False
        del self._sessions[victim.id]
        self.evictions += 1
        return True
