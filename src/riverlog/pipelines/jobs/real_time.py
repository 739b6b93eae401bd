"""What a query must be to run in real time, and why another may not: pure.

    micro-batch   records are taken in batches, and each result is in the output once
    real-time     each record passes through as it comes, within milliseconds, at least once

In real time Spark reads and writes topics by its own connector, and its tasks hold on to their cores: one
for each partition that is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from riverlog.pipelines.jobs.contract import SOURCES, PlanNode, each_node

if TYPE_CHECKING:
    from riverlog.pipelines.jobs.contract import Contract

MICRO_BATCH, REAL_TIME = "micro-batch", "real-time"
MODES = (MICRO_BATCH, REAL_TIME)
KAFKA = "kafka"
"""Spark's own connector, as a format."""
BATCH_DURATION = "5 seconds"
"""How often Spark notes how far it has come, unless the query's `trigger` says so; it takes no less."""

PASSING = frozenset({"Project", "Filter", "Generate", "Union", "CollectMetrics", "SubqueryAlias"}) | SOURCES
"""Kinds of nodes whose rows pass at once, without state."""
_PYTHON = ("Python", "InPandas", "InArrow")
_ELSE = 'or leave mode="micro-batch"'


def refusals(title: str, analysed: PlanNode, optimised: PlanNode) -> list[str]:
    """Say what of a query's plan does not run in real time, and what to do."""
    found = []
    for node in each_node(analysed):
        format_ = node.facts.get("format", "")
        if node.kind in SOURCES and format_ != KAFKA:
            found.append(
                f"query {title} reads {format_ or node.text}, and in real time topics alone: read it by "
                f"context.topic(...), {_ELSE}"
            )
    # Spark's optimiser gives functions in Python a node of their own.
    nodes = [*each_node(optimised), *each_node(analysed)]
    if any(part in node.kind for node in nodes for part in _PYTHON):
        found.append(
            f"query {title} calls functions in Python, and in real time Spark stays in the JVM: use Spark's "
            f"own functions, {_ELSE}"
        )
    others = {node.kind for node in each_node(analysed)} - PASSING
    found += [
        f"query {title} has the operator {kind}, and in real time rows pass one by one, without state, order "
        f"or watermark: keep to select, where, explode and union, {_ELSE}"
        for kind in sorted(others)
        if not any(part in kind for part in _PYTHON)
    ]
    return found


def core_refusal(partitions: Mapping[str, int], cores: int) -> str:
    """Say that more partitions are read in real time than Spark has cores; empty where they suffice."""
    needed = sum(partitions.values())
    if needed <= cores:
        return ""
    read = ", ".join(f"{name} {count}" for name, count in sorted(partitions.items()))
    return (
        f"in real time each partition that is read takes a core for itself: {needed} are read ({read}), and "
        f"Spark has {cores}: give it more (--master), read fewer, {_ELSE}"
    )


def hold_refusal(title: str, contract: Contract | None) -> str:
    """Say that a version cannot be held at a position, as replays and switches need; empty where it can."""
    if contract is None or all(source.format != KAFKA for source in contract.sources):
        return ""
    return (
        f'{title} reads by Spark\'s Kafka connector (mode="real-time"), which cannot be held at an exact '
        "position: replay and switch take versions in micro-batches alone. Give what "
        "is new a name and an output of its own, and let readers change over"
    )
