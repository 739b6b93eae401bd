"""Buffers for frames in pieces: bounded, reused, never handed to two connections."""

from __future__ import annotations

from riverlog.broker.request_memory import POOLED_BYTES_MAX, SMALLEST_POOLED, RequestMemory


def test_memory_past_the_limit_is_refused_until_some_comes_back() -> None:
    memory = RequestMemory(limit_bytes=200_000)
    first = memory.take(70_000)
    assert first is not None

    refused = memory.take(70_000)
    memory.give_back(first)
    granted = memory.take(70_000)

    assert refused is None
    assert granted is not None


def test_a_single_frame_over_the_limit_is_let_in_alone() -> None:
    memory = RequestMemory(limit_bytes=100_000)

    alone = memory.take(500_000)
    second = memory.take(SMALLEST_POOLED)

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


def test_small_frames_never_wait() -> None:
    memory = RequestMemory(limit_bytes=100_000)
    memory.take(500_000)

    small = memory.take(SMALLEST_POOLED - 1)

    assert small is not None


def test_all_who_wait_try_again_in_order_for_the_first_may_be_gone() -> None:
    memory = RequestMemory(limit_bytes=1000)
    taken = memory.take(100_000)
    assert taken is not None
    told: list[str] = []
    memory.when_free(lambda: told.append("first"))
    memory.when_free(lambda: told.append("second"))

    memory.give_back(taken)
    memory.give_back(memory.take(100_000) or bytearray())

    assert told == ["first", "second"]


def test_a_buffer_grows_with_its_content() -> None:
    memory = RequestMemory(limit_bytes=-1)
    buffer = memory.take(SMALLEST_POOLED)
    assert buffer is not None
    buffer[:5] = b"hello"

    grown = memory.grow(buffer, 3 * SMALLEST_POOLED)

    assert grown is not None
    assert grown[:6] == b"hello\0"
    assert len(grown) >= 3 * SMALLEST_POOLED
    assert memory.taken_bytes == len(grown)


def test_past_the_limit_only_the_oldest_buffer_grows() -> None:
    memory = RequestMemory(limit_bytes=2 * SMALLEST_POOLED)
    oldest, younger = memory.take(SMALLEST_POOLED), memory.take(SMALLEST_POOLED)
    assert oldest is not None
    assert younger is not None

    refused = memory.grow(younger, 2 * SMALLEST_POOLED)
    grown = memory.grow(oldest, 2 * SMALLEST_POOLED)
    assert grown is not None
    grown_again = memory.grow(grown, 4 * SMALLEST_POOLED)
    assert grown_again is not None
    memory.give_back(grown_again)
    granted = memory.grow(younger, 2 * SMALLEST_POOLED)

    assert refused is None
    assert granted is not None
