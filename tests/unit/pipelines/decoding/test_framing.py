"""Schema ids before values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverlog.pipelines.decoding.framing import BadValue, Framed, unframed


def test_a_frame_tells_the_schema_and_the_rest_is_payload() -> None:
    assert unframed(b"\0\0\0\1\7abc") == Framed(263, b"abc")
    assert unframed(b"\0\0\0\0\1") == Framed(1, b"")


@pytest.mark.parametrize(
    ("indexes", "expected"), [(b"\0", (0,)), (b"\2\2", (1,)), (b"\4\0\4", (0, 2)), (b"\2\x80\2", (128,))]
)
def test_message_indexes_are_read_where_they_are_expected(indexes: bytes, expected: tuple[int, ...]) -> None:
    assert unframed(b"\0\0\0\0\1" + indexes + b"abc", has_indexes=True) == Framed(1, b"abc", expected)


@pytest.mark.parametrize("value", [b"", b"\0\0\0\1", b"\1\0\0\0\1abc", b"{}"])
def test_what_has_no_frame_is_bad(value: bytes) -> None:
    with pytest.raises(BadValue, match="schema id"):
        unframed(value)


@pytest.mark.parametrize("indexes", [b"", b"\2", b"\x01", b"\xff\xff\xff\xff\xff\xff", b"\x80\x01"])
def test_message_indexes_that_make_no_sense_are_bad(indexes: bytes) -> None:
    with pytest.raises(BadValue):
        unframed(b"\0\0\0\0\1" + indexes, has_indexes=True)


@given(st.binary(max_size=40), st.booleans())
def test_any_bytes_are_a_value_or_bad(value: bytes, has_indexes: bool) -> None:
    try:
        framed = unframed(value, has_indexes=has_indexes)
    except BadValue:
        return
    assert value.endswith(framed.payload)
