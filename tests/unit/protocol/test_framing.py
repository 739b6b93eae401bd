import pytest

from riverlog.errors import RemoteProtocolError
from riverlog.protocol.framing import Frame, FrameReader

HELLO = b"\0\0\0\x05hello"
EMPTY = b"\0\0\0\0"


def bodies(frames: list[Frame]) -> list[bytes]:
    return [bytes(buffer[start:end]) for buffer, start, end in frames]


def test_frames_come_in_the_order_of_the_stream() -> None:
    reader = FrameReader(size_max=10)

    frames = reader.feed(HELLO + EMPTY + b"\0\0\0\x02hi")

    assert bodies(frames) == [b"hello", b"", b"hi"]


def test_a_frame_within_one_piece_is_not_copied() -> None:
    reader = FrameReader(size_max=10)
    piece = HELLO + HELLO

    frames = reader.feed(piece)

    assert [frame.buffer is piece for frame in frames] == [True, True]


def test_a_frame_in_several_pieces_is_collected_in_a_buffer_that_can_be_changed() -> None:
    reader = FrameReader(size_max=10)

    started = reader.feed(HELLO[:6])
    finished = reader.feed(HELLO[6:])

    assert started == []
    assert bodies(finished) == [b"hello"]
    assert isinstance(finished[0].buffer, bytearray)


def test_a_piece_may_end_one_frame_and_begin_the_next() -> None:
    reader = FrameReader(size_max=10)
    stream = HELLO * 3

    first = reader.feed(stream[:12])
    rest = reader.feed(stream[12:])

    assert bodies(first) == [b"hello"]
    assert bodies(rest) == [b"hello", b"hello"]


def test_a_frame_that_was_handed_out_is_not_touched_by_later_pieces() -> None:
    reader = FrameReader(size_max=10)
    reader.feed(HELLO[:6])
    frame = reader.feed(HELLO[6:] + HELLO[:6])[0]

    reader.feed(b"XXX")

    assert bodies([frame]) == [b"hello"]


def test_a_frame_of_the_largest_size_is_let_in() -> None:
    reader = FrameReader(size_max=5)

    assert bodies(reader.feed(HELLO)) == [b"hello"]


@pytest.mark.parametrize("size", [6, 0x7FFFFFFF, -1, -(1 << 31)])
def test_a_size_outside_the_limits_is_refused_at_once(size: int) -> None:
    reader = FrameReader(size_max=5)

    with pytest.raises(RemoteProtocolError, match=str(size)):
        reader.feed(size.to_bytes(4, "big", signed=True))


def test_a_size_outside_the_limits_is_refused_also_when_it_arrives_in_pieces() -> None:
    reader = FrameReader(size_max=5)
    reader.feed(b"\x7f\xff")

    with pytest.raises(RemoteProtocolError):
        reader.feed(b"\xff\xff")


def test_a_large_size_claims_no_memory_before_the_bytes_arrive() -> None:
    reader = FrameReader(size_max=1 << 30)

    reader.feed((1 << 30).to_bytes(4, "big") + b"trickle")

    assert reader.buffered_bytes == 11


@pytest.mark.parametrize(
    ("fed", "missing"),
    [(b"", 0), (HELLO, 0), (HELLO[:1], 3), (HELLO[:4], 5), (HELLO[:8], 1), (HELLO + HELLO[:7], 2)],
)
def test_what_an_unfinished_frame_lacks_is_known(fed: bytes, missing: int) -> None:
    reader = FrameReader(size_max=10)

    reader.feed(fed)

    assert reader.missing_bytes == missing
