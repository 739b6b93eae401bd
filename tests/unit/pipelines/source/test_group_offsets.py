"""Offsets committed to a group, from beside a query: the newest only, and never in its way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from riverlog import client
from riverlog.errors import RequestRefused
from riverlog.pipelines.source import group_offsets
from riverlog.pipelines.source.group_offsets import GroupOffsets
from riverlog.types import TopicPartition
from tests.eventually import eventually

PLACE = TopicPartition("clicks", 0)


class Groups:
    """A cluster's groups, which a test lets fail or hang."""

    def __init__(self) -> None:
        self.commits: list[Mapping[Any, int]] = []
        self.failures = 0
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def __call__(self, *_: Any, **__: Any) -> Groups:
        return self

    def __enter__(self) -> Groups:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def commit(self, name: str, offsets: Mapping[Any, int]) -> None:
        assert name == "queries"
        assert self.may_go_on.wait(30)
        if self.failures:
            self.failures -= 1
            raise RequestRefused(25, "the group has members")
        self.commits.append(dict(offsets))


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> Groups:
    made = Groups()
    monkeypatch.setattr(client, "GroupAdmin", made, raising=False)
    monkeypatch.setattr(group_offsets, "RETRY_SECONDS_MIN", 0.001)
    monkeypatch.setattr(group_offsets, "RETRY_SECONDS_MAX", 0.01)
    return made


@pytest.fixture
def shown(groups: Groups) -> Iterator[Callable[[int], None]]:
    offsets = GroupOffsets("one:1", "queries")
    yield lambda offset: offsets.note({PLACE: offset})
    groups.may_go_on.set()
    offsets.close()


def test_what_is_noted_is_committed_before_the_query_goes_on(
    groups: Groups, shown: Callable[[int], None]
) -> None:
    for offset in (3, 3, 7):
        shown(offset)

    assert groups.commits == [{PLACE: 3}, {PLACE: 7}]


def test_a_cluster_that_hangs_does_not_hold_up_the_query_and_learns_the_newest(
    groups: Groups, shown: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_offsets, "GRACE_SECONDS", 0.01)
    groups.may_go_on.clear()
    for offset in (1, 2, 3, 4):
        shown(offset)
    assert groups.commits == []

    groups.may_go_on.set()
    eventually(lambda: groups.commits[-1:] == [{PLACE: 4}], "the newest offsets are committed")
    assert groups.commits == [{PLACE: 1}, {PLACE: 4}]


def test_a_commit_that_fails_is_warned_of_once_and_tried_again(
    groups: Groups, shown: Callable[[int], None], caplog: pytest.LogCaptureFixture
) -> None:
    groups.failures = 7
    shown(5)
    eventually(lambda: groups.commits == [{PLACE: 5}], "it is committed in the end")

    assert [record.getMessage() for record in caplog.records] == [
        "group 'queries' does not show how far a query has come: the group has members"
    ]


def test_a_failure_that_passes_is_no_word_worth(
    groups: Groups, shown: Callable[[int], None], caplog: pytest.LogCaptureFixture
) -> None:
    groups.failures = 2
    shown(5)
    eventually(lambda: groups.commits == [{PLACE: 5}], "it is committed in the end")

    assert not caplog.records


def test_at_the_end_a_failure_that_stays_is_not_waited_for(groups: Groups) -> None:
    groups.failures = 1000
    offsets = GroupOffsets("one:1", "queries")
    offsets.note({PLACE: 9})
    offsets.close()

    assert groups.commits == []
    assert 3 <= 1000 - groups.failures < 1000


def test_what_is_left_is_committed_at_the_end(groups: Groups) -> None:
    offsets = GroupOffsets("one:1", "queries")
    offsets.note({PLACE: 9})
    offsets.close()

    assert groups.commits == [{PLACE: 9}]
