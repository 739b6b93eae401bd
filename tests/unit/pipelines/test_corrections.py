"""Windows that are corrected, beside the windows over all events at once."""

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from riverlog.pipelines.corrections import CorrectingWindows, Window, load_windows, stored_windows

MACHINE = CorrectingWindows(10, 6, [("count", 0, None), ("sum", 0, None), ("max", 0, None)], 1)
ROWS = st.lists(st.tuples(st.integers(1, 40), st.none() | st.integers(-5, 5)), max_size=5)


def by_hand(rows: list[tuple[int, int | None]]) -> Counter[tuple[Any, ...]]:
    windows: Counter[tuple[Any, ...]] = Counter()
    for start in {time - time % 10 for time, _ in rows}:
        inside = [value for time, value in rows if time - time % 10 == start and value is not None]
        windows[start, len(inside), sum(inside) if inside else None, max(inside, default=None)] = 1
    return windows


@given(st.lists(st.tuples(ROWS, st.integers(0, 8)), max_size=8))
def test_what_came_out_adds_up_to_the_windows_over_all_that_was_not_late(
    batches: list[tuple[list[tuple[int, int | None]], int]],
) -> None:
    windows: list[Window] = []
    watermark = 0
    taken: list[tuple[int, int | None]] = []
    view: Counter[tuple[Any, ...]] = Counter()
    for rows, ahead in [*batches, ([], 100)]:
        rows = [row for row in rows if row[0] > watermark]
        taken += rows
        watermark += ahead
        for outcome in (added := MACHINE.add(windows, rows), MACHINE.pass_by(added.windows, watermark)):
            windows = load_windows(stored_windows(outcome.windows))
            for operation, *row in outcome.results:
                view[tuple(row)] += 1 if operation == "insert" else -1
                assert view[tuple(row)] in (0, 1)
        published = {start for start, *_ in +view}
        assert published == {time - time % 10 for time, _ in taken if time - time % 10 + 10 - 6 <= watermark}

    assert +view == by_hand(taken)
    assert windows == []


def test_a_result_is_published_early_and_corrected_until_the_watermark_has_passed() -> None:
    first = MACHINE.add([], [(12, 1)])
    assert first.results == []
    assert MACHINE.wake_times(first.windows[0]) == [14, 20]

    out = MACHINE.pass_by(first.windows, 14)
    assert out.results == [("insert", 10, 1, 1, 1)]

    again = MACHINE.add(out.windows, [(19, 4), (18, None)])
    assert again.results == [("retract", 10, 1, 1, 1), ("insert", 10, 2, 5, 4)]
    assert MACHINE.add(again.windows, [(17, None)]).results == []
    assert MACHINE.pass_by(again.windows, 19).windows == again.windows
    assert MACHINE.pass_by(again.windows, 20).windows == []
