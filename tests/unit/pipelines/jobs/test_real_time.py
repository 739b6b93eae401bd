"""What runs in real time, decided without Spark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from riverlog.pipelines.jobs.app import App, AppRefused
from riverlog.pipelines.jobs.comparison import Level, compare
from riverlog.pipelines.jobs.contract import PlanNode
from riverlog.pipelines.jobs.real_time import core_refusal, hold_refusal, refusals
from tests.unit.pipelines.jobs.plans import CONTRACT

CLICKS = PlanNode("StreamingRelationV2", "clicks", True, (), facts={"format": "kafka", "name": "clicks"})
BY_CONNECTOR = replace(CONTRACT, sources=(replace(CONTRACT.sources[0], format="kafka"),))


def above(kind: str, *children: PlanNode) -> PlanNode:
    """A node over others, clicks unless given."""
    return PlanNode(kind, kind, True, (), children or (CLICKS,))


def test_rows_that_pass_alone_run_in_real_time() -> None:
    plan = above("Project", above("Union", above("Filter"), above("Generate", above("CollectMetrics"))))

    assert refusals("dear v1", plan, plan) == []


@pytest.mark.parametrize("kind", ["Aggregate", "Join", "Deduplicate", "Sort", "EventTimeWatermark"])
def test_what_keeps_state_or_order_is_refused_naming_query_and_operator(kind: str) -> None:
    (told,) = refusals("dear v1", above(kind), above(kind))

    assert told.startswith(f"query dear v1 has the operator {kind}")
    assert told.endswith('or leave mode="micro-batch"')


@pytest.mark.parametrize("kind", ["ArrowEvalPython", "BatchEvalPython", "MapInPandas", "MapInArrow"])
def test_functions_in_python_are_refused_once_also_where_only_the_optimiser_shows_them(kind: str) -> None:
    (told,) = refusals("dear v1", above("Project"), above("Project", above(kind)))

    assert "calls functions in Python" in told
    assert refusals("dear v1", above(kind), above(kind)) == [told]


def test_a_source_that_is_no_topic_is_refused_by_its_format() -> None:
    plan = above("Project", replace(CLICKS, facts={"format": "rate"}))

    assert refusals("dear v1", plan, plan)[0].startswith("query dear v1 reads rate, and in real time topics")


def test_each_partition_needs_a_core() -> None:
    assert core_refusal({}, 1) == ""
    assert core_refusal({"dear.clicks": 2}, 2) == ""
    assert "3 are read (cheap.clicks 1, dear.clicks 2), and Spark has 2" in core_refusal(
        {"dear.clicks": 2, "cheap.clicks": 1}, 2
    )


def test_a_version_in_real_time_is_neither_replayed_nor_switched() -> None:
    assert hold_refusal("dear v1", CONTRACT) == hold_refusal("dear v1", None) == ""
    assert hold_refusal("dear v1", BY_CONNECTOR).startswith("dear v1 reads by Spark's Kafka connector")


def test_to_change_the_mode_needs_a_new_version() -> None:
    verdict = compare(CONTRACT, BY_CONNECTOR)

    assert verdict.level is Level.REPLAY
    assert "reads kafka clicks instead of riverlog clicks" in verdict.differences[0].reason


def test_a_query_in_real_time_is_declared_or_refused_by_what_it_says() -> None:
    app = App("shop")
    app.query("dear", output="dear", mode="real-time")(print)
    app.query("slow", output="slow")(print)

    assert [query.is_real_time for query in app.queries] == [True, False]
    with pytest.raises(AppRefused, match="mode='fast' is not accepted: micro-batch, real-time are"):
        app.query("a", output="a", mode="fast")
    with pytest.raises(AppRefused, match=r"query a: in real time a query writes a topic: give it output="):
        app.query("a", mode="real-time")
    with pytest.raises(AppRefused, match="query a: in real time output_mode='complete' is not accepted"):
        app.query("a", output="a", mode="real-time", output_mode="complete")
