import socket

import pytest

from bench.connection import ResponseShape, pump
from bench.errors import Refused, Unanswered

REQUEST = b"question"
GOOD = b"size" + b"\0\0" + b"tail"
BAD = b"size" + b"\0\1" + b"tail"
SHAPE = ResponseShape(response_size=len(GOOD), error_position=4)
IN_FLIGHT = 4
PIECES = [1, 3, len(GOOD), 2 * len(GOOD) + 1, IN_FLIGHT * len(GOOD)]


class Lane:
    """A connection whose answers are there already, to be received in pieces of a given size."""

    def __init__(self, answers: bytes, piece_size: int) -> None:
        # packets keep their bounds: one receive takes one piece
        self.ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for start in range(0, len(answers), piece_size):
            self.theirs.send(answers[start : start + piece_size])

    def asked(self) -> int:
        """Return how many requests came."""
        return len(self.received()) // len(REQUEST)

    def received(self) -> bytes:
        """Return what came."""
        self.theirs.setblocking(False)
        received = b""
        try:
            while data := self.theirs.recv(1 << 16):
                received += data
        except BlockingIOError:
            pass  # that was the last
        return received

    def __enter__(self) -> "Lane":
        return self

    def __exit__(self, *_: object) -> None:
        self.ours.close()
        self.theirs.close()


@pytest.mark.parametrize("piece_size", PIECES)
def test_a_pump_counts_every_answer_however_they_are_cut(piece_size: int) -> None:
    with Lane(GOOD * 15, piece_size) as lane:
        answered = pump([lane.ours], [REQUEST], SHAPE, IN_FLIGHT, count_max=15, seconds=30)

        assert answered == 15
        assert lane.asked() == 15


def test_a_pump_serves_several_connections() -> None:
    with Lane(GOOD * 15, len(GOOD)) as one, Lane(GOOD * 15, len(GOOD)) as other:
        answered = pump([one.ours, other.ours], [REQUEST], SHAPE, IN_FLIGHT, count_max=20, seconds=30)

        assert answered == 20
        asked = [one.asked(), other.asked()]
        assert min(asked) >= IN_FLIGHT
        assert sum(asked) == 20


def test_a_pump_goes_round_its_requests_each_connection_from_its_own_place() -> None:
    requests = [b"request %d" % index for index in range(6)]
    received = []
    for count in (1, 2):
        with Lane(GOOD * 8, len(GOOD)) as one, Lane(GOOD * 8, len(GOOD)) as other:
            lanes = [one, other][:count]
            pump([lane.ours for lane in lanes], requests, SHAPE, IN_FLIGHT, count_max=8 * count, seconds=30)
            received.append([lane.received() for lane in lanes])

    assert received[0] == [b"".join(requests + requests[:2])]
    first, second = received[1]
    assert first.startswith(b"request 0request 1")
    assert second.startswith(b"request 3request 4request 5request 0")


@pytest.mark.parametrize("piece_size", PIECES)
@pytest.mark.parametrize("position", [0, 7, 14])
def test_a_pump_stops_at_an_error_code_in_any_answer(piece_size: int, position: int) -> None:
    with Lane(GOOD * position + BAD + GOOD * (14 - position), piece_size) as lane:
        with pytest.raises(Refused, match="error code"):
            pump([lane.ours], [REQUEST], SHAPE, IN_FLIGHT, count_max=15, seconds=30)

        assert lane.asked() <= position + IN_FLIGHT


def test_a_pump_whose_time_is_up_collects_what_is_still_due() -> None:
    with Lane(GOOD * 15, len(GOOD)) as lane:
        answered = pump([lane.ours], [REQUEST], SHAPE, IN_FLIGHT, count_max=15, seconds=0)

        assert answered == IN_FLIGHT
        assert lane.asked() == IN_FLIGHT


def test_a_pump_notices_a_closed_connection() -> None:
    with Lane(GOOD, len(GOOD)) as lane:
        lane.theirs.shutdown(socket.SHUT_WR)

        with pytest.raises(Unanswered, match="closed"):
            pump([lane.ours], [REQUEST], SHAPE, IN_FLIGHT, count_max=15, seconds=30)
