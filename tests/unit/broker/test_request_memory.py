"""Buffers for frames in pieces: bounded, reused, never handed to two connections."""

from __future__ import annotations

from riverlog.broker.request_memory import POOLED_BYTES_MAX, SMALLEST_POOLED, RequestMemory


def test_memory_past_the_limit_is_refused_until_some_comes_back() -> None:
    memory = RequestMemory(limit_bytes=100_000)
    first = memory.take(60_000)
    assert first is not None

    refused = memory.take(60_000)
    memory.give_back(first)
    granted = memory.take(60_000)

    assert refused is None
    assert granted is not None


def test_a_single_frame_over_the_limit_is_let_in_alone() -> None:
    memory = RequestMemory(limit_bytes=100_000)

    alone = memory.take(500_000)
    second = memory.take(10)

    assert alone is not None
    assert len(alone) >= 500_000
    assert second is None


def test_minus_one_means_no_limit() -> None:
    memory = RequestMemory(limit_bytes=-1)

    buffers = [memory.take(SMALLEST_POOLED) for _ in range(100)]

    assert all(buffer is not None for buffer in buffers)


def test_a_finished_frame_serves_the_next_of_its_size() -> None:
    memory = RequestMemory(limit_bytes=-1)
    first = memory.take(1_000_000)
    assert first is not None

    memory.give_back(first)
    second = memory.take(900_000)

    assert second is first


def test_buffers_in_use_are_never_shared() -> None:
    memory = RequestMemory(limit_bytes=-1)

    first, second = memory.take(100_000), memory.take(100_000)

    assert first is not second


def test_the_pool_keeps_a_bounded_amount() -> None:
    memory = RequestMemory(limit_bytes=-1)
    size = 1 << 20
    taken = [memory.take(size) for _ in range(2 * POOLED_BYTES_MAX // size)]

    for buffer in taken:
        assert buffer is not None
        memory.give_back(buffer)

    assert memory._pooled_bytes == POOLED_BYTES_MAX
    assert memory.taken_bytes == 0


def test_whoever_waited_longest_is_told_first() -> None:
    memory = RequestMemory(limit_bytes=1000)
    taken = memory.take(1000)
    assert taken is not None
    told: list[str] = []
    memory.when_free(lambda: told.append("first"))
    memory.when_free(lambda: told.append("second"))

    memory.give_back(taken)

    assert told == ["first"]
