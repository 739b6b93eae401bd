"""Walks over batches: any bytes are safe, and a torn tail never hides what stands before it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from riverlog.protocol.batches import WalkStop, crc_is_valid, read_header, split_batches
from tests.property.record_strategies import batches, damaged

BY_PROFILE = settings(deadline=None, print_blob=True)


@BY_PROFILE
@given(st.lists(batches(), max_size=4), st.binary(max_size=200) | damaged(batches()))
def test_a_walk_lists_the_valid_batches_before_whatever_follows(whole: list[bytearray], tail: bytes) -> None:
    prefix = b"".join(whole)

    walk = split_batches(prefix + tail, 0, len(prefix) + len(tail))

    starts = [sum(map(len, whole[:index])) for index in range(len(whole))]
    assert [position for position, _ in walk.batches[: len(whole)]] == starts
    assert walk.end >= len(prefix)
    assert (walk.stop is WalkStop.END) == (walk.end == len(prefix) + len(tail))


@BY_PROFILE
@given(st.binary(max_size=300) | damaged(batches()), st.integers(0, 20), st.integers(0, 400))
def test_what_a_walk_lists_is_adjacent_and_valid(data: bytes, start: int, end: int) -> None:
    walk = split_batches(data, start, end)

    expected = start
    for position, header in walk.batches:
        assert position == expected
        assert header == read_header(data, position)
        assert crc_is_valid(data, position, header)
        expected += header.size
    assert walk.end == expected


@BY_PROFILE
@given(st.lists(batches(), min_size=1, max_size=4), st.data())
def test_cutting_a_log_anywhere_keeps_exactly_the_whole_batches(
    whole: list[bytearray], data: st.DataObject
) -> None:
    log = b"".join(whole)
    cut = data.draw(st.integers(0, len(log)))

    walk = split_batches(log[:cut], 0, cut)

    ends = [sum(map(len, whole[: index + 1])) for index in range(len(whole))]
    assert len(walk.batches) == sum(end <= cut for end in ends)
    assert walk.stop in {WalkStop.END, WalkStop.TORN_HEADER, WalkStop.TORN_BATCH}
