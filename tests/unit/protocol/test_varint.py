import pytest

from riverlog.errors import LocalProtocolError, RemoteProtocolError
from riverlog.protocol.varint import (
    TAGGED_FIELDS_MAX,
    UVARINT,
    UVARINT_MAX,
    encode_uvarint,
    find_tagged_fields,
    read_uvarint,
    skip_tagged_fields,
)

ENCODED = {
    0: b"\0",
    1: b"\x01",
    127: b"\x7f",
    128: b"\x80\x01",
    300: b"\xac\x02",
    16_383: b"\xff\x7f",
    16_384: b"\x80\x80\x01",
    2_097_151: b"\xff\xff\x7f",
    2_097_152: b"\x80\x80\x80\x01",
    UVARINT_MAX: b"\xff\xff\xff\xff\x07",
}

TWO_TAGS = b"\x03\x02ab" + b"\x80\x01\x00"  # tag 3 with two bytes, tag 128 with none


@pytest.mark.parametrize(("value", "encoded"), ENCODED.items())
def test_a_value_is_encoded_in_as_few_bytes_as_it_needs(value: int, encoded: bytes) -> None:
    assert encode_uvarint(value) == encoded
    assert UVARINT[value] == encoded


@pytest.mark.parametrize(("value", "encoded"), ENCODED.items())
def test_reading_gives_the_value_and_the_position_after_it(value: int, encoded: bytes) -> None:
    assert read_uvarint(b"\xff" + encoded + b"\xff", 1) == (value, 1 + len(encoded))


def test_more_bytes_than_needed_are_read_too() -> None:
    assert read_uvarint(b"\x81\x80\x00", 0) == (1, 3)


@pytest.mark.parametrize("encoded", [b"\xff\xff\xff\xff\x08", b"\xff\xff\xff\xff\x7f"])
def test_a_value_beyond_31_bits_is_refused(encoded: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        read_uvarint(encoded, 0)


def test_a_sixth_byte_is_refused() -> None:
    with pytest.raises(RemoteProtocolError):
        read_uvarint(b"\x80\x80\x80\x80\x80\x00", 0)


@pytest.mark.parametrize("value", [-1, UVARINT_MAX + 1])
def test_a_value_that_does_not_fit_is_not_written(value: int) -> None:
    with pytest.raises(LocalProtocolError):
        encode_uvarint(value)


def test_tagged_fields_are_found_where_they_lie() -> None:
    found, position = find_tagged_fields(2, b"__" + TWO_TAGS + b"_", 2, 9)

    assert found == [(3, 4, 6), (128, 9, 9)]
    assert position == 9


def test_unknown_tagged_fields_are_skipped() -> None:
    assert skip_tagged_fields(2, TWO_TAGS, 0, len(TWO_TAGS)) == len(TWO_TAGS)


def test_a_tagged_field_that_reaches_past_the_end_is_refused() -> None:
    with pytest.raises(RemoteProtocolError, match="tagged field 3"):
        skip_tagged_fields(1, b"\x03\x09ab" + b"beyond the end", 0, 4)


def test_more_tagged_fields_than_bytes_are_refused_before_any_is_looked_at() -> None:
    with pytest.raises(RemoteProtocolError, match="268435455"):
        skip_tagged_fields(0xFF, b"\xff\xff\x7f" + b"\0" * 10, 0, 13)


def test_more_tagged_fields_than_anybody_has_are_refused() -> None:
    accepted, too_many = b"\x05\0" * TAGGED_FIELDS_MAX, b"\x05\0" * (TAGGED_FIELDS_MAX + 1)

    assert skip_tagged_fields(TAGGED_FIELDS_MAX, accepted, 0, len(accepted)) == len(accepted)
    with pytest.raises(RemoteProtocolError, match="101 tagged fields"):
        skip_tagged_fields(TAGGED_FIELDS_MAX + 1, too_many, 0, len(too_many))
