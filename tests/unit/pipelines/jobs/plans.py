"""Plans and contracts of a small shop, to be changed by tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from riverlog.pipelines.jobs.contract import (
    Column,
    Contract,
    Function,
    Named,
    Operator,
    Output,
    PlanNode,
    Source,
    Watermark,
)

WINDOW = (
    "named_struct(start, knownnullable(precisetimestampconversion(((precisetimestampconversion(clicks→at, "
    "TimestampType, LongType) - ((precisetimestampconversion(clicks→at, TimestampType, LongType) - 0) % "
    "60000000)) "
    "- 0), LongType, TimestampType)), end, "
    "knownnullable(precisetimestampconversion((((precisetimestampconversion("
    "clicks→at, TimestampType, LongType) - 0) % 60000000) + 60000000), LongType, TimestampType)))"
)

CONTRACT = Contract(
    sources=(
        Source("clicks", "riverlog", "clicks", (("page", "string"), ("cents", "int"), ("at", "timestamp"))),
    ),
    watermarks=(Watermark("clicks→at", "10 seconds"),),
    operators=(
        Operator("aggregation", (WINDOW, "clicks→page"), (Function("sum(clicks→cents)", "sum:bigint"),)),
    ),
    steps=("Aggregate [page]", "Filter (cents > 0)"),
    output=Output("totals", ("page",), "append", (("page", "string"), ("total", "bigint"))),
)


def aggregating(*functions: tuple[str, str], keys: tuple[str, ...] = (WINDOW, "clicks→page")) -> Contract:
    """The contract with other functions, or other keys."""
    return with_operators(Operator("aggregation", keys, tuple(Function(*each) for each in functions)))


def with_operators(*operators: Operator) -> Contract:
    """The contract with other operators."""
    return replace(CONTRACT, operators=operators)


def with_output(**changes: Any) -> Contract:
    """The contract with another output."""
    return replace(CONTRACT, output=replace(CONTRACT.output, **changes))


def relation(name: str = "clicks", *, first: int = 1) -> PlanNode:
    """A source of three columns, whose attributes are numbered from `first`."""
    columns = (
        Column(first, "page", "string"),
        Column(first + 1, "cents", "int"),
        Column(first + 2, "at", "timestamp"),
    )
    facts = {"name": name, "format": "riverlog", "reads": name}
    return PlanNode("StreamingRelationV2", "StreamingRelationV2", True, columns, facts=facts)


def projected(child: PlanNode, *named: Named) -> PlanNode:
    """A projection that makes columns."""
    columns = tuple(Column(each.attribute, each.name, "bigint") for each in named)
    return PlanNode("Project", "Project", True, columns, (child,), named)


def aggregated(child: PlanNode, grouping: tuple[str, ...], *functions: Function) -> PlanNode:
    """An aggregation."""
    return PlanNode(
        "Aggregate", "Aggregate", True, (), (child,), grouping=grouping, functions=tuple(functions)
    )
