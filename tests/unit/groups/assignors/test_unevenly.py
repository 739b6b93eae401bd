"""The assignor "uniform" where members read different topics."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from riverlog.groups.assignors import ASSIGNORS, MemberSpec

from .asking import Readable, assigned, moved, reads, sizes

UNIFORM = ASSIGNORS["uniform"]
TOPICS = "tuvw"


def test_who_reads_more_has_no_more_than_the_others() -> None:
    members = {"a": reads("tu"), "b": reads("u"), "c": reads("u")}

    outcome = assigned(UNIFORM, members, t=3, u=6)

    assert sizes(outcome) == {"a": 3, "b": 3, "c": 3}
    assert outcome["a"] == {"t": {0, 1, 2}}


def test_partitions_move_from_those_with_most_to_those_with_least() -> None:
    members = {"a": reads("t", t={0, 1, 2, 3}), "b": reads("tu", u={0})}

    outcome = assigned(UNIFORM, members, t=4, u=1)

    assert sizes(outcome) == {"a": 3, "b": 2}
    assert outcome["b"]["u"] == {0}


def test_what_is_even_stays_as_it_is() -> None:
    members = {"a": reads("tu", t={0, 1}, u={2}), "b": reads("t", t={2, 3}), "c": reads("u", u={0, 1})}

    outcome = assigned(UNIFORM, members, t=4, u=3)

    assert outcome == {"a": {"t": {0, 1}, "u": {2}}, "b": {"t": {2, 3}}, "c": {"u": {0, 1}}}


def test_a_topic_that_only_one_reads_is_that_one_s_however_much_it_has() -> None:
    outcome = assigned(UNIFORM, {"a": reads("t"), "b": reads("u")}, t=9, u=1)

    assert sizes(outcome) == {"a": 9, "b": 1}


members_of_all_kinds = st.dictionaries(
    st.sampled_from("abcdef"), st.sets(st.sampled_from(TOPICS)).map("".join), min_size=1
)
counts_of_topics = st.fixed_dictionaries({topic: st.integers(0, 9) for topic in TOPICS})


@given(members_of_all_kinds, counts_of_topics, members_of_all_kinds, counts_of_topics)
def test_every_partition_that_is_read_has_one_owner_who_reads_it(
    before: dict[str, str], counts_before: dict[str, int], after: dict[str, str], counts: dict[str, int]
) -> None:
    """Through two rounds, with members and topics that come and go in between."""
    counts = {topic: max(count, counts_before[topic]) for topic, count in counts.items()}
    for assignor in ASSIGNORS.values():
        first = assigned(
            assignor, {member: reads(topics) for member, topics in before.items()}, **counts_before
        )
        check(first, before, counts_before)
        specs: dict[str, MemberSpec] = {
            member: reads(topics, **first.get(member, {})) for member, topics in after.items()
        }
        second = assigned(assignor, specs, **counts)
        check(second, after, counts)


@given(members_of_all_kinds, counts_of_topics)
def test_the_same_again_moves_nothing(members: dict[str, str], counts: dict[str, int]) -> None:
    first = assigned(UNIFORM, {member: reads(topics) for member, topics in members.items()}, **counts)

    specs = {member: reads(topics, **first[member]) for member, topics in members.items()}
    second = assigned(UNIFORM, specs, **counts)

    assert moved(first, second) == 0


def check(outcome: Readable, members: dict[str, str], counts: dict[str, int]) -> None:
    assert outcome.keys() == members.keys()
    for member, topics in outcome.items():
        assert set(topics) <= set(members[member])
        assert all(topics.values()), "no topic without partitions"
    for topic, count in counts.items():
        owned = sorted(each for topics in outcome.values() for each in topics.get(topic, ()))
        assert owned == (list(range(count)) if any(topic in topics for topics in members.values()) else [])
