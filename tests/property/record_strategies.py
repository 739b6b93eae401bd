"""What property tests draw: records, batches, and batches that something has damaged."""

from __future__ import annotations

from hypothesis import strategies as st

from riverlog.protocol.compression import Compression
from riverlog.protocol.records import Record, build_batch

INT16 = st.integers(-(2**15), 2**15 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
BYTES = st.binary(max_size=200) | st.sampled_from([bytes(63), bytes(64), bytes(8191), bytes(8192)])
HEADERS = st.lists(st.tuples(st.text(max_size=20), st.none() | BYTES), max_size=4).map(tuple)
CODECS = st.sampled_from(Compression)


def timestamps(lowest: int = -1, highest: int = 2**42) -> st.SearchStrategy[int]:
    """Times between 1970 and 2109 unless asked for others; -1 is no time."""
    return st.integers(lowest, highest)


def records(
    times: st.SearchStrategy[int] | None = None, max_size: int = 20
) -> st.SearchStrategy[list[Record]]:
    """Lists of at least one record with offsets from 0."""
    fields = st.tuples(
        timestamps() if times is None else times, st.none() | BYTES, st.none() | BYTES, HEADERS
    )
    return st.lists(fields, min_size=1, max_size=max_size).map(
        lambda drawn: [Record(offset, *rest) for offset, rest in enumerate(drawn)]
    )


@st.composite
def batches(draw: st.DrawFn) -> bytearray:
    """Valid batches of every codec."""
    return build_batch(draw(records(max_size=5)), compression=draw(CODECS))


@st.composite
def damaged(draw: st.DrawFn, originals: st.SearchStrategy[bytearray]) -> bytearray:
    """What is left of something valid after a few bytes changed, went, came or moved."""
    data = draw(originals)
    for _ in range(draw(st.integers(1, 4))):
        position = draw(st.integers(0, len(data)))
        how = draw(st.sampled_from(["overwrite", "insert", "delete", "cut", "repeat"]))
        if how == "overwrite":
            new = draw(st.binary(min_size=1, max_size=8))
            data[position : position + len(new)] = new
        elif how == "insert":
            data[position:position] = draw(st.binary(min_size=1, max_size=8))
        elif how == "delete":
            del data[position : position + draw(st.integers(1, 8))]
        elif how == "cut":
            del data[position:]
        else:
            data[position:position] = data[position : position + draw(st.integers(1, 200))]
    return data
