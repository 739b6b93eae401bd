"""Limits: what an edit makes of them, and that they survive a start."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from riverlog.cluster import MetadataImage, QuotaEdit, QuotaEdits, Refusal
from riverlog.cluster.changes import Change
from riverlog.cluster.client_quotas import decide_quotas, entity_of
from riverlog.coordination import Create, Delete, LocalStore, Set
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.cluster.builders import image, running_cluster

ALICE = (("user", "alice"),)
LOADER = (("client-id", "loader"), ("user", None))


def edits(entity: tuple[tuple[str, str | None], ...], **limits: float | None) -> QuotaEdits:
    return QuotaEdits(entity, [QuotaEdit(name, value) for name, value in limits.items()])


def limited(**limits: float) -> MetadataImage:
    return image().with_client_quotas({ALICE: limits})


def change(image: MetadataImage, request: QuotaEdits) -> Change:
    outcome = decide_quotas(image, [request])[0]
    assert isinstance(outcome, Change)
    return outcome


def test_an_entity_is_the_same_in_whatever_order_it_is_named() -> None:
    assert entity_of([("user", None), ("client-id", "loader")]) == LOADER


def test_the_first_limit_creates_a_node_and_the_last_removal_deletes_it() -> None:
    first = change(image(), edits(ALICE, producer_byte_rate=5))
    second = change(limited(producer_byte_rate=5), edits(ALICE, consumer_byte_rate=6))
    last = change(limited(producer_byte_rate=5), edits(ALICE, producer_byte_rate=None))
    nothing = change(image(), edits(ALICE, producer_byte_rate=None))

    assert [type(each) for each in first.operations] == [Create]
    assert second.quotas == (ALICE, {"producer_byte_rate": 5, "consumer_byte_rate": 6})
    assert [type(each) for each in second.operations] == [Set]
    assert [type(each) for each in last.operations] == [Delete]
    assert nothing.operations == ()


def test_one_refused_edit_refuses_its_entity_and_no_other() -> None:
    outcomes = decide_quotas(
        image(),
        [edits(ALICE, producer_byte_rate=5, nope=1), edits(LOADER, producer_byte_rate=5)],
    )

    assert isinstance(outcomes[0], Refusal)
    assert isinstance(outcomes[1], Change)


def test_an_entity_named_twice_is_refused_both_times() -> None:
    outcomes = decide_quotas(
        image(), [edits(LOADER, producer_byte_rate=5), edits(LOADER[::-1], producer_byte_rate=6)]
    )

    assert [outcome[0] for outcome in outcomes.values()] == [ErrorCode.INVALID_REQUEST] * 2


def test_a_limit_named_twice_is_refused() -> None:
    twice = QuotaEdits(ALICE, [QuotaEdit("producer_byte_rate", 1.0), QuotaEdit("producer_byte_rate", None)])

    assert isinstance(decide_quotas(image(), [twice])[0], Refusal)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 0.0])
def test_a_limit_is_a_number_above_0(value: float) -> None:
    outcome = decide_quotas(image(), [edits(ALICE, request_percentage=value)])[0]

    assert isinstance(outcome, Refusal)


@pytest.mark.parametrize("name", ["a", "a/b", "a,b=c", "..", "%default", "ä" * 60])
def test_limits_of_any_name_survive_a_start(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / "journal")
    entity = (("client-id", None), ("user", name))
    with closing(running_cluster(LocalStore(path))) as cluster:
        assert cluster.change_quotas([edits(entity, producer_byte_rate=5.5e3)]) == [None]

    with closing(running_cluster(LocalStore(path))) as cluster:
        assert cluster.image.client_quotas == {entity: {"producer_byte_rate": 5500.0}}
        assert cluster.change_quotas([edits(entity, producer_byte_rate=None)]) == [None]
        assert cluster.image.client_quotas == {}


def test_a_name_too_long_to_keep_is_refused() -> None:
    outcome = decide_quotas(image(), [edits((("user", "x" * 1000),), producer_byte_rate=5)])[0]

    assert isinstance(outcome, Refusal)


def test_a_store_of_an_earlier_program_gains_the_folders_it_lacks(tmp_path: Path) -> None:
    path = str(tmp_path / "journal")
    running_cluster(LocalStore(path)).close()
    store = LocalStore(path)
    store.commit([Delete("/quotas", -1), Delete("/credentials", -1)])
    store.close()

    with closing(running_cluster(LocalStore(path))) as cluster:
        assert cluster.change_quotas([edits(ALICE, producer_byte_rate=5)]) == [None]
