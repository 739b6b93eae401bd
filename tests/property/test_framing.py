"""Frames come out the same however the stream was cut into pieces."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from riverlog.protocol.framing import FrameReader

BODIES = st.lists(st.binary(max_size=40), max_size=12)


def fed(pieces: list[bytes]) -> list[bytes]:
    reader = FrameReader(size_max=100)
    return [bytes(buffer[start:end]) for piece in pieces for buffer, start, end in reader.feed(piece)]


def stream_of(bodies: list[bytes]) -> bytes:
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


@given(bodies=BODIES, unfinished=st.binary(max_size=3))
def test_feeding_byte_by_byte_gives_the_frames_of_feeding_the_whole(
    bodies: list[bytes], unfinished: bytes
) -> None:
    stream = stream_of(bodies) + unfinished

    whole = fed([stream])
    bytewise = fed([stream[i : i + 1] for i in range(len(stream))])

    assert whole == bytewise == bodies


@given(bodies=BODIES, cuts=st.lists(st.integers(0, 500)))
def test_the_pieces_in_which_a_stream_arrives_do_not_matter(bodies: list[bytes], cuts: list[int]) -> None:
    stream = stream_of(bodies)
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]

    pieces = [stream[start:end] for start, end in pairwise(places)]

    assert fed(pieces) == bodies


@given(bodies=BODIES, cut=st.integers(0, 500))
def test_the_bytes_missing_are_those_that_complete_the_next_frame_or_its_size(
    bodies: list[bytes], cut: int
) -> None:
    stream = stream_of(bodies)
    reader = FrameReader(size_max=100)
    complete = len(reader.feed(stream[:cut]))
    position = min(cut, len(stream))

    while missing := reader.missing_bytes:
        assert reader.buffered_bytes > 0
        complete += len(reader.feed(stream[position : position + missing]))
        position += missing

    assert stream_of(bodies[:complete]) == stream[:position]
