"""A record typed as one line."""

import pytest

from riverlog.cli.lines import LineRecord, LineShape


def test_a_plain_line_is_all_value() -> None:
    assert LineShape().read(b"a:b\tc") == LineRecord(None, b"a:b\tc", [])


def test_the_first_separator_ends_the_key() -> None:
    assert LineShape(key_separator=b":").read(b"k:v:w") == LineRecord(b"k", b"v:w", [])


def test_headers_come_first_and_end_with_a_tab() -> None:
    shape = LineShape(key_separator=b":", has_headers=True)

    assert shape.read(b"a=1,b==,a=\tk:v") == LineRecord(b"k", b"v", [("a", b"1"), ("b", b"="), ("a", b"")])


def test_headers_may_be_none_at_all() -> None:
    assert LineShape(has_headers=True).read(b"\tv") == LineRecord(None, b"v", [])


def test_an_empty_value_is_empty_unless_null_is_asked_for() -> None:
    assert LineShape(key_separator=b":").read(b"k:") == LineRecord(b"k", b"", [])
    assert LineShape(key_separator=b":", has_empty_as_null=True).read(b"k:") == LineRecord(b"k", None, [])
    assert LineShape(key_separator=b":", has_empty_as_null=True).read(b":v") == LineRecord(None, b"v", [])


def test_bytes_that_are_no_text_pass_unchanged() -> None:
    assert LineShape(key_separator=b"\xff").read(b"\xfe\xff\x00\x80") == LineRecord(b"\xfe", b"\x00\x80", [])


@pytest.mark.parametrize(
    ("shape", "line", "problem"),
    [
        (LineShape(key_separator=b"=>"), b"k=v", "no key separator '=>'"),
        (LineShape(has_headers=True), b"a=1", "no tab after the headers"),
        (LineShape(has_headers=True), b"a\tv", "header 'a' is not NAME=VALUE"),
        (LineShape(has_headers=True), b"=1\tv", "header '=1' is not NAME=VALUE"),
        (LineShape(has_headers=True), b"\xff=1\tv", "can't decode"),
    ],
)
def test_a_missing_part_is_refused_by_name(shape: LineShape, line: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        shape.read(line)
