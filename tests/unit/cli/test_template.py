"""Format strings."""

import argparse

import pytest

from riverlog.cli.template import compile_template
from riverlog.client.consume import ConsumedRecord

RECORD = ConsumedRecord("orders", 2, 17, 1000, False, b"k\xff", b"va", [("a", b"1"), ("b", None)])
EMPTY = ConsumedRecord("orders", 0, 0, -1, False, None, None, [])


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("%v\\n", b"va\n"),
        ("%k=%v", b"k\xff=va"),
        ("%t/%p@%o %T", b"orders/2@17 1000"),
        ("%K %V", b"2 2"),
        ("%s %S", b"va 2"),
        ("%h", b"a=1,b="),
        ("100%%\\t\\x00", b"100%\t\x00"),
        ("", b""),
        ("é", "é".encode()),
    ],
)
def test_letters_stand_for_parts_of_the_record(template: str, expected: bytes) -> None:
    assert compile_template(template)(RECORD) == expected


def test_null_has_length_minus_one_and_no_bytes() -> None:
    assert compile_template("[%k|%K|%v|%V|%h|%T]")(EMPTY) == b"[|-1||-1||-1]"


@pytest.mark.parametrize("template", ["%q", "%", "50% off"])
def test_an_unknown_letter_is_named_with_the_known_ones(template: str) -> None:
    with pytest.raises(ValueError, match=r"means nothing; known are %k %K"):
        compile_template(template)


def test_an_unknown_escape_is_refused() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="after a backslash"):
        compile_template("\\q")
