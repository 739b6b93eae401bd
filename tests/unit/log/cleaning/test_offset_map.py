import random

import numpy as np
import pytest

from riverlog.log.cleaning.key_hashes import Words
from riverlog.log.cleaning.offset_map import KEY_BYTES, OffsetMap

MANY = 10**9


def hashed(keys: list[int]) -> tuple[Words, Words]:
    """Hashes of numbered keys: well spread, and a function of the key alone."""
    chance = [random.Random(key).randbytes(16) for key in keys]
    both = np.frombuffer(b"".join(chance), np.uint64).reshape(-1, 2)
    return both[:, 0].copy(), both[:, 1].copy()


def put(offset_map: OffsetMap, keys: list[int], first_offset: int) -> None:
    offset_map.put(*hashed(keys), np.arange(first_offset, first_offset + len(keys)))


def get(offset_map: OffsetMap, keys: list[int]) -> list[int]:
    found: list[int] = offset_map.get(*hashed(keys)).tolist()
    return found


def test_it_is_a_dictionary_of_the_latest_offsets() -> None:
    chance = random.Random(4)
    offset_map, model = OffsetMap(1000 * KEY_BYTES, 0.9, MANY), dict[int, int]()
    for step in range(20):
        keys = [chance.randrange(600) for _ in range(chance.randrange(1, 200))]
        put(offset_map, keys, step * 1000)
        model.update({key: step * 1000 + number for number, key in enumerate(keys)})

    assert len(offset_map) == len(model)
    assert get(offset_map, list(range(1000))) == [model.get(key, -1) for key in range(1000)]
    assert offset_map.offsets().tolist() == sorted(model.values())


def test_it_works_when_as_full_as_it_may_become() -> None:
    offset_map = OffsetMap(50 * KEY_BYTES, 1.0, MANY)
    count = 0
    while offset_map.room:
        put(offset_map, [count], count)
        count += 1

    assert count == len(offset_map) == 46  # 47 slots: a prime, and one stays free
    assert get(offset_map, list(range(60))) == [*range(46)] + [-1] * 14


def test_keys_that_are_there_take_no_room() -> None:
    offset_map = OffsetMap(50 * KEY_BYTES, 0.5, MANY)
    put(offset_map, [1, 2, 3, 1, 1], 0)
    room = offset_map.room

    put(offset_map, [1, 2, 3], 10)

    assert offset_map.room == room == 23 - 3


def test_hashes_that_share_a_half_are_told_apart() -> None:
    offset_map = OffsetMap(100 * KEY_BYTES, 0.9, MANY)
    high = np.array([1, 1, 2, 2, 0], np.uint64) << np.uint64(40)
    low = np.array([7, 8, 7, 8, 0], np.uint64)

    offset_map.put(high, low, np.arange(5))

    assert offset_map.get(high, low).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("memory", [1, 100, 5000, 123_456])
def test_it_takes_no_more_memory_than_it_was_given(memory: int) -> None:
    offset_map = OffsetMap(memory, 0.9, MANY)
    while offset_map.room:
        put(offset_map, list(range(len(offset_map), len(offset_map) + offset_map.room)), len(offset_map))

    # Less than two slots make no map.
    assert offset_map.memory_bytes + offset_map.offsets().nbytes <= max(memory, 2 * KEY_BYTES)


def test_few_offsets_need_little_memory() -> None:
    assert OffsetMap(1 << 30, 0.9, 1000).memory_bytes < 40_000
    assert OffsetMap(1 << 30, 0.9, 1000).room >= 1000
