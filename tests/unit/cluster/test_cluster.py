"""The cluster across starts, failures and crashes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from riverlog.cluster import (
    ALL_BROKERS,
    Cluster,
    Delta,
    Edit,
    EditKind,
    FoundPartition,
    NewPartitions,
    NewTopic,
    OverrideEdits,
    Refusal,
    Resource,
    ResourceType,
    Topic,
)
from riverlog.cluster.cluster import ADOPTED_PRODUCER_IDS_START
from riverlog.coordination import Disk, LocalStore, NodeExists
from riverlog.errors import StorageError
from riverlog.types import TopicPartition
from tests.unit.cluster.builders import broker, cluster_on, running_cluster, topic_id

ORDERS = Resource(ResourceType.TOPIC, "orders")


class Power(BaseException):
    """The power fails: nothing below catches this."""


class DiskUntil(Disk):
    """A disk that works for a number of calls and then loses its power, or only its space."""

    def __init__(self, calls: int, error: BaseException | None = None) -> None:
        self.calls = calls
        self.error = error or Power()

    def _count(self) -> None:
        self.calls -= 1
        if self.calls < 0:
            raise self.error

    def write(self, descriptor: int, data: bytes) -> int:
        self._count()
        if self.calls == 0:
            return os.write(descriptor, data[: len(data) // 2 or 1])
        return super().write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        self._count()
        super().sync(descriptor)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "journal")


@pytest.fixture
def cluster(path: str) -> Iterator[Cluster]:
    with closing(running_cluster(LocalStore(path))) as cluster:
        yield cluster


def reopened(cluster: Cluster, path: str) -> Cluster:
    cluster.close()
    return running_cluster(LocalStore(path))


def test_a_new_cluster_has_an_id_and_no_topics(path: str) -> None:
    with closing(cluster_on(LocalStore(path))) as cluster:
        was_new = cluster.is_new

        cluster.begin()

        assert was_new
        assert not cluster.is_new
        assert len(cluster.image.cluster_id) == 22
        assert cluster.image.topics == {}


def test_everything_decided_is_there_after_a_restart(cluster: Cluster, path: str) -> None:
    cluster.create_topics(
        [NewTopic("orders", 3, 1, overrides=[("retention.ms", "5")]), NewTopic("gone", 1, 1)]
    )
    cluster.create_partitions([NewPartitions("orders", 5)])
    cluster.delete_topics(["gone"])
    cluster.change_overrides(
        [
            OverrideEdits(ORDERS, [Edit("segment.ms", EditKind.SET, "70000")]),
            OverrideEdits(ALL_BROKERS, [Edit("log.retention.ms", EditKind.SET, "6")]),
        ]
    )
    cluster.begin_new_leader_epochs()
    before = cluster.image

    with closing(reopened(cluster, path)) as after:
        assert after.image == before
        assert not after.is_new
        assert [partition.leader_epoch for partition in after.image.topics["orders"].partitions] == [1] * 5


def test_creating_answers_by_name_with_the_topic_or_the_refusal(cluster: Cluster) -> None:
    answers = cluster.create_topics([NewTopic("a", 2, 1), NewTopic("a b", 1, 1)])

    assert answers["a"] == cluster.image.topics["a"]
    assert isinstance(answers["a b"], Refusal)


def test_validating_decides_and_changes_nothing(cluster: Cluster) -> None:
    cluster.create_topics([NewTopic("a", 1, 1)])
    before = cluster.image
    deltas: list[Delta] = []
    cluster.listeners.append(deltas.append)

    created = cluster.create_topics([NewTopic("b", 1, 1), NewTopic("a", 1, 1)], validate_only=True)
    grown = cluster.create_partitions([NewPartitions("a", 2)], validate_only=True)
    edits = OverrideEdits(Resource(ResourceType.TOPIC, "a"), [Edit("flush.ms", EditKind.SET, "1")])
    changed = cluster.change_overrides([edits], validate_only=True)

    assert isinstance(created["b"], Topic)
    assert isinstance(created["a"], Refusal)
    assert (grown, changed) == ({"a": None}, {edits.resource: None})
    assert cluster.image is before
    assert deltas == []


def test_topic_ids_are_never_reserved_ones_nor_look_like_options(path: str) -> None:
    drawn = [bytes(16), topic_id(1), b"\xf8" + bytes(15), b"\x01" * 16]

    class Loaded:
        def randbytes(self, count: int) -> bytes:
            return drawn.pop(0)

        def randrange(self, stop: int) -> int:
            return 0

    with closing(running_cluster(LocalStore(path))) as cluster:
        cluster._random = Loaded()  # type: ignore[assignment]
        answer = cluster.create_topics([NewTopic("a", 1, 1)])["a"]

    assert isinstance(answer, Topic)
    assert answer.topic_id == b"\x01" * 16


def test_a_topic_created_again_has_another_id(cluster: Cluster) -> None:
    first = cluster.create_topics([NewTopic("a", 1, 1)])["a"]
    cluster.delete_topics(["a"])

    second = cluster.create_topics([NewTopic("a", 1, 1)])["a"]

    assert isinstance(first, Topic)
    assert isinstance(second, Topic)
    assert first.topic_id != second.topic_id
    assert cluster.image.topic(first.topic_id) is None


def test_without_a_registered_broker_there_is_nowhere_to_put_a_topic(path: str) -> None:
    with closing(cluster_on(LocalStore(path))) as cluster:
        cluster.begin()

        answer = cluster.create_topics([NewTopic("a", 1, 1)])["a"]

        assert isinstance(answer, Refusal)
        assert answer.error_code == 38


def test_registering_again_changes_the_address(cluster: Cluster) -> None:
    moved = broker(1, rack="moved")

    cluster.register(moved)

    assert cluster.image.brokers == {1: moved}


def test_a_second_broker_with_the_same_id_is_refused(path: str) -> None:
    with closing(LocalStore(path)) as store:
        running_cluster(store)
        second = cluster_on(store)
        second.image = second.image.with_brokers([])

        with pytest.raises(NodeExists):
            second.register(broker())


def test_listeners_see_the_image_already_swapped(cluster: Cluster) -> None:
    seen: list[tuple[set[str], Delta]] = []
    cluster.listeners.append(lambda delta: seen.append((set(cluster.image.topics), delta)))

    cluster.create_topics([NewTopic("a", 1, 1)])
    cluster.delete_topics(["a"])

    assert [(topics, len(delta.created), len(delta.deleted)) for topics, delta in seen] == [
        ({"a"}, 1, 0),
        (set(), 0, 1),
    ]


def test_a_deletion_that_the_listeners_followed_is_not_noted_any_more(cluster: Cluster, path: str) -> None:
    cluster.create_topics([NewTopic("a", 1, 1)])

    cluster.delete_topics(["a"])

    assert cluster.deletions == set()
    with closing(reopened(cluster, path)) as after:
        assert after.deletions == set()


def test_a_deletion_that_a_listener_did_not_follow_is_finished_after_the_restart(
    cluster: Cluster, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(delta: Delta) -> None:
        if delta.deleted:
            raise StorageError("the disk is gone")

    made = cluster.create_topics([NewTopic("a", 1, 1)])["a"]
    assert isinstance(made, Topic)
    cluster.listeners.append(fail)
    answer = cluster.delete_topics(["a"])

    with closing(reopened(cluster, path)) as after:
        on_disk = FoundPartition("a", 0, made.topic_id)
        work = after.reconcile([on_disk])
        after.forget_deletions()

        assert answer == {"a": None}
        assert "the disk is gone" in caplog.text
        assert "a" not in after.image.topics
        assert work.deleted == (on_disk,)
        assert after.reconcile([on_disk]).stray == (on_disk,)
    with closing(running_cluster(LocalStore(path))) as later:
        assert later.deletions == set()


def test_one_failing_listener_does_not_keep_the_others_from_following(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(delta: Delta) -> None:
        raise ValueError("a bug in a listener")

    deltas: list[Delta] = []
    cluster.listeners += [fail, deltas.append]

    cluster.create_topics([NewTopic("a", 1, 1)])

    assert [delta.created[0].name for delta in deltas] == ["a"]
    assert "a bug in a listener" in caplog.text


def test_what_the_disk_refuses_is_a_refusal_and_has_not_happened(path: str) -> None:
    disk = DiskUntil(1 << 30, OSError(28, "no space left"))
    with closing(running_cluster(LocalStore(path, disk=disk))) as cluster:
        cluster.create_topics([NewTopic("a", 1, 1)])
        before = cluster.image
        disk.calls = 0

        created = cluster.create_topics([NewTopic("b", 1, 1), NewTopic("a b", 1, 1)])
        deleted = cluster.delete_topics(["a"])

        assert isinstance(created["b"], Refusal)
        assert isinstance(created["a b"], Refusal)
        assert (created["b"].error_code, created["a b"].error_code) == (56, 17)
        assert deleted["a"] is not None
        assert deleted["a"].error_code == 56
        assert cluster.image is before


def test_a_leader_is_elected_durably(cluster: Cluster, path: str) -> None:
    cluster.image = cluster.image.with_brokers([broker(1), broker(2)])
    cluster.create_topics([NewTopic("a", assignments=[(0, (1, 2))])])
    cluster.begin_new_leader_epochs()
    topic = cluster.image.topics["a"]
    led_by_2 = topic.partitions[0]._replace(leader=2)
    cluster.image = cluster.image.with_topics([Topic("a", topic.topic_id, (led_by_2,))])

    answer = cluster.elect_leaders([TopicPartition("a", 0)], is_unclean=False)

    assert answer == {TopicPartition("a", 0): None}
    with closing(reopened(cluster, path)) as after:
        elected = after.image.topics["a"].partitions[0]
        assert (elected.leader, elected.leader_epoch) == (1, 2)


def test_many_topics_of_one_request_are_spread_over_several_commits(cluster: Cluster, path: str) -> None:
    overrides = [("leader.replication.throttled.replicas", ",".join(["1:1"] * 500))]
    requests = [NewTopic(f"topic-{number}", 1, 1, overrides=overrides) for number in range(1000)]
    deltas: list[Delta] = []
    cluster.listeners.append(deltas.append)

    answers = cluster.create_topics(requests)

    assert all(isinstance(answer, Topic) for answer in answers.values())
    assert len(deltas) > 1
    with closing(reopened(cluster, path)) as after:
        assert len(after.image.topics) == 1000


def test_ten_thousand_partitions_come_back(cluster: Cluster, path: str) -> None:
    for number in range(10):
        cluster.create_topics([NewTopic(f"t{number}-{each}", 10, 1) for each in range(100)])
    before = cluster.image

    with closing(reopened(cluster, path)) as after:
        assert after.image == before
        assert after.image.partition_count == 10_000


def test_topics_found_at_the_first_start_are_adopted_and_later_ones_are_not(path: str) -> None:
    found = [FoundPartition("a", 0, topic_id(5), 2), FoundPartition("__consumer_offsets", 0, topic_id(6))]
    with closing(cluster_on(LocalStore(path))) as cluster:
        cluster.begin(cluster_id="from-meta-properties", found=found)
        first_producer_id = cluster.next_producer_id()
        work = cluster.reconcile(found)

    with closing(cluster_on(LocalStore(path))) as later:
        unknown = FoundPartition("b", 0, topic_id(7))

        assert not later.is_new
        assert later.image.cluster_id == "from-meta-properties"
        assert later.image.topics.keys() == {"a", "__consumer_offsets"}
        assert later.image.topics["a"].partitions[0].leader_epoch == 3
        assert later.topic_overrides("__consumer_offsets")["cleanup.policy"] == "compact"
        assert first_producer_id == ADOPTED_PRODUCER_IDS_START
        assert work == ((), (), ())
        assert later.reconcile([*found, unknown]).stray == (unknown,)


def test_adopted_settings_that_are_none_here_are_dropped_and_named(
    path: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"cleanup.policy": "compact", "remote.storage.enable": "true", "retention.ms": "5"}
    with closing(cluster_on(LocalStore(path))) as cluster:
        cluster.begin(
            found=[FoundPartition("orders", 0, topic_id(5))],
            overrides={ORDERS: settings, ALL_BROKERS: {"log.retention.ms": "6", "nope": "7"}},
        )

        assert cluster.topic_overrides("orders") == {"cleanup.policy": "compact", "retention.ms": "5"}
        assert cluster.image.overrides_of(ALL_BROKERS) == {"log.retention.ms": "6"}
        assert "remote.storage.enable" in caplog.text
        assert "broker default" in caplog.text


def test_a_layout_from_the_future_is_refused(path: str) -> None:
    with closing(LocalStore(path)) as store:
        running_cluster(store)
        store.set("/cluster", b'{"id":"x","layout":2}', -1)

        with pytest.raises(StorageError, match="layout 2"):
            cluster_on(store)


# A crash at any write or sync: the next start finds the state before or after, and can go on.


def adopt_two(cluster: Cluster) -> None:
    cluster.begin(found=[FoundPartition("a", 0, topic_id(5)), FoundPartition("b", 1, topic_id(6), 3)])


@pytest.mark.parametrize("calls", range(12))
def test_an_adoption_cut_off_anywhere_is_repeated_or_complete(path: str, calls: int) -> None:
    store = LocalStore(path, disk=DiskUntil(calls + 2))
    with closing(store), suppress(Power):
        adopt_two(cluster_on(store))

    with closing(cluster_on(LocalStore(path), seed=1)) as after:
        if after.is_new:
            adopt_two(after)
        after.register(broker())

        assert {name: len(topic.partitions) for name, topic in after.image.topics.items()} == {"a": 1, "b": 2}
        assert after.image.topics["b"].partitions[1].leader_epoch == 4
        assert isinstance(after.create_topics([NewTopic("c", 1, 1)])["c"], Topic)


CHANGES: dict[str, Callable[[Cluster], object]] = {
    "create": lambda cluster: cluster.create_topics([NewTopic("new", 2, 1, overrides=[("flush.ms", "1")])]),
    "delete": lambda cluster: cluster.delete_topics(["orders", "clicks"]),
    "grow": lambda cluster: cluster.create_partitions([NewPartitions("orders", 4)]),
    "override": lambda cluster: cluster.change_overrides(
        [OverrideEdits(ORDERS, [Edit("flush.ms", EditKind.SET, "2")])]
    ),
    "epochs": lambda cluster: cluster.begin_new_leader_epochs(),
}


@pytest.mark.parametrize("calls", range(5))
@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("error", [Power(), OSError(28, "no space")], ids=["power", "space"])
def test_a_change_cut_off_anywhere_happened_or_did_not(
    path: str, name: str, calls: int, error: BaseException
) -> None:
    disk = DiskUntil(1 << 30, error)
    with closing(running_cluster(LocalStore(path, disk=disk))) as cluster:
        cluster.create_topics(
            [NewTopic("orders", 2, 1, overrides=[("flush.ms", "1")]), NewTopic("clicks", 1, 1)]
        )
        before = cluster.image
        disk.calls = calls
        with suppress(Power, StorageError):
            CHANGES[name](cluster)
        after = cluster.image

    with closing(running_cluster(LocalStore(path))) as restarted:
        deleted = before.topics.keys() - restarted.image.topics.keys()

        assert restarted.image in (before, after) or (isinstance(error, Power) and after is before)
        assert deleted in (set(), {"orders", "clicks"})
        if isinstance(error, OSError):
            assert restarted.image == after
        CHANGES[name](restarted)
        assert restarted.reconcile([]).stray == ()
