"""Where to start and stop: texts become positions, positions become offsets."""

from datetime import UTC, datetime

import pytest

from riverlog.client.positions import END, START, Bounds, Kind, Position, Span, span, times_in

NOW_MS = 1_735_689_600_000  # 2025-01-01T00:00:00Z


def parse(text: str) -> Position:
    return Position.parse(text, NOW_MS)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("start", START),
        ("end", END),
        ("0", Position(Kind.OFFSET, 0)),
        ("1735689600000", Position(Kind.OFFSET, 1_735_689_600_000)),
        ("-100", Position(Kind.LAST, 100)),
        ("@1735689600000", Position(Kind.TIME, 1_735_689_600_000)),
        ("2025-01-01T00:00:00Z", Position(Kind.TIME, NOW_MS)),
        ("2025-01-01T01:00:00.250+01:00", Position(Kind.TIME, NOW_MS + 250)),
        ("30s", Position(Kind.TIME, NOW_MS - 30_000)),
        ("15m", Position(Kind.TIME, NOW_MS - 900_000)),
        ("2h", Position(Kind.TIME, NOW_MS - 7_200_000)),
        ("7d", Position(Kind.TIME, NOW_MS - 604_800_000)),
        ("1w", Position(Kind.TIME, NOW_MS - 604_800_000)),
    ],
)
def test_every_documented_form_is_read(text: str, position: Position) -> None:
    assert parse(text) == position


def test_a_date_without_zone_is_local_time() -> None:
    local = datetime(2025, 1, 31, 9, 30, tzinfo=UTC).astimezone()

    position = parse(local.replace(tzinfo=None).isoformat())

    assert position == Position(Kind.TIME, int(local.timestamp() * 1000))


def test_an_age_beyond_1970_is_the_beginning_of_time() -> None:
    assert parse("99999w") == Position(Kind.TIME, 0)


@pytest.mark.parametrize(
    "text", ["", "begin", "-", "--1", "1.5", "@", "@now", "-15m", "12x", "2025-13-01", "٣"]
)
def test_anything_else_is_refused_with_the_accepted_forms(text: str) -> None:
    with pytest.raises(ValueError, match="is not a position: expected start, end, an offset"):
        parse(text)


KEPT = Bounds(earliest=120, latest=200)


@pytest.mark.parametrize(
    ("begin", "until", "expected"),
    [
        ("start", "end", Span(120, 200)),
        ("-30", "end", Span(170, 200)),
        ("-1000", "end", Span(120, 200)),
        ("100", "end", Span(120, 200)),
        ("150", "160", Span(150, 160)),
        ("start", "150", Span(120, 150)),
        ("end", "end", Span(200, 200)),
        ("999", "end", Span(200, 200)),
        ("start", "-10", Span(120, 190)),
        ("start", "999", Span(120, 200)),
    ],
)
def test_positions_become_offsets_within_what_the_partition_keeps(
    begin: str, until: str, expected: Span
) -> None:
    assert span(parse(begin), parse(until), KEPT, {}) == expected


def test_a_time_becomes_the_offset_that_the_broker_found() -> None:
    begin, until = parse("@1000"), parse("@2000")

    found = span(begin, until, KEPT, {1000: 140, 2000: 160})

    assert found == Span(140, 160)


def test_a_time_after_all_records_is_the_end() -> None:
    found = span(parse("@1000"), None, KEPT, {1000: None})

    assert found == Span(200, None)


def test_a_span_is_empty_only_if_it_has_an_end() -> None:
    assert Span(5, 5).is_empty
    assert Span(6, 5).is_empty
    assert not Span(5, 6).is_empty
    assert not Span(5, None).is_empty


def test_only_times_need_the_broker() -> None:
    assert times_in(parse("@2000"), parse("@1000")) == [1000, 2000]
    assert times_in(START, parse("17"), parse("-5"), None) == []
