"""Subscriptions and assignments in the bytes of the classic protocol."""

from __future__ import annotations

import pytest

from riverlog.errors import RemoteProtocolError
from riverlog.groups.consumer.embedded import (
    NEWEST_VERSION,
    ReadSubscription,
    read_assignment,
    read_subscription,
    version_of,
    write_assignment,
)

from .world import subscription


def test_a_subscription_is_read() -> None:
    assert read_subscription(subscription("tu", {"t": [1, 0]})) == ReadSubscription(
        frozenset("tu"), {"t": frozenset({0, 1})}, None
    )


def test_version_0_owns_nothing() -> None:
    read = read_subscription(bytes.fromhex("0000 00000001 0001 74 ffffffff"))

    assert read == ReadSubscription(frozenset("t"), {}, None)


def test_a_newer_version_is_read_as_the_newest_that_is_known() -> None:
    data = b"\0\x09" + subscription("t")[2:] + b"more"

    assert version_of(data) == NEWEST_VERSION
    assert read_subscription(data).topics == {"t"}


@pytest.mark.parametrize("version", range(NEWEST_VERSION + 1))
def test_an_assignment_is_read_as_it_was_written(version: int) -> None:
    data = write_assignment(version, {"t": {3, 1}, "u": {0}})

    assert data[:2] == version.to_bytes(2)
    assert read_assignment(data) == ({"t": frozenset({1, 3}), "u": frozenset({0})}, b"")


def test_no_assignment_is_an_empty_one() -> None:
    assert read_assignment(b"") == ({}, b"")


@pytest.mark.parametrize("data", [b"", b"\0", b"\xff\xff", b"\0\0\0\0\0\1"])
def test_what_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        read_subscription(data)
