"""Metrics as text, read back by a strict reader."""

from __future__ import annotations

import math

import pytest

from riverlog.broker.metrics.exposition import (
    SAMPLES_PER_PIECE,
    Family,
    Kind,
    histogram,
    labels,
    number,
    write,
)
from tests.prometheus_text import parse

GAUGE = Family("here", Kind.GAUGE, "What is here.", ("who",))


def test_a_metric_is_announced_and_its_samples_follow() -> None:
    text = "".join(write(GAUGE, [(labels(who="a"), 1), (labels(who="b"), 2.5)]))

    assert text == '# HELP here What is here.\n# TYPE here gauge\nhere{who="a"} 1\nhere{who="b"} 2.5\n'


def test_a_metric_without_samples_is_not_mentioned() -> None:
    assert list(write(GAUGE, [])) == []


@pytest.mark.parametrize(
    "name", ["plain", 'a "quoted" one', "back\\slash", "two\nlines", "\r\u2028", "gruß", "", "}"]
)
def test_any_text_can_be_a_label(name: str) -> None:
    metrics = parse("".join(write(GAUGE, [(labels(who=name, where=1), 7)])))

    assert metrics.value("here", who=name, where=1) == 7


def test_line_ends_in_a_meaning_are_escaped() -> None:
    assert next(write(GAUGE._replace(meaning="a\nb\\c"), [("", 1)])).startswith("# HELP here a\\nb\\\\c\n")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (-3, "-3"),
        (True, "1"),
        (2**63, "9223372036854775808"),
        (0.1, "0.1"),
        (1e-9, "1e-09"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        (math.nan, "NaN"),
    ],
)
def test_numbers_read_back_the_same(value: float, text: str) -> None:
    assert number(value) == text
    parsed = parse("".join(write(GAUGE, [("", value)]))).value("here")
    assert parsed == value or (math.isnan(value) and parsed is not None and math.isnan(parsed))


def test_a_histogram_adds_its_buckets_up() -> None:
    seconds = Family("seconds", Kind.HISTOGRAM, "How long.", ("api",))

    metrics = parse("".join(write(seconds, histogram("api", "Fetch", (0.1, 1.0), [2, 0, 3], 7.5))))

    assert metrics.value("seconds_bucket", api="Fetch", le="0.1") == 2
    assert metrics.value("seconds_bucket", api="Fetch", le="1.0") == 2
    assert metrics.value("seconds_bucket", api="Fetch", le="+Inf") == 5
    assert metrics.value("seconds_count", api="Fetch") == 5
    assert metrics.value("seconds_sum", api="Fetch") == 7.5


def test_many_samples_come_in_pieces_of_whole_lines() -> None:
    pieces = list(write(GAUGE, ((labels(who=index), index) for index in range(1000))))

    assert len(pieces) > 1000 // SAMPLES_PER_PIECE
    assert all(piece.endswith("\n") for piece in pieces)
    assert len(parse("".join(pieces))["here"].samples) == 1000


@pytest.mark.parametrize(
    "text",
    [
        "here 1\n",
        "# HELP here x\nhere 1\n",
        "# HELP here x\n# TYPE here gauge\n",
        "# HELP here x\n# TYPE here gauge\nhere 1",
        "# HELP here x\n# TYPE here gauge\nthere 1\n",
        "# HELP here x\n# TYPE here gauge\nhere one\n",
        '# HELP here x\n# TYPE here gauge\nhere{a="1} 1\n',
        '# HELP here x\n# TYPE here gauge\nhere{a="1",} 1\n',
        "# HELP here x\n# TYPE here gauge\nhere 1\nhere 2\n",
        "# HELP here x\n# TYPE here counter\nhere 1\n",
        "# HELP here x\n# TYPE here gauge\nhere 1\n# HELP here x\n",
        '# HELP here x\n# TYPE here histogram\nhere_bucket{le="1"} 1\nhere_sum 1\nhere_count 1\n',
    ],
)
def test_the_reader_of_the_tests_is_strict(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(text)
