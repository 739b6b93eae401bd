"""Decoding by the column says what the protocol's own reader says, for any bytes."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from riverlog.errors import RemoteProtocolError
from riverlog.protocol.batches import LENGTH_PREFIX_BYTES, read_header
from riverlog.protocol.compression import Compression
from riverlog.protocol.records import Record, build_batch
from tests.batch_builders import with_header, with_record_bytes
from tests.columns import as_records, by_the_record, decoded, decoded_unchecked

from .record_strategies import CODECS, INT64, batches, damaged, records

BY_PROFILE = settings(deadline=None, print_blob=True)


@pytest.fixture(scope="module")
def without_numba() -> ModuleType:
    """The module `batches` as it is where numba does not install."""
    package = importlib.import_module("riverlog.columnar")
    names = ["compiling", "kernels", "arrays", "batches"]
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.delitem(sys.modules, f"riverlog.columnar.{name}")
            patch.delattr(package, name)
        patch.setitem(sys.modules, "numba", None)  # how Python notes that there is none
        plain = importlib.import_module("riverlog.columnar.batches")
    assert plain is not importlib.import_module("riverlog.columnar.batches")
    return plain


def outcome(read: Any) -> Any:
    """What a reader gives, or that it refuses."""
    try:
        return read()
    except RemoteProtocolError:
        return "refused"


def claims_to_end(data: bytearray) -> bytearray:
    """Let a damaged batch claim the bytes that there are: otherwise few damages reach the records."""
    if len(data) < 61:
        return data
    return with_header(data, batch_length=len(data) - LENGTH_PREFIX_BYTES, magic=2)


@BY_PROFILE
@given(st.lists(st.tuples(records(), CODECS), min_size=1, max_size=4))
def test_valid_batches_are_read_alike(drawn: list[tuple[list[Record], Compression]]) -> None:
    data = bytearray()
    expected: list[Record] = []
    for each, codec in drawn:
        batch = build_batch(each, base_offset=len(expected), compression=codec)
        expected += by_the_record(batch)
        data += batch

    assert as_records(decoded(data)) == expected


@BY_PROFILE
@given(records(), st.data())
def test_a_range_of_offsets_is_cut_out(drawn: list[Record], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(drawn)))
    end = data.draw(st.integers(first, len(drawn) + 1))

    assert as_records(decoded(build_batch(drawn), first, end)) == by_the_record(build_batch(drawn))[first:end]


@BY_PROFILE
@given(damaged(batches()), st.booleans())
def test_damaged_batches_are_read_alike_or_refused_alike(data: bytearray, is_repaired: bool) -> None:
    if is_repaired:
        data = claims_to_end(data)
    if len(data) < 61:
        return

    assert outcome(lambda: as_records(decoded_unchecked(data))) == outcome(lambda: by_the_record(data))


@BY_PROFILE
@given(st.binary(max_size=300), st.integers(-2, 40), st.integers(-2, 40), INT64)
@example(b"\x0e\x00\x00\x00\x00\x00\x00" + b"\x0e\x00\x00\x00\x00\x00\x00\x00", 1, 0, 0)
@example(b"\x10\x00\x80\x80\x00\x00\x00\x00\x00", 1, 0, 0)
@example(b"\x20\x00" + b"\xff" * 9 + b"\x01" + b"\x00\x01\x01\x00", 1, 0, -1)
@example(b"\x20\x00" + b"\xfe" + b"\xff" * 8 + b"\x01" + b"\x00\x01\x01\x00", 1, 0, 2**62)
@example(b"\x22\x00" + b"\x80" * 11 + b"\x00\x01\x01\x00", 1, 0, 5)
def test_any_bytes_as_records_are_read_alike_or_refused_alike(
    block: bytes, count: int, last_offset_delta: int, base_timestamp: int
) -> None:
    data = with_header(
        with_record_bytes(build_batch([Record(0, 0, None, None)]), block),
        record_count=count,
        last_offset_delta=last_offset_delta,
        base_timestamp=base_timestamp,
    )

    assert outcome(lambda: as_records(decoded_unchecked(data))) == outcome(lambda: by_the_record(data))


@BY_PROFILE
@given(damaged(batches()) | batches())
def test_without_numba_the_same_is_read(without_numba: ModuleType, data: bytearray) -> None:
    data = claims_to_end(data)
    if len(data) < 61:
        return

    plain = outcome(lambda: as_records(decoded_unchecked(data, without_numba.Collector)))

    assert plain == outcome(lambda: by_the_record(data))


@BY_PROFILE
@given(st.binary(max_size=40))
def test_nothing_behind_a_block_is_read(behind: bytes) -> None:
    """A record that reaches out of its block is refused although bytes follow that would complete it."""
    batch = build_batch([Record(0, 0, b"key", b"value")])
    short = with_header(batch[:-3], batch_length=len(batch) - 3 - LENGTH_PREFIX_BYTES)

    assert outcome(lambda: decoded_unchecked(short + behind)) == "refused"
    assert read_header(short).size == len(short)
