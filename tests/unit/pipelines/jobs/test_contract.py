"""A plan becomes a contract, and a contract survives being written down."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from riverlog.pipelines.jobs.contract import (
    Column,
    Contract,
    Function,
    Named,
    Output,
    PlanNode,
    contract_from_json,
    contract_of,
    read_as,
    readable,
    told,
)
from tests.unit.pipelines.jobs.plans import CONTRACT, WINDOW, aggregated, projected, relation

OUTPUT = Output("totals.v1", (), "append", ())


def made(plan: PlanNode, optimised: PlanNode | None = None) -> Contract:
    return contract_of(plan, optimised or plan, OUTPUT, columns_read={})


def test_an_expression_is_told_by_what_was_read_whatever_it_was_called_on_the_way() -> None:
    doubled = projected(relation(), Named(7, "twice", "(cents#2 * 2)"), Named(8, "where", "page#1"))
    renamed = projected(doubled, Named(9, "c", "twice#7"), Named(10, "p", "where#8"))
    plan = aggregated(renamed, ("p#10",), Function("sum(c#9)", "sum:bigint"))

    (operator,) = made(plan).operators

    assert operator.kind == "aggregation"
    assert operator.keys == ("clicks→page",)
    assert operator.state == (Function("sum((clicks→cents * 2))", "sum:bigint"),)


def test_marks_that_spark_puts_behind_a_column_are_no_part_of_it() -> None:
    late = projected(relation(), Named(7, "n", "cents#2"), Named(17, "m", "cents#2"))
    plan = aggregated(late, ("n#7L-T10000ms", "m#17L"))

    (operator,) = made(plan).operators

    assert operator.keys == ("clicks→cents", "clicks→cents")


def test_a_column_whose_number_begins_as_another_s_is_not_taken_for_it() -> None:
    child = replace(relation(), columns=(Column(1, "n", "int"), Column(12, "n", "int")))
    plan = aggregated(projected(child, Named(20, "n", "n#12")), ("n#20",))

    assert made(plan).operators[0].keys == ("clicks→n",)


def test_a_function_that_two_columns_use_is_kept_once() -> None:
    twice = (Function("sum(cents#2)", "sum:bigint"), Function("sum(cents#2)", "sum:bigint"))

    (operator,) = made(aggregated(relation(), ("page#1",), *twice)).operators

    assert operator.state == (Function("sum(clicks→cents)", "sum:bigint"),)


def test_all_projections_of_a_sliding_window_make_its_meaning() -> None:
    expand = PlanNode(
        "Expand",
        "Expand",
        True,
        (Column(9, "window", "struct<>"),),
        (relation(),),
        (Named(9, "window", "f(at#3, 0)"), Named(9, "window", "f(at#3, 1)")),
    )

    assert made(aggregated(expand, ("window#9",))).operators[0].keys == ("f(clicks→at, 0) | f(clicks→at, 1)",)


def test_a_join_keeps_the_columns_that_are_left_after_pruning() -> None:
    clicks, views = relation("clicks"), relation("views", first=11)
    facts = {"type": "INNER", "condition": "(page#1 = page#11)"}
    join = PlanNode("Join", "Join", True, (), (clicks, views), facts=facts)
    pruned = replace(join, children=(replace(clicks, columns=clicks.columns[:1]), views))

    (operator,) = made(join, pruned).operators

    assert operator.keys == ("(clicks→page = views→page)",)
    assert operator.state[0] == Function("left", "page string")
    assert operator.state[1].state == "page string, cents int, at timestamp"
    assert operator.facts == (("type", "INNER"),)


def test_a_join_with_a_table_at_rest_keeps_no_state() -> None:
    table = replace(relation("users", first=11), is_streaming=False, kind="Relation")
    join = PlanNode("Join", "Join", True, (), (relation(), table), facts={"type": "INNER"})

    assert made(join).operators == ()


def test_operators_of_our_own_alone_keep_their_state_in_avro() -> None:
    own = PlanNode(
        "TransformWithStateInPySpark",
        "",
        True,
        (),
        (relation(),),
        grouping=("page#1",),
        facts={"output mode": "Append", "time mode": "EventTime"},
    )

    assert made(own).encoding == "avro"
    assert made(own).operators[0].state[0] == Function("page", "string")
    assert made(aggregated(own, ("page#1",))).encoding == "unsaferow"
    assert made(relation()).encoding == "unsaferow"


def test_steps_are_the_same_in_two_runs_of_the_same_code() -> None:
    mark = "EventTimeWatermark 95c56460-65fb-45d3-8765-f3c739bab9be, at#{}: timestamp, 10 seconds"
    one = PlanNode("EventTimeWatermark", mark.format(3), True, (), (relation(),), facts=_mark(3))
    other = PlanNode(
        "EventTimeWatermark",
        mark.replace("95c5", "17aa").format(9),
        True,
        (),
        (relation(first=7),),
        facts=_mark(9),
    )

    assert made(one).steps == made(other).steps == ("EventTimeWatermark at: timestamp, 10 seconds",)


def _mark(attribute: int) -> dict[str, str]:
    return {"column": f"at#{attribute}", "delay": "10 seconds"}


def test_a_source_has_the_columns_into_which_it_is_decoded() -> None:
    contract = contract_of(relation(), relation(), OUTPUT, columns_read={"clicks": ["page string"]})

    assert contract.sources[0].columns == (("page", "string"),)


def test_a_source_without_a_name_is_noticed() -> None:
    assert made(relation()).names_sources
    assert not made(relation("")).names_sources


def test_a_contract_comes_back_as_it_was_written() -> None:
    assert contract_from_json(json.loads(json.dumps(CONTRACT.to_json()))) == CONTRACT


def test_a_contract_of_another_format_is_refused() -> None:
    with pytest.raises(ValueError, match="format 2"):
        contract_from_json({**CONTRACT.to_json(), "format": 2})


def test_a_window_is_told_as_people_write_it() -> None:
    assert readable(WINDOW) == "window(clicks→at, 1 minute)"
    sliding = WINDOW.replace("+ 60000000", "+ 3600000000")
    assert readable(sliding) == "window(clicks→at, 1 hour, 1 minute)"
    assert readable("upper(clicks→page)") == "upper(clicks→page)"


def test_a_source_is_named_only_where_there_are_several() -> None:
    text = f"sum({read_as('clicks', 'cents')})"

    assert told(text, ["clicks"]) == "sum(cents)"
    assert told(text, ["clicks", "views"]) == "sum(clicks.cents)"
