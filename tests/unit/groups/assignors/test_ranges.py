"""The assignor "range": neighbouring partitions, the same of each topic."""

from riverlog.groups.assignors import ASSIGNORS

from .asking import assigned, reads

RANGE = ASSIGNORS["range"]


def test_each_member_gets_neighbouring_partitions_and_the_first_ones_the_remainder() -> None:
    members = {"carl": reads("t"), "ann": reads("t"), "bob": reads("t")}

    assert assigned(RANGE, members, t=7) == {
        "ann": {"t": {0, 1, 2}},
        "bob": {"t": {3, 4}},
        "carl": {"t": {5, 6}},
    }


def test_topics_of_the_same_size_are_cut_alike() -> None:
    members = {"ann": reads("tu"), "bob": reads("tu")}

    for topics in assigned(RANGE, members, t=4, u=4).values():
        assert topics["t"] == topics["u"]


def test_a_topic_is_cut_for_those_who_read_it() -> None:
    members = {"ann": reads("t"), "bob": reads("tu"), "carl": reads("u")}

    assert assigned(RANGE, members, t=2, u=2) == {
        "ann": {"t": {0}},
        "bob": {"t": {1}, "u": {0}},
        "carl": {"u": {1}},
    }


def test_members_that_get_nothing_are_named_all_the_same() -> None:
    members = {"ann": reads("t"), "bob": reads("t"), "carl": reads("")}

    assert assigned(RANGE, members, t=1) == {"ann": {"t": {0}}, "bob": {}, "carl": {}}


def test_static_members_stand_first_and_by_their_instance_ids() -> None:
    members = {"a": reads("t"), "z": reads("t", "one"), "y": reads("t", "two")}

    assert assigned(RANGE, members, t=3) == {"z": {"t": {0}}, "y": {"t": {1}}, "a": {"t": {2}}}


def test_what_members_had_does_not_count() -> None:
    members = {"ann": reads("t", t={2, 3}), "bob": reads("t", t={0, 1})}

    assert assigned(RANGE, members, t=4) == {"ann": {"t": {0, 1}}, "bob": {"t": {2, 3}}}


def test_nobody_gets_nothing() -> None:
    assert assigned(RANGE, {}, t=4) == {}
