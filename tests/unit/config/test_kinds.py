"""Text to value and back, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from riverlog.config.kinds import (
    DOUBLE_MAX,
    INT_MAX,
    LONG_MAX,
    SHORT_MAX,
    AnyCaseChoice,
    Boolean,
    Choice,
    ConfigType,
    Decimal,
    HostLimits,
    Integer,
    Kind,
    Maybe,
    ReplicaList,
    Text,
    TextList,
    TextSet,
    byte_count,
    milliseconds,
    split_list,
)
from tests.unit.config.texts import is_accepted


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (Boolean(), " TRUE ", True),
        (Boolean(), "false", False),
        (Integer(), " 42 ", 42),
        (Integer(), "+7", 7),
        (Integer(), "-2147483648", -(2**31)),
        (Integer(lowest=1, also=(-1,)), "-1", -1),
        (Decimal(highest=1), "1e-1", 0.1),
        (Decimal(highest=1), ".5", 0.5),
        (Decimal(), "1.7976931348623157E308", DOUBLE_MAX),
        (Text(), "  a b ", "a b"),
        (Choice("zstd", "lz4"), " lz4", "lz4"),
        (AnyCaseChoice("upgrade"), "UPGRADE", "upgrade"),
        (TextList(), " b , a ,, b", ("b", "a")),
        (TextList(), "", ()),
        (TextSet("compact", "delete"), "delete,compact", frozenset({"compact", "delete"})),
        (TextSet("compact", "delete"), "", frozenset()),
        (ReplicaList(), "*", ("*",)),
        (ReplicaList(), "0:1, 1:2", ("0:1", "1:2")),
        (HostLimits(), "10.0.0.1:5, [::1]:6,name:7", (("10.0.0.1", 5), ("::1", 6), ("name", 7))),
        (Maybe(Integer()), "5", 5),
        (Maybe(Integer()), " ", None),
    ],
)
def test_accepted_text_becomes_a_value(kind: Kind[Any], text: str, value: object) -> None:
    assert kind.parse(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Boolean(), "yes"),
        (Boolean(), ""),
        (Integer(), "1_000"),
        (Integer(), "1.0"),
        (Integer(), ""),
        (Integer(), "٣"),  # a digit in another script
        (Integer(), "2147483648"),
        (Integer(ConfigType.SHORT), "32768"),
        (Integer(ConfigType.LONG), "9223372036854775808"),
        (Integer(), "9" * 5000),
        (Integer(lowest=1, also=(-1,)), "0"),
        (Integer(lowest=-2, highest=-2), "-1"),
        (Decimal(highest=1), "1.01"),
        (Decimal(), "nan"),
        (Decimal(), "inf"),
        (Decimal(), "1e999"),
        (Decimal(), "-0.1"),
        (Choice("gzip"), "GZIP"),
        (AnyCaseChoice("upgrade"), "sidegrade"),
        (TextList("classic", "consumer"), "classic,other"),
        (TextList(is_empty_accepted=False), " , "),
        (TextSet("compact", "delete"), "compact,none"),
        (ReplicaList(), "0:x"),
        (ReplicaList(), "*,0:1"),
        (HostLimits(), "10.0.0.1"),
        (HostLimits(), ":5"),
        (HostLimits(), "10.0.0.1:many"),
        (Maybe(Integer()), "x"),
    ],
)
def test_other_text_is_refused(kind: Kind[Any], text: str) -> None:
    assert not is_accepted(kind, text)


@pytest.mark.parametrize(
    ("kind", "accepted"),
    [
        (Boolean(), "true or false"),
        (Integer(lowest=1, highest=9, also=(-1,)), "a whole number from 1 to 9, or -1"),
        (Integer(lowest=-2, highest=-2), "only -2"),
        (Decimal(lowest=0, highest=1), "a number from 0 to 1"),
        (Decimal(), "a number of at least 0"),
        (Choice("fsync", "page-cache"), "one of fsync, page-cache"),
        (Choice("false"), "only false"),
        (TextList("a", "b"), "a list of a, b, separated by commas"),
        (TextList(is_empty_accepted=False), "a list of texts, separated by commas, not empty"),
        (TextSet("a", "b"), "a list of a, b, separated by commas"),
        (Maybe(Boolean()), "true or false, or nothing"),
    ],
)
def test_a_kind_says_what_it_accepts(kind: Kind[Any], accepted: str) -> None:
    assert kind.accepted == accepted


@pytest.mark.parametrize(
    ("kind", "text", "shown"),
    [
        (Boolean(), "TRUE", "true"),
        (Integer(), " +077 ", "77"),
        (Decimal(highest=1), "1e-1", "0.1"),
        (Decimal(highest=1), "1", "1.0"),
        (Decimal(), "1e7", "1.0E7"),
        (Decimal(), "12345678.5", "1.23456785E7"),
        (Decimal(), "0.00012", "1.2E-4"),
        (Decimal(), "1.7976931348623157e308", "1.7976931348623157E308"),
        (Decimal(), "0", "0.0"),
        (TextSet("compact", "delete"), " delete , compact, delete", "delete,compact"),
        (HostLimits(), "[::1]:6 , a:1", "[::1]:6,a:1"),
        (Maybe(Integer()), "", ""),
        (Maybe(TextList()), "b, a", "b,a"),
    ],
)
def test_text_is_shown_in_one_spelling(kind: Kind[Any], text: str, shown: str) -> None:
    assert kind.canonical(text) == shown


def test_a_value_that_is_not_set_has_no_text() -> None:
    assert Maybe(Integer()).format(None) is None


def test_a_set_is_written_in_a_fixed_order() -> None:
    assert TextSet("compact", "delete").format(frozenset({"delete", "compact"})) == "compact,delete"


def test_numbers_are_as_wide_as_their_type() -> None:
    widest = [Integer(width).highest for width in (ConfigType.SHORT, ConfigType.INT, ConfigType.LONG)]

    assert widest == [SHORT_MAX, INT_MAX, LONG_MAX]


def test_sizes_and_durations_know_their_unit() -> None:
    assert (byte_count().unit, milliseconds().unit) == ("bytes", "ms")
    assert Maybe(milliseconds()).unit == "ms"


def test_a_list_is_cut_at_its_commas_and_holds_nothing_twice() -> None:
    assert split_list(" a, b ,,a,c ") == ["a", "b", "c"]
