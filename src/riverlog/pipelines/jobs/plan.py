"""Spark's logical plan of a frame, read out of the JVM into plain nodes for `contract`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from riverlog.pipelines.jobs.contract import READ, SOURCES, Column, Function, Named, PlanNode, read_as

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FIELDS_SHOWN = "spark.sql.debug.maxToStringFields"
TEXT_CHARACTERS_MAX = 100_000
READ_OPTIONS = ("subscribe", "subscribepattern", "assign", "path")
"""What of a source's options says which stream it is."""


def plans_of(frame: DataFrame) -> tuple[PlanNode, PlanNode]:
    """Give a streaming frame's plan as it was analysed, and as Spark's optimiser leaves it."""
    spark = frame.sparkSession
    before = spark.conf.get(FIELDS_SHOWN)
    spark.conf.set(FIELDS_SHOWN, "10000")
    try:
        analysed = frame._jdf.queryExecution().analyzed()
        optimised = spark._jsparkSession.sessionState().optimizer().execute(analysed)
        return _node(analysed), _node(optimised)
    finally:
        spark.conf.set(FIELDS_SHOWN, before or "25")


def _node(plan: Any) -> PlanNode:
    kind = plan.getClass().getSimpleName()
    named: list[Named] = []
    grouping: list[str] = []
    functions: list[Function] = []
    facts: dict[str, str] = {}
    if kind == "Project":
        named = _aliases(plan.projectList())
    elif kind == "Aggregate":
        named = _aliases(plan.aggregateExpressions())
        grouping = [each.toString() for each in _each(plan.groupingExpressions())]
        functions = [found for each in _each(plan.aggregateExpressions()) for found in _functions(each)]
    elif kind == "Expand":
        named = [
            Named(column.exprId().id(), column.name(), expression.toString())
            for row in _each(plan.projections())
            for column, expression in zip(_each(plan.output()), _each(row), strict=True)
        ]
    elif kind in ("Deduplicate", "DeduplicateWithinWatermark"):
        grouping = [each.toString() for each in _each(plan.keys())]
    elif kind == "Join":
        condition = plan.condition()
        facts = {
            "type": plan.joinType().sql(),
            "condition": condition.get().toString() if condition.isDefined() else "",
        }
    elif kind == "EventTimeWatermark":
        facts = {"column": plan.eventTime().toString(), "delay": plan.delay().toString()}
    elif kind in SOURCES:
        facts = _source(plan, kind)
    elif "GroupsWithState" in kind or "TransformWithState" in kind:
        grouping, facts = _own_state(plan)
    return PlanNode(
        kind=kind,
        text=plan.simpleString(TEXT_CHARACTERS_MAX),
        is_streaming=plan.isStreaming(),
        columns=tuple(_column(each) for each in _each(plan.output())),
        children=tuple(_node(child) for child in _each(plan.children())),
        named=tuple(named),
        grouping=tuple(grouping),
        functions=tuple(functions),
        facts=facts,
    )


def _column(attribute: Any) -> Column:
    return Column(attribute.exprId().id(), attribute.name(), attribute.dataType().simpleString())


def _aliases(expressions: Any) -> list[Named]:
    return [
        Named(each.exprId().id(), each.name(), _read(each) or each.child().toString())
        for each in _each(expressions)
        if each.getClass().getSimpleName() == "Alias"
    ]


def _read(alias: Any) -> str:
    """What a column is that was decoded from a record: how that is done is no part of what it means."""
    metadata = alias.explicitMetadata()
    is_read = metadata.isDefined() and metadata.get().contains(READ)
    return read_as(metadata.get().getString(READ), alias.name()) if is_read else ""


def _functions(expression: Any) -> Iterator[Function]:
    if expression.getClass().getSimpleName() == "AggregateExpression":
        state = expression.aggregateFunction().aggBufferSchema().simpleString()
        yield Function(expression.toString(), state.removeprefix("struct<").removesuffix(">"))
    else:
        for child in _each(expression.children()):
            yield from _functions(child)


def _source(plan: Any, kind: str) -> dict[str, str]:
    if kind == "StreamingRelationV2":
        format_, options = plan.sourceName(), dict(plan.extraOptions().asCaseSensitiveMap())
    else:
        relation = plan.dataSource()
        format_ = relation.className()
        options = {pair._1(): pair._2() for pair in _each(relation.options().toSeq())}
    reads = {name.lower(): str(value) for name, value in options.items() if name.lower() in READ_OPTIONS}
    name = plan.sourceIdentifyingName().toString()
    return {
        # name="clicks" where it has one
        "name": name.partition('name="')[2].removesuffix('"'),
        "format": format_,
        "reads": " ".join(reads.get(option, "") for option in READ_OPTIONS).strip(),
    }


def _own_state(plan: Any) -> tuple[list[str], dict[str, str]]:
    methods = {method.getName() for method in plan.getClass().getMethods()}
    if "groupingAttributesLen" in methods:
        keys = list(_each(plan.child().output()))[: plan.groupingAttributesLen()]
    else:
        keys = list(_each(plan.groupingAttributes()))
    told = (("output mode", "outputMode"), ("time mode", "timeMode"))
    facts = {name: getattr(plan, field)().toString() for name, field in told if field in methods}
    return [key.toString() for key in keys], facts


def _each(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(index) for index in range(sequence.size()))
