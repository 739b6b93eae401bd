"""Values to a column of records: what is decoded, and why what is bad is bad. Pure.

    [b"..", b"??", None]  ──decode each──▶  record: [{page: "/"}, null, null]  reason: [null, "it ..", null]

A decoder gives plain dictionaries; Arrow makes columns of a whole batch of them. If one of them does not fit
its column (a time beyond what the type holds, say), each is tried alone to find out which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import pyarrow as pa

from riverlog.pipelines.decoding.framing import BadValue

RECORD, REASON = "record", "reason"


class Decoder(Protocol):
    """Decodes values of one kind."""

    @property
    def raw(self) -> pa.DataType:
        """The type that dictionaries are read as."""

    @property
    def kind(self) -> pa.DataType:
        """The type of the column: `raw`, with the units that Spark knows."""

    def decode(self, value: bytes) -> dict[str, Any]:
        """Decode one value. Raises BadValue."""


def decoded(values: Sequence[bytes | None], decoder: Decoder) -> pa.StructArray:
    """Decode a batch of values to structs of a record and a reason; a null value has neither."""
    records: list[dict[str, Any] | None] = []
    reasons: list[str | None] = []
    for value in values:
        record = reason = None
        if value is not None:
            try:
                record = decoder.decode(value)
            except BadValue as error:
                reason = str(error)
        records.append(record)
        reasons.append(reason)
    try:
        column = _column(records, decoder)
    except _UNFIT:
        for number, record in enumerate(records):
            try:
                _column([record], decoder)
            except _UNFIT as error:
                records[number], reasons[number] = None, f"it does not fit its columns: {error}"
        column = _column(records, decoder)
    return pa.StructArray.from_arrays([column, pa.array(reasons, pa.string())], names=[RECORD, REASON])


_UNFIT = (pa.ArrowException, OverflowError, ValueError, TypeError)


def _column(records: list[dict[str, Any] | None], decoder: Decoder) -> pa.Array:
    column = pa.array(records, decoder.raw)
    return column if decoder.raw == decoder.kind else column.cast(decoder.kind)


def arrow_function(decoder_of: Callable[[], Decoder]) -> Callable[[Any], Any]:
    """Make the function that Spark calls with columns of values; the decoder is made once in each task."""
    made: list[Decoder] = []

    def decode_batch(values: Any) -> Any:
        if not made:
            made.append(decoder_of())
        return decoded(values.to_pylist(), made[0])

    # Spark tells by these what kind of function it is.
    decode_batch.__annotations__ = {"values": pa.Array, "return": pa.Array}
    return decode_batch
