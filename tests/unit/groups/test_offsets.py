"""The store of committed offsets: what was said last counts, and a transaction counts when it is decided."""

from __future__ import annotations

from riverlog.groups.offsets import OffsetStore
from riverlog.groups.records import CommittedOffset, OffsetCommit

PRODUCER, ANOTHER = 7, 8


def committing(offset: int, topic: str = "t", partition: int = 0, group: str = "g") -> OffsetCommit:
    return OffsetCommit(group, topic, partition, CommittedOffset(offset, -1, "", 0))


def removing(topic: str = "t", partition: int = 0, group: str = "g") -> OffsetCommit:
    return OffsetCommit(group, topic, partition, None)


def offset_in(store: OffsetStore) -> int | None:
    committed = store.get("g", "t", 0)
    return None if committed is None else committed.offset


def test_the_last_commit_counts() -> None:
    store = OffsetStore()
    store.replay(committing(5), 0)
    store.replay(committing(3), 1)

    assert offset_in(store) == 3
    assert store.known_partitions("g") == [("t", 0)]


def test_nothing_is_left_of_a_group_whose_commits_were_removed() -> None:
    store = OffsetStore()
    store.replay(committing(5), 0)
    store.replay(committing(6, partition=1), 1)

    store.replay(removing(), 2)
    one_left = store.has_any("g")
    store.replay(removing(partition=1), 3)
    store.replay(removing(partition=1), 4)

    assert one_left
    assert not store.has_any("g")
    assert store == OffsetStore()


def test_a_transaction_s_commit_counts_once_it_is_committed() -> None:
    store = OffsetStore()
    store.replay(committing(1), 0)
    store.replay(committing(5), 1, PRODUCER)

    before = offset_in(store), store.is_undecided("g", "t", 0), store.has_undecided("g")
    store.replay_marker(PRODUCER, is_commit=True)

    assert before == (1, True, True)
    assert offset_in(store) == 5
    assert not store.is_undecided("g", "t", 0)
    assert not store.has_undecided("g")


def test_an_aborted_transaction_s_commit_never_counts() -> None:
    store = OffsetStore()
    store.replay(committing(5), 0, PRODUCER)

    store.replay_marker(PRODUCER, is_commit=False)

    assert store == OffsetStore()


def test_a_marker_decides_for_its_own_producer_alone() -> None:
    store = OffsetStore()
    store.replay(committing(5), 0, PRODUCER)
    store.replay(committing(6), 1, ANOTHER)

    store.replay_marker(PRODUCER, is_commit=True)

    assert offset_in(store) == 5
    assert store.is_undecided("g", "t", 0)


def test_what_stands_later_in_the_log_wins_over_a_transaction_decided_later() -> None:
    store = OffsetStore()
    store.replay(committing(5), 0, PRODUCER)
    store.replay(committing(9), 1)

    store.replay_marker(PRODUCER, is_commit=True)

    assert offset_in(store) == 9


def test_compaction_of_the_plain_commit_before_it_does_not_change_who_wins() -> None:
    whole, compacted = OffsetStore(), OffsetStore()
    for store, first in ((whole, 0), (compacted, 1)):
        if first == 0:
            store.replay(committing(1), 0)
        store.replay(committing(5), 1, PRODUCER)
        store.replay(committing(9), 2)
        store.replay_marker(PRODUCER, is_commit=True)

    assert offset_in(whole) == offset_in(compacted) == 9


def test_a_removal_also_forgets_what_is_undecided() -> None:
    store = OffsetStore()
    store.replay(committing(5), 0, PRODUCER)

    store.replay(removing(), 1)
    store.replay_marker(PRODUCER, is_commit=True)

    assert store == OffsetStore()


def test_a_marker_without_commits_changes_nothing() -> None:
    store = OffsetStore()
    store.replay(committing(5), 0)

    store.replay_marker(PRODUCER, is_commit=True)

    assert offset_in(store) == 5


def test_commits_are_found_by_topic_also_undecided_ones() -> None:
    store = OffsetStore()
    store.replay(committing(5, "t", 0, "g"), 0)
    store.replay(committing(5, "u", 0, "g"), 1)
    store.replay(committing(5, "t", 3, "h"), 2, PRODUCER)

    assert sorted(store.of_topics(["t"])) == [("g", "t", 0), ("h", "t", 3)]
