import socket
from collections.abc import Iterator

import pytest

from bench.crowd import Crowd
from bench.errors import Unanswered

SECONDS = 5.0


def framed(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content


@pytest.fixture
def ends() -> Iterator[tuple[Crowd, list[socket.socket]]]:
    pairs = [socket.socketpair() for _ in range(3)]
    with Crowd([ours for ours, _ in pairs]) as crowd:
        yield crowd, [theirs for _, theirs in pairs]
    for _, theirs in pairs:
        theirs.close()


def test_answers_come_with_the_member_that_asked(ends: tuple[Crowd, list[socket.socket]]) -> None:
    crowd, theirs = ends

    crowd.send(1, b"question")
    assert theirs[1].recv(100) == b"question"
    theirs[1].sendall(framed(b"answer"))
    theirs[2].sendall(framed(b""))

    assert sorted(crowd.answers(SECONDS)) == [(1, b"answer"), (2, b"")]


@pytest.mark.parametrize("piece_size", [1, 3, 4, 7])
def test_an_answer_is_given_once_it_is_complete(
    ends: tuple[Crowd, list[socket.socket]], piece_size: int
) -> None:
    crowd, theirs = ends
    frame = framed(b"a long answer")

    given = []
    for start in range(0, len(frame), piece_size):
        assert given == []
        theirs[0].sendall(frame[start : start + piece_size])
        given += crowd.answers(SECONDS)

    assert given == [(0, b"a long answer")]


def test_nobody_is_answered_when_the_time_is_up(ends: tuple[Crowd, list[socket.socket]]) -> None:
    crowd, _ = ends

    assert list(crowd.answers(0.0)) == []


def test_a_closed_connection_is_noticed(ends: tuple[Crowd, list[socket.socket]]) -> None:
    crowd, theirs = ends
    theirs[1].shutdown(socket.SHUT_WR)

    with pytest.raises(Unanswered, match="closed"):
        list(crowd.answers(SECONDS))


def test_paced_members_take_turns_and_all_are_answered(ends: tuple[Crowd, list[socket.socket]]) -> None:
    crowd, theirs = ends
    for end in theirs:
        end.sendall(framed(b"answer"))  # there already when it is asked for

    answers = list(crowd.paced([b"first", b"second", b"third"], rate=3e9, seconds=1e-9))

    assert answers == [b"answer"] * 3
    assert [end.recv(100) for end in theirs] == [b"first", b"second", b"third"]
