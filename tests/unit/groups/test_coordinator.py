"""The shell: answers leave when they are safe, time ends sessions, trouble is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from riverlog.config import ConsumerGroupSettings, GroupSettings
from riverlog.errors import StorageError
from riverlog.groups import (
    Client,
    Commit,
    GroupCoordinator,
    OffsetToCommit,
    WantedTopic,
)
from riverlog.groups.machine import GroupMachine
from riverlog.groups.surroundings import NoTopics
from riverlog.log import GroupCommit, PartitionLog
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from riverlog.shards import host
from tests.unit.groups.consumer.world import FakeTopics
from tests.unit.shards.hand_loop import HandLoop
from tests.unit.shards.memory_log import MemoryCommit, MemoryLog

CLIENT = Client("client", "/127.0.0.1")


@pytest.fixture
def loop() -> Iterator[HandLoop]:
    loop = HandLoop()
    yield loop
    loop.close()


class Broker:
    """What a coordinator knows of its broker."""

    def __init__(self, loop: HandLoop, logs: list[MemoryLog | None] | None = None, **settings: Any) -> None:
        self.loop = loop
        self.logs = logs if logs is not None else [MemoryLog()]
        self.to_create: list[MemoryLog | None] = []
        self.creation_error = 0
        self.commit = MemoryCommit()
        self.appended: list[PartitionLog] = []
        self.groups = GroupCoordinator(
            GroupSettings(**{"group_initial_rebalance_delay_ms": 0, **settings}),
            loop,
            logs=lambda: cast("list[PartitionLog | None]", self.logs),
            create_topic=self.create_topic,
            commit=cast(GroupCommit, self.commit),
            on_appended=self.appended.append,
            wall_ms=lambda: int(loop.time() * 1000) + 1_700_000_000_000,
            consumer_settings=ConsumerGroupSettings(),
            overrides=lambda _group_id: {},
        )
        self.groups.start()

    def create_topic(self) -> int:
        self.logs = self.to_create
        return self.creation_error

    def settle(self, error: StorageError | None = None) -> None:
        """Bring all that was appended to the disk, or fail to."""
        if error is None:
            for log in self.logs:
                if log is not None:
                    log.flush()
        self.commit.settle(error)
        self.loop.turn()

    def join(self, member_id: str = "", *, session_timeout_ms: int = 10_000) -> asyncio.Future[Any]:
        request = messages.JoinGroupRequest(
            group_id="g",
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=60_000,
            member_id=member_id,
            protocol_type="consumer",
            protocols=[messages.JoinGroupRequestProtocol(name="range", metadata=b"all")],
        )
        return self.groups.join(request, 3, CLIENT)

    def sync(self, member_id: str, generation: int = 1) -> asyncio.Future[Any]:
        return self.groups.sync(
            messages.SyncGroupRequest(
                group_id="g",
                generation_id=generation,
                member_id=member_id,
                assignments=[messages.SyncGroupRequestAssignment(member_id=member_id, assignment=b"all")],
            )
        )

    def stable_member(self) -> str:
        joined = self.join()
        self.loop.turn()
        member_id: str = joined.result().member_id
        synced = self.sync(member_id)
        self.settle()
        assert synced.result().assignment == b"all"
        return member_id

    def leave(self, member_id: str) -> asyncio.Future[Any]:
        leaving = [messages.MemberIdentity(member_id=member_id)]
        return self.groups.leave(messages.LeaveGroupRequest(group_id="g", members=leaving))

    def commit_offset(self, offset: int = 5, group: str = "g", member_id: str = "") -> asyncio.Future[Any]:
        wanted = [OffsetToCommit("t", bytes(16), 0, offset, -1, "")]
        generation = 1 if member_id else -1
        return self.groups.commit_offsets(Commit(9, group, generation, member_id, None, wanted))

    def fetch(self) -> asyncio.Future[Any]:
        return self.groups.fetch_offsets("g", [WantedTopic("t", bytes(16), [0])], require_stable=False)

    def delete(self, *groups: str) -> asyncio.Task[dict[str, int]]:
        return self.loop.create_task(self.groups.delete_groups(groups))


def offset_in(fetched: asyncio.Future[Any]) -> int | None:
    ((_, (told,)),) = fetched.result().topics
    return None if told.committed is None else told.committed.offset


# Answers


def test_a_commit_is_answered_when_it_is_on_the_disk(loop: HandLoop) -> None:
    broker = Broker(loop)

    future = broker.commit_offset()
    loop.turn()
    is_early = future.done()
    broker.settle()

    assert not is_early
    assert future.result().error_codes == [0]


def test_under_page_cache_durability_it_is_answered_at_once(loop: HandLoop) -> None:
    broker = Broker(loop, [MemoryLog(durability="page-cache")])

    assert broker.commit_offset().result().error_codes == [0]
    assert broker.commit.waiting == []


def test_no_answer_tells_of_offsets_that_a_crash_could_take_back(loop: HandLoop) -> None:
    broker = Broker(loop)
    broker.commit_offset(5)

    fetched = broker.fetch()
    is_early = fetched.done()
    broker.settle()
    later = broker.fetch()

    assert not is_early
    assert offset_in(fetched) == 5
    assert later.done()


def test_an_assignment_is_given_when_it_is_on_the_disk_to_late_followers_too(loop: HandLoop) -> None:
    broker = Broker(loop)
    joins = [broker.join(), broker.join()]
    loop.turn()
    leader_id, follower_id = (join.result().member_id for join in joins)

    leader = broker.sync(leader_id)
    follower = broker.sync(follower_id)
    loop.turn()
    is_early = leader.done() or follower.done()
    broker.settle()

    assert not is_early
    assert (leader.result().assignment, follower.result().assignment) == (b"all", b"")


def test_heartbeats_do_not_wait(loop: HandLoop) -> None:
    broker = Broker(loop)
    member_id = broker.stable_member()
    broker.commit_offset(member_id=member_id)

    assert broker.groups.heartbeat("g", 1, member_id, None) == 0


def test_whoever_reads_the_offsets_topic_is_woken(loop: HandLoop) -> None:
    broker = Broker(loop)

    broker.commit_offset()

    assert [log.topic_partition.partition for log in broker.appended] == [0]


def test_an_answer_to_somebody_who_has_gone_is_dropped(loop: HandLoop) -> None:
    broker = Broker(loop)
    future = broker.commit_offset()

    future.cancel()
    broker.settle()

    assert offset_in(broker.fetch()) == 5


# Time


def test_sessions_end_in_time_without_any_request(loop: HandLoop) -> None:
    broker = Broker(loop)
    member_id = broker.stable_member()

    for _ in range(3):
        loop.advance(9_999)
        assert broker.groups.heartbeat("g", 1, member_id, None) == 0
    loop.advance(10_000)

    assert broker.groups.heartbeat("g", 1, member_id, None) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_shorter_deadline_than_the_one_waited_for_is_kept_too(loop: HandLoop) -> None:
    broker = Broker(loop)
    broker.stable_member()

    short = broker.join(session_timeout_ms=6000)
    loop.advance(10_000)

    assert short.result().error_code == 0


def test_the_time_of_one_group_s_failure_is_another_one_s_time_all_the_same(
    loop: HandLoop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    broker = Broker(loop, [MemoryLog(0), MemoryLog(1)])
    member_id = broker.stable_member()
    real = GroupMachine.pass_time
    mine = broker.groups.describe("g")

    def failing(machine: GroupMachine, now: Any) -> Any:
        if "g" not in machine.groups:
            raise AssertionError("a bug")
        return real(machine, now)

    monkeypatch.setattr(GroupMachine, "pass_time", failing)
    loop.advance(10_000)

    assert mine is not None
    assert broker.groups.heartbeat("g", 1, member_id, None) == ErrorCode.UNKNOWN_MEMBER_ID
    assert "failed as time passed" in caplog.text


def test_old_offsets_are_forgotten_by_housekeeping_at_its_intervals(loop: HandLoop) -> None:
    broker = Broker(loop, offsets_retention_minutes=1, offsets_retention_check_interval_ms=90_000)
    broker.commit_offset()
    broker.settle()

    loop.advance(89_000)
    too_early = len(list(broker.groups.housekeeping()))
    loop.advance(1_000)
    steps = len(list(broker.groups.housekeeping()))

    assert (too_early, steps) == (0, 1)
    assert broker.groups.describe("g") is None


# The topic


def test_the_offsets_topic_is_created_when_it_is_first_needed(loop: HandLoop) -> None:
    broker = Broker(loop, [])
    broker.to_create = [MemoryLog(0), MemoryLog(1)]

    committed = broker.commit_offset()
    broker.settle()

    assert committed.result().error_codes == [0]
    assert len(broker.logs) == 2


def test_if_it_cannot_be_created_there_is_no_coordinator(loop: HandLoop) -> None:
    broker = Broker(loop, [])
    broker.creation_error = ErrorCode.INVALID_REPLICATION_FACTOR
    unavailable = ErrorCode.COORDINATOR_NOT_AVAILABLE

    assert broker.groups.prepare() == unavailable
    assert broker.join().result().error_code == unavailable
    assert broker.commit_offset().result().error_codes == [unavailable]
    assert broker.groups.heartbeat("g", 1, "x", None) == unavailable
    assert broker.groups.describe("g") == unavailable


def test_one_that_somebody_else_created_is_found(loop: HandLoop) -> None:
    broker = Broker(loop, [])
    broker.logs = [MemoryLog()]
    broker.creation_error = ErrorCode.TOPIC_ALREADY_EXISTS

    assert broker.groups.prepare() == 0


def test_a_partition_that_is_not_here_has_its_coordinator_elsewhere(loop: HandLoop) -> None:
    broker = Broker(loop, [None])

    assert broker.join().result().error_code == ErrorCode.NOT_COORDINATOR
    assert broker.fetch().result().error_code == ErrorCode.NOT_COORDINATOR


def test_deleted_topics_are_forgotten(loop: HandLoop) -> None:
    broker = Broker(loop)
    broker.commit_offset()
    broker.settle()

    broker.groups.follow_topics(NoTopics(), created=(), changed=(), deleted=["t"])
    broker.settle()

    assert offset_in(broker.fetch()) is None


def test_with_the_offsets_topic_all_groups_go(loop: HandLoop) -> None:
    broker = Broker(loop)
    broker.stable_member()
    waiting = broker.join()

    broker.logs = []
    broker.to_create = [MemoryLog()]
    broker.groups.follow_topics(NoTopics(), created=(), changed=(), deleted=["__consumer_offsets"])

    assert waiting.result().error_code == ErrorCode.NOT_COORDINATOR
    assert broker.groups.describe("g") is None


# Loading


def crashed(broker: Broker) -> list[MemoryLog | None]:
    """What another process finds."""
    return [log and log.restarted() for log in broker.logs]


def test_a_restart_goes_on_with_what_is_in_the_log(loop: HandLoop) -> None:
    before = Broker(loop)
    member_id = before.stable_member()
    before.commit_offset(member_id=member_id)

    after = Broker(loop, crashed(before))

    assert after.groups.heartbeat("g", 1, member_id, None) == 0
    assert offset_in(after.fetch()) == 5
    loop.advance(10_000)
    assert after.groups.heartbeat("g", 1, member_id, None) == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.fixture(autouse=True)
def loading_in_one_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, a few records are loaded in one turn of the loop."""
    monkeypatch.setattr(host, "LOADING_SLICE_SECONDS", 60.0)


@pytest.fixture
def slow_loading(loading_in_one_slice: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No slice of time is long enough for more than one step."""
    monkeypatch.setattr(host, "LOADING_SLICE_SECONDS", -1.0)


def test_while_a_partition_is_loaded_its_groups_wait(loop: HandLoop, slow_loading: None) -> None:
    before = Broker(loop)
    member_id = before.stable_member()
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    after = Broker(loop, crashed(before))
    meanwhile = (
        after.join(member_id).result().error_code,
        after.sync(member_id).result().error_code,
        after.leave(member_id).result().error_code,
        after.commit_offset().result().error_codes,
        after.fetch().result().error_code,
        after.groups.delete_offsets("g", [("t", 0)]).result().error_code,
        after.groups.list_groups((), ()).error_code,
        after.groups.describe("g"),
    )
    heartbeat = after.groups.heartbeat("g", 7, "whoever", None)
    loop.turn(20)

    assert meanwhile == (loading, loading, loading, [loading], loading, loading, loading, loading)
    assert heartbeat == 0
    assert after.groups.heartbeat("g", 1, member_id, None) == 0
    assert [group.group_id for group in after.groups.list_groups((), ()).groups] == ["g"]


def test_topics_deleted_while_loading_are_forgotten_when_it_is_done(
    loop: HandLoop, slow_loading: None
) -> None:
    before = Broker(loop)
    for offset in range(3):
        before.commit_offset(offset)

    after = Broker(loop, crashed(before))
    after.groups.follow_topics(NoTopics(), created=(), changed=(), deleted=["t"])
    loop.turn(20)
    after.settle()

    assert offset_in(after.fetch()) is None


def test_a_partition_that_cannot_be_loaded_is_not_served_and_the_others_are(loop: HandLoop) -> None:
    before = Broker(loop, [MemoryLog(0), MemoryLog(1)])
    groups = {partition: f"group-{partition}" for partition in range(6)}
    for group in groups.values():
        before.commit_offset(group=group)
    logs = crashed(before)
    assert logs[0] is not None
    logs[0].is_unreadable = True

    after = Broker(loop, logs)

    listed = {group.group_id for group in after.groups.list_groups((), ()).groups}
    lost = {group for group in groups.values() if after.groups.describe(group) == ErrorCode.NOT_COORDINATOR}
    assert listed | lost == set(groups.values())
    assert listed
    assert lost


def test_a_bug_while_loading_one_partition_does_not_keep_the_others_waiting(
    loop: HandLoop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    before = Broker(loop, [MemoryLog(0), MemoryLog(1)])
    for number in range(6):
        before.commit_offset(group=f"group-{number}")
    real = host.load

    def failing(log: Any, machine: Any, read_bytes: int) -> Iterator[None]:
        if log.topic_partition.partition == 0:
            raise AssertionError("a bug")
        yield from real(log, machine, read_bytes)

    monkeypatch.setattr(host, "load", failing)
    after = Broker(loop, crashed(before))

    assert after.groups.list_groups((), ()).groups
    assert "cannot be loaded" in caplog.text


# Trouble, and the end


def test_what_the_log_does_not_take_is_refused(loop: HandLoop) -> None:
    broker = Broker(loop)
    log = broker.logs[0]
    assert log is not None
    log.refusal = ErrorCode.KAFKA_STORAGE_ERROR

    refused = broker.commit_offset()
    log.refusal = 0
    accepted = broker.commit_offset()
    broker.settle()

    assert refused.result().error_codes == [ErrorCode.NOT_COORDINATOR]
    assert accepted.result().error_codes == [0]


def test_when_the_disk_fails_nothing_is_promised_and_the_partition_s_groups_are_not_served(
    loop: HandLoop,
) -> None:
    broker = Broker(loop)
    member_id = broker.stable_member()
    waiting = broker.join()

    commit = broker.commit_offset(member_id=member_id)
    fetch = broker.fetch()
    broker.settle(StorageError("the disk failed"))

    assert commit.result().error_codes == [ErrorCode.NOT_COORDINATOR]
    assert fetch.result().error_code == ErrorCode.NOT_COORDINATOR
    assert waiting.result().error_code == ErrorCode.NOT_COORDINATOR
    assert broker.groups.heartbeat("g", 1, member_id, None) == ErrorCode.NOT_COORDINATOR


def test_groups_are_deleted_in_several_partitions_at_once(loop: HandLoop) -> None:
    broker = Broker(loop, [MemoryLog(0), MemoryLog(1)])
    for number in range(4):
        broker.commit_offset(group=f"group-{number}")
    broker.settle()

    task = broker.delete(*(f"group-{number}" for number in range(5)))
    loop.turn()
    broker.settle()

    expected = {f"group-{number}": 0 for number in range(4)}
    assert task.result() == {**expected, "group-4": ErrorCode.GROUP_ID_NOT_FOUND}


def test_who_waits_when_the_broker_stops_is_answered_and_nobody_is_served_after_that(
    loop: HandLoop,
) -> None:
    broker = Broker(loop)
    broker.stable_member()
    waiting = broker.join()

    broker.groups.stop()
    broker.groups.stop()
    afterwards = broker.join()

    assert waiting.result().error_code == ErrorCode.NOT_COORDINATOR
    assert afterwards.result().error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert broker.groups.list_groups((), ()).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    loop.advance(100_000)


@pytest.mark.parametrize(
    "ask",
    [
        lambda broker: broker.groups.delete_offsets("g", [("t", 0)]),
        lambda broker: broker.leave("nobody"),
        lambda broker: broker.fetch(),
    ],
)
def test_every_request_has_an_answer(loop: HandLoop, ask: Callable[[Broker], asyncio.Future[Any]]) -> None:
    broker = Broker(loop)
    broker.commit_offset()

    future = ask(broker)
    broker.settle()

    assert future.done()


# Groups that the broker assigns for


def beat(broker: Broker, epoch: int = 0, **fields: Any) -> asyncio.Future[Any]:
    """A heartbeat of a member called Ann; in epoch 0 she joins."""
    if epoch == 0:
        fields = {
            "rebalance_timeout_ms": 60_000,
            "topic_partitions": [],
            "subscribed_topic_names": ["t"],
            **fields,
        }
    request = messages.ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="ann", member_epoch=epoch, **fields
    )
    return broker.groups.consumer_heartbeat(request, 1, CLIENT)


def follow(broker: Broker, topics: FakeTopics, *created: str) -> None:
    broker.groups.follow_topics(topics, created=created, changed=(), deleted=())


def test_a_member_is_told_its_partitions_once_they_are_on_the_disk(loop: HandLoop) -> None:
    broker = Broker(loop)
    follow(broker, FakeTopics(t=2), "t")

    future = beat(broker)
    loop.turn()
    assert not future.done()
    broker.settle()

    (has,) = future.result().assignment.topic_partitions
    assert has.partitions == [0, 1]


def test_a_heartbeat_without_news_is_answered_at_once(loop: HandLoop) -> None:
    broker = Broker(loop)
    follow(broker, FakeTopics(t=2), "t")
    joined = beat(broker)
    broker.settle()

    future = beat(broker, joined.result().member_epoch)

    assert future.done()
    assert not future.result().error_code


def test_a_group_that_is_loaded_goes_on_where_it_was(loop: HandLoop) -> None:
    before = Broker(loop)
    topics = FakeTopics(t=2)
    follow(before, topics, "t")
    joined = beat(before)
    before.settle()

    after = Broker(loop, before.logs)
    follow(after, topics)
    loop.turn()
    future = beat(after, joined.result().member_epoch)
    after.settle()

    assert not future.result().error_code
    described = after.groups.describe_consumer_group("g")
    assert isinstance(described, messages.ConsumerGroupDescribeResponseDescribedGroup)
    assert [member.member_id for member in described.members] == ["ann"]


def test_a_silent_member_is_out_when_its_session_ends(loop: HandLoop) -> None:
    broker = Broker(loop)
    follow(broker, FakeTopics(t=2), "t")
    beat(broker)
    broker.settle()

    loop.advance(45_000)
    broker.settle()

    future = beat(broker, 2)
    assert future.result().error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_topics_that_come_are_matched_by_heartbeats_from_then_on(loop: HandLoop) -> None:
    broker = Broker(loop)
    topics = FakeTopics()
    follow(broker, topics)
    joined = beat(broker, subscribed_topic_names=[], subscribed_topic_regex="order.*")
    broker.settle()
    topics.create("orders", 1)
    follow(broker, topics, "orders")

    loop.advance(1000)
    future = beat(broker, joined.result().member_epoch)
    broker.settle()

    assert future.result().assignment is not None


def test_what_takes_long_to_match_is_matched_between_other_turns(loop: HandLoop) -> None:
    broker = Broker(loop)
    follow(broker, FakeTopics(**{f"orders-{number}": 1 for number in range(3000)}))
    joined = beat(broker, subscribed_topic_names=[], subscribed_topic_regex="orders-1.*|x{900}")
    broker.settle()
    assert joined.result().assignment.topic_partitions == []

    for _ in range(200):
        loop.turn()
    broker.settle()
    loop.advance(1000)
    future = beat(broker, joined.result().member_epoch)
    broker.settle()

    assert len(future.result().assignment.topic_partitions) == 1 + 10 + 100 + 1000


def test_topics_that_come_while_others_are_matched_are_matched_as_well(loop: HandLoop) -> None:
    broker = Broker(loop)
    topics = FakeTopics(**{f"orders-{number}": 1 for number in range(3000)})
    follow(broker, topics)
    joined = beat(broker, subscribed_topic_names=[], subscribed_topic_regex="new.*|x{900}")
    broker.settle()
    epoch = joined.result().member_epoch
    topics.create("new", 1)
    follow(broker, topics, "new")
    beat(broker, epoch)
    for _ in range(400):
        loop.turn()
    broker.settle()
    loop.advance(1000)

    future = beat(broker, epoch)
    broker.settle()

    assert len(future.result().assignment.topic_partitions) == 1


def test_a_coordinator_that_is_stopped_serves_no_such_member(loop: HandLoop) -> None:
    broker = Broker(loop)
    broker.groups.stop()

    assert beat(broker).result().error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert broker.groups.describe_consumer_group("g") == ErrorCode.COORDINATOR_NOT_AVAILABLE
