"""The vote on a protocol: only what all can do, and of that what most prefer."""

from __future__ import annotations

from riverlog.groups.vote import candidates, elected


def preferring(*names: str) -> tuple[tuple[str, bytes], ...]:
    return tuple((name, b"") for name in names)


ANN = preferring("cooperative", "range")
BOB = preferring("range", "cooperative")
CARL = preferring("sticky", "range", "cooperative")


def test_only_what_everybody_can_do_is_a_candidate() -> None:
    assert candidates([ANN, BOB, CARL]) == {"range", "cooperative"}


def test_the_most_votes_win() -> None:
    assert elected([ANN, BOB, CARL]) == "range"


def test_on_a_tie_the_first_vote_counts() -> None:
    assert elected([ANN, BOB]) == "cooperative"
    assert elected([BOB, ANN]) == "range"


def test_naming_a_protocol_twice_is_one_support() -> None:
    assert candidates([preferring("range", "range"), preferring("sticky")]) == set()


def test_without_members_or_anything_in_common_nothing_is_elected() -> None:
    assert elected([]) is None
    assert elected([preferring("range"), preferring("sticky")]) is None
