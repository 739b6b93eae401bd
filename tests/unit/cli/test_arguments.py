"""Texts of options become values, or are refused with what is accepted."""

import argparse

import pytest

from riverlog.cli import arguments


@pytest.mark.parametrize(
    ("text", "pair"),
    [("a=b", ("a", "b")), ("a=", ("a", "")), ("a=b=c", ("a", "b=c")), ("a b= c", ("a b", " c"))],
)
def test_a_name_ends_at_the_first_equals_sign(text: str, pair: tuple[str, str]) -> None:
    assert arguments.name_value(text) == pair


@pytest.mark.parametrize("text", ["a", "=b", ""])
def test_a_name_without_value_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not NAME=VALUE"):
        arguments.name_value(text)


def test_numbers_keep_to_their_bounds() -> None:
    assert arguments.whole_number("0") == 0
    assert arguments.count("1") == 1
    assert arguments.positive_number("0.5") == 0.5
    for read, text in [
        (arguments.whole_number, "-1"),
        (arguments.whole_number, "٣"),
        (arguments.count, "0"),
        (arguments.count, "x"),
        (arguments.positive_number, "0"),
        (arguments.positive_number, "inf"),
        (arguments.positive_number, "nan"),
        (arguments.positive_number, "soon"),
    ]:
        with pytest.raises(argparse.ArgumentTypeError, match="is not a"):
            read(text)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        (":", b":"),
        ("\\t", b"\t"),
        ("a\\nb\\\\c", b"a\nb\\c"),
        ("\\x00\\xfFé", b"\x00\xff\xc3\xa9"),
        ("\udcff", b"\xff"),  # how Python hands over an argument that is not UTF-8
    ],
)
def test_escapes_become_bytes(text: str, data: bytes) -> None:
    assert arguments.unescape(text) == data


@pytest.mark.parametrize("text", ["\\", "\\q", "\\x", "\\x1", "\\xzz"])
def test_a_broken_escape_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="after a backslash come"):
        arguments.unescape(text)


def test_a_wrong_position_is_refused_with_the_accepted_forms() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a position: expected start"):
        arguments.position("yesterday")


def test_the_environment_names_the_cluster_where_no_option_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIVERLOG_BOOTSTRAP", "elsewhere:1")
    parser = argparse.ArgumentParser()
    arguments.add_connection(parser)

    by_environment = arguments.connection(parser.parse_args([]))
    by_option = arguments.connection(parser.parse_args(["-b", "here:2", "-X", "client.id=me"]))

    assert by_environment["servers"] == "elsewhere:1"
    assert by_option["servers"] == "here:2"
    assert by_option["properties"] == {"client.id": "me"}
