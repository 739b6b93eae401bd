import random

import numpy as np

from riverlog.log.cleaning.key_hashes import SEED_BYTES, SHORT_KEY_BYTES_MAX, KeyHasher

SEED = random.Random(1).randbytes(SEED_BYTES)


def hashes(keys: list[bytes], seed: bytes = SEED, gap: bytes = b"#") -> list[tuple[int, int]]:
    """Hash keys that lie in a row, with something between them."""
    data = gap + gap.join(keys) + bytes(8)
    starts, position = [], len(gap)
    for key in keys:
        starts.append(position)
        position += len(key) + len(gap)
    high, low = KeyHasher(seed).hash(
        np.frombuffer(data, np.uint8), np.array(starts, np.int64), np.array(list(map(len, keys)), np.int64)
    )
    return list(zip(high.tolist(), low.tolist(), strict=True))


def test_a_key_has_the_same_hash_wherever_it_lies_and_whoever_its_neighbours_are() -> None:
    chance = random.Random(2)
    keys = [chance.randbytes(chance.choice((0, 1, 3, 4, 5, 16, 127, 128, 129, 1000))) for _ in range(200)]
    together = hashes(keys)

    assert [hashes([key], gap=b"!!!")[0] for key in keys] == together
    shuffled = list(zip(keys, together, strict=True))
    chance.shuffle(shuffled)
    assert hashes([key for key, _ in shuffled]) == [found for _, found in shuffled]


def test_different_keys_have_different_hashes() -> None:
    alike = [b"", b"\0", b"\0\0", b"a", b"a\0", b"\0a", b"a\0\0\0", b"a\0\0\0\0", b"aaaa", b"aaaaa"]
    numbered = [b"key-%d" % number for number in range(20_000)]
    long = [b"x" * length for length in range(SHORT_KEY_BYTES_MAX - 5, SHORT_KEY_BYTES_MAX + 5)]
    keys = [*alike, *numbered, *long, *(bytes(length) for length in range(3, 300))]

    assert len(set(hashes(keys))) == len(set(keys))


def test_each_lane_tells_most_keys_apart_by_itself() -> None:
    """Lanes of 32 bits: of 20,000 keys about 0.05 pairs meet in each by chance."""
    found = hashes([b"key-%d" % number for number in range(20_000)])

    for shift in (0, 32):
        for half in (0, 1):
            assert len({each[half] >> shift & 0xFFFFFFFF for each in found}) > 19_990


def test_another_seed_is_another_function() -> None:
    keys = [b"a", b"b" * 500]

    assert set(hashes(keys)).isdisjoint(hashes(keys, random.Random(3).randbytes(SEED_BYTES)))


def test_no_keys_have_no_hashes() -> None:
    assert hashes([]) == []
