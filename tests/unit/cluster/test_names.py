"""Row 80: what a topic may be called."""

from __future__ import annotations

import pytest

from riverlog.cluster.names import collision_key, illegality, may_collide


@pytest.mark.parametrize("name", ["a", "A-z_0.9", "...", "x" * 249, "__consumer_offsets", "-", "_"])
def test_a_legal_name_has_no_fault(name: str) -> None:
    assert illegality(name) is None


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "empty"),
        (".", "cannot be '.'"),
        ("..", r"cannot be '\.\.'"),
        ("x" * 250, "250 characters, more than 249"),
        ("a b", "other characters"),
        ("a/b", "other characters"),
        ("ä", "other characters"),
        ("a\n", "other characters"),
        ("a\0", "other characters"),
    ],
)
def test_an_illegal_name_is_told_its_fault(name: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        raise ValueError(illegality(name))


def test_names_that_differ_in_dot_against_underscore_share_a_key() -> None:
    keys = {collision_key(name) for name in ("a.b", "a_b")}

    assert len(keys) == 1
    assert collision_key("a-b") not in keys
    assert [may_collide(name) for name in ("a.b", "a_b", "a-b")] == [True, True, False]
