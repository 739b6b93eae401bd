"""What Spark says of batches, as numbers for people."""

from __future__ import annotations

from typing import Any

from riverlog.pipelines.jobs.measuring import Tally, ends_of, lag_of, per_second, reason_of


def document(
    batch: int, rows: int = 10, *, late: int = 0, offset: int = 5, ran: bool = True
) -> dict[str, Any]:
    return {
        "batchId": batch,
        "numInputRows": rows,
        "durationMs": {"addBatch": 30, "triggerExecution": 40} if ran else {"triggerExecution": 1},
        "eventTime": {"watermark": "2026-01-01T00:00:10.000Z"},
        "stateOperators": [{"numRowsDroppedByWatermark": late}],
        "sources": [{"endOffset": {"clicks": {"0": offset}}}],
        "sink": {"numOutputRows": 2},
        "observedMetrics": {"bad records of clicks": {"bad": 1}, "of the user": {"bad": 7}},
    }


def test_batches_add_up() -> None:
    tally = Tally()

    tally.take([document(0, 10, late=1), document(1, 5, late=2, offset=9)])

    assert (tally.batch, tally.rows_in, tally.rows_out, tally.late_rows, tally.batch_ms) == (1, 15, 4, 3, 40)
    assert tally.bad_rows == 2
    assert tally.watermark == "2026-01-01T00:00:10.000Z"
    assert tally.ends == {"clicks": {0: 9}}


def test_a_batch_that_was_seen_before_does_not_count_again() -> None:
    tally = Tally()

    tally.take([document(0)])
    tally.take([document(0), document(1)])

    assert tally.rows_in == 20


def test_a_sign_of_life_is_no_batch() -> None:
    tally = Tally()

    tally.take([document(4, 0, ran=False)])

    assert tally.batch == -1


def test_a_sink_that_does_not_count_has_no_output_rate() -> None:
    tally = Tally()

    tally.take([{**document(0), "sink": {"numOutputRows": -1}}])

    assert tally.rows_out is None
    assert per_second(None, tally.rows_out, 5) is None


def test_a_watermark_that_has_not_moved_is_not_told() -> None:
    tally = Tally()

    tally.take([{**document(0), "eventTime": {"watermark": "1970-01-01T00:00:00.000Z"}}])

    assert tally.watermark == ""


def test_of_two_sources_of_a_topic_the_one_behind_counts() -> None:
    both = {"sources": [{"endOffset": {"clicks": {"0": 9}}}, {"endOffset": {"clicks": {"0": 7}}}]}

    assert ends_of(both) == {"clicks": {0: 7}}


def test_a_source_without_offsets_of_a_topic_has_no_lag() -> None:
    assert ends_of({"sources": [{"endOffset": None}, {"endOffset": {"logOffset": 3}}]}) == {}


def test_lag_is_counted_by_topic_and_never_below_zero() -> None:
    ends = {"clicks": {0: 5, 1: 8}, "gone": {0: 4}}

    assert lag_of(ends, {"clicks": {0: 9, 1: 7, 2: 3}}) == {"clicks": 7}


def test_a_rate_is_of_the_interval() -> None:
    assert per_second(100, 150, 5) == 10.0
    assert per_second(None, 50, 5) == 10.0
    assert per_second(0, 10, 0) == 0.0


def test_of_a_failure_in_python_the_user_s_own_error_comes_first() -> None:
    text = (
        "[STREAM_FAILED] Query terminated with exception: Job aborted\n"
        "Traceback (most recent call last):\n"
        '  File "app.py", line 3, in half\n'
        "ValueError: no page in clicks\n"
        "\tat org.apache.spark.Foo(Foo.scala:1)\n"
        "=== Streaming Query ===\nIdentifier: x"
    )

    assert reason_of(text).splitlines()[0] == "ValueError: no page in clicks"
    assert "scala" not in reason_of(text)
    assert "Identifier" not in reason_of(text)


def test_a_reason_is_bounded() -> None:
    assert len(reason_of("\n".join("x" * 400 for _ in range(100)))) <= 2000
