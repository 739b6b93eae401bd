import pytest

from riverlog.errors import RemoteProtocolError
from riverlog.protocol.text import (
    compact_text_field,
    read_compact_nullable_text,
    read_compact_text,
    read_nullable_text,
    read_text,
    text_field,
)

LONG = "ä" * 100  # two bytes each

LEGACY = {"": b"\0\0", "hé": b"\0\x03h\xc3\xa9", LONG: b"\0\xc8" + b"\xc3\xa4" * 100}
COMPACT = {"": b"\x01", "hé": b"\x04h\xc3\xa9", LONG: b"\xc9\x01" + b"\xc3\xa4" * 100}


@pytest.mark.parametrize(("text", "field"), LEGACY.items())
def test_legacy_text_stands_behind_a_length_of_two_bytes(text: str, field: bytes) -> None:
    assert text_field(text) == field
    assert read_text(b"_" + field + b"_", 1, "path") == (text, 1 + len(field))
    assert read_nullable_text(field, 0, "path") == (text, len(field))


@pytest.mark.parametrize(("text", "field"), COMPACT.items())
def test_compact_text_stands_behind_its_length_plus_one(text: str, field: bytes) -> None:
    assert compact_text_field(text) == field
    assert read_compact_text(b"_" + field + b"_", 1, "path") == (text, 1 + len(field))
    assert read_compact_nullable_text(field, 0) == (text, len(field))


def test_null_has_a_length_of_its_own() -> None:
    assert text_field(None) == b"\xff\xff"
    assert compact_text_field(None) == b"\0"
    assert read_nullable_text(b"\xff\xff", 0, "path") == (None, 2)
    assert read_compact_nullable_text(b"\0", 0) == (None, 1)


def test_null_is_refused_by_name_where_it_is_not_allowed() -> None:
    with pytest.raises(RemoteProtocolError, match=r"Request\.name is null"):
        read_text(b"\xff\xff", 0, "Request.name")
    with pytest.raises(RemoteProtocolError, match=r"Request\.name is null"):
        read_compact_text(b"\0", 0, "Request.name")


def test_a_negative_length_is_refused_even_where_null_is_allowed() -> None:
    with pytest.raises(RemoteProtocolError, match="-2"):
        read_nullable_text(b"\xff\xfe", 0, "path")
