"""Java's properties files, after the description of java.util.Properties."""

from __future__ import annotations

import pytest

from riverlog.config.properties import Property, read_properties


def read(text: str) -> dict[str, str]:
    return {key: value for key, value, _ in read_properties(text)}


@pytest.mark.parametrize(
    "line",
    ["key=value", "key:value", "key value", "key = value", "  key\t:\tvalue", "key\fvalue", "key= value"],
)
def test_a_key_ends_at_the_first_separator(line: str) -> None:
    assert read(line) == {"key": "value"}


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("", {}),
        ("\n  \n\t\n", {}),
        ("# comment\n! comment\n  # indented", {}),
        ("a=1\r\nb=2\rc=3\n", {"a": "1", "b": "2", "c": "3"}),
        ("a=1 # not a comment ", {"a": "1 # not a comment "}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("=b", {"": "b"}),
        ("a==b", {"a": "=b"}),
        ("a = = b", {"a": "= b"}),
        ("a:b=c", {"a": "b=c"}),
        ("a=1\na=2", {"a": "2"}),
        ("listeners=PLAINTEXT://h:1,\\\n   SSL://h:2", {"listeners": "PLAINTEXT://h:1,SSL://h:2"}),
        ("a=1\\\n\\\n2", {"a": "12"}),
        ("a=1\\\n# no comment", {"a": "1# no comment"}),
        ("# comment \\\na=1", {"a": "1"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\\", {"a": "1"}),
        ("\\\n  a=1", {"a": "1"}),
        (r"a\=b=c", {"a=b": "c"}),
        (r"a\ b\:c d", {"a b:c": "d"}),
        (r"a=\t\n\r\f\\", {"a": "\t\n\r\f\\"}),
        (r"a=C:\data", {"a": "C:data"}),
        (r"a=\u00e9\u20AC", {"a": "é€"}),
        (r"a=\ b ", {"a": " b "}),
    ],
)
def test_files_are_read_as_java_reads_them(text: str, properties: dict[str, str]) -> None:
    assert read(text) == properties


def test_a_property_knows_the_line_it_starts_on() -> None:
    text = "# first\n\na=1\\\n2\nb=3"

    assert read_properties(text) == [Property("a", "12", 3), Property("b", "3", 5)]


def test_a_broken_unicode_escape_is_refused_with_its_line() -> None:
    with pytest.raises(ValueError, match=r"line 2: \\u must be followed by four"):
        read_properties("a=1\nb=\\u12g4")
