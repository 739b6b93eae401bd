"""What a change of code means for a checkpoint."""

from __future__ import annotations

from dataclasses import replace

from riverlog.pipelines.jobs.comparison import Level, Verdict, compare
from riverlog.pipelines.jobs.contract import Contract, Function, Operator, Source, Watermark
from tests.unit.pipelines.jobs.plans import CONTRACT, WINDOW, aggregating, with_operators, with_output


def verdict(new: Contract, old: Contract = CONTRACT) -> tuple[Level, str]:
    found = compare(old, new)
    return found.level, "\n".join(each.reason for each in found.differences)


def test_the_same_code_is_unchanged() -> None:
    assert compare(CONTRACT, CONTRACT) == Verdict(())
    assert compare(CONTRACT, CONTRACT).level is Level.UNCHANGED


# Operators


def test_another_aggregate_function_needs_a_replay() -> None:
    level, reason = verdict(aggregating(("avg(clicks→cents)", "sum:double,count:bigint")))

    assert level is Level.REPLAY
    assert reason == (
        "aggregation changed from sum(cents) to avg(cents): its state (sum:bigint) cannot be used, a "
        "replay under "
        "a new version is needed"
    )


def test_a_function_whose_state_has_the_same_form_is_found_all_the_same() -> None:
    level, reason = verdict(aggregating(("max(clicks→cents)", "sum:bigint")))

    assert level is Level.REPLAY
    assert "from sum(cents) to max(cents)" in reason


def test_a_function_of_another_expression_needs_a_replay() -> None:
    level, reason = verdict(aggregating(("sum((clicks→cents * 2))", "sum:bigint")))

    assert level is Level.REPLAY
    assert "from sum(cents) to sum((cents * 2))" in reason


def test_a_function_in_addition_needs_a_replay() -> None:
    level, reason = verdict(aggregating(("sum(clicks→cents)", "sum:bigint"), ("count(1)", "count:bigint")))

    assert level is Level.REPLAY
    assert "has count(1) in addition" in reason


def test_a_function_that_is_gone_needs_a_replay() -> None:
    both = aggregating(("sum(clicks→cents)", "sum:bigint"), ("count(1)", "count:bigint"))

    level, reason = verdict(CONTRACT, both)

    assert level is Level.REPLAY
    assert "lacks count(1)" in reason


def test_functions_that_changed_places_need_a_replay() -> None:
    pair = (("sum(clicks→cents)", "sum:bigint"), ("count(1)", "count:bigint"))

    level, reason = verdict(aggregating(*reversed(pair)), aggregating(*pair))

    assert level is Level.REPLAY
    assert "by position" in reason


def test_a_function_whose_input_has_another_type_needs_a_replay() -> None:
    level, reason = verdict(aggregating(("sum(clicks→cents)", "sum:double")))

    assert level is Level.REPLAY
    assert "sum(cents) was sum:bigint and is sum:double" in reason


def test_another_window_needs_a_replay_and_is_told_in_words() -> None:
    longer = (WINDOW.replace("60000000", "300000000"), "clicks→page")

    level, reason = verdict(aggregating(("sum(clicks→cents)", "sum:bigint"), keys=longer))

    assert level is Level.REPLAY
    assert "from window(at, 1 minute), page to window(at, 5 minutes), page" in reason


def test_windows_that_read_alike_are_told_in_full() -> None:
    shifted = (WINDOW.replace("- 0)", "- 5)"), "clicks→page")

    level, reason = verdict(aggregating(("sum(clicks→cents)", "sum:bigint"), keys=shifted))

    assert level is Level.REPLAY
    assert "named_struct" in reason


def test_another_key_needs_a_replay() -> None:
    level, reason = verdict(aggregating(("sum(clicks→cents)", "sum:bigint"), keys=(WINDOW, "clicks→user")))

    assert level is Level.REPLAY
    assert "page to window(at, 1 minute), user" in reason


def test_an_operator_in_addition_needs_a_replay() -> None:
    level, reason = verdict(
        with_operators(*CONTRACT.operators, Operator("deduplication", ("clicks→page",), ()))
    )

    assert level is Level.REPLAY
    assert "aggregation, deduplication, in the checkpoint it is aggregation" in reason


def test_state_where_there_was_none_needs_a_replay() -> None:
    level, reason = verdict(CONTRACT, with_operators())

    assert level is Level.REPLAY
    assert "would begin without the rows of the past" in reason


def test_operators_that_are_gone_need_a_replay() -> None:
    assert verdict(with_operators())[0] is Level.REPLAY


def test_which_of_several_operators_changed_is_said() -> None:
    one = Operator("deduplication", ("clicks→page",), ())
    other = Operator("deduplication", ("clicks→at",), ())

    level, reason = verdict(with_operators(one, other), with_operators(one, one))

    assert level is Level.REPLAY
    assert reason.startswith("deduplication 2 of 2: its key changed from page to at")


def joining(columns: str = "page string", kind: str = "INNER") -> Contract:
    sides = (Function("left", columns), Function("right", "page string"))
    return with_operators(Operator("join of two streams", ("a = b",), sides, (("type", kind),)))


def test_a_column_that_is_used_after_a_join_needs_a_replay() -> None:
    level, reason = verdict(joining("page string, cents int"), joining())

    assert level is Level.REPLAY
    assert "of the left side it keeps (page string, cents int)" in reason


def test_another_kind_of_join_needs_a_replay() -> None:
    level, reason = verdict(joining(kind="LEFT OUTER"), joining())

    assert level is Level.REPLAY
    assert "type INNER became type LEFT OUTER" in reason


def own(encoding: str, **columns: str) -> Contract:
    state = tuple(Function(name, kind) for name, kind in columns.items())
    changed = with_operators(Operator("operator with own state", ("clicks→page",), state))
    return replace(changed, encoding=encoding)


def test_a_column_more_in_own_state_is_safe_in_avro_alone() -> None:
    for encoding, expected in (("avro", Level.SAFE), ("unsaferow", Level.REPLAY)):
        level, reason = verdict(own(encoding, page="string", cents="int"), own(encoding, page="string"))

        assert level is expected
        assert "column cents was added" in reason


def test_a_column_less_in_own_state_is_safe_in_avro_alone() -> None:
    for encoding, expected in (("avro", Level.SAFE), ("unsaferow", Level.REPLAY)):
        level, _ = verdict(own(encoding, page="string"), own(encoding, page="string", cents="int"))

        assert level is expected


def test_a_column_of_another_type_in_own_state_needs_a_replay() -> None:
    assert verdict(own("avro", page="int"), own("avro", page="string"))[0] is Level.REPLAY


# Sources


def reading(*sources: Source) -> Contract:
    return replace(CONTRACT, sources=sources)


CLICKS = CONTRACT.sources[0]


def test_a_source_in_addition_is_safe() -> None:
    level, reason = verdict(reading(CLICKS, replace(CLICKS, name="views")))

    assert level is Level.SAFE
    assert "source views was added" in reason


def test_a_source_that_is_gone_is_safe() -> None:
    views = replace(CLICKS, name="views")

    level, reason = verdict(reading(CLICKS), reading(CLICKS, views))

    assert level is Level.SAFE
    assert "what state holds of it stays" in reason


def test_another_topic_under_a_known_name_needs_a_replay() -> None:
    level, reason = verdict(reading(replace(CLICKS, reads="orders")))

    assert level is Level.REPLAY
    assert "positions are those of another stream" in reason


def test_a_column_that_is_read_in_addition_is_safe() -> None:
    level, reason = verdict(reading(replace(CLICKS, columns=(*CLICKS.columns, ("user", "string")))))

    assert level is Level.SAFE
    assert reason == "column user of source clicks is read from now on"


def test_a_column_that_is_read_as_another_type_is_told() -> None:
    retyped = tuple((name, "bigint" if name == "cents" else kind) for name, kind in CLICKS.columns)

    level, reason = verdict(reading(replace(CLICKS, columns=retyped)))

    assert level is Level.SAFE
    assert "is read as bigint, before as int" in reason


def test_sources_without_names_may_not_change() -> None:
    nameless = replace(reading(replace(CLICKS, name="")), names_sources=False)
    other = replace(reading(replace(CLICKS, name="", reads="orders")), names_sources=False)

    assert verdict(nameless, nameless)[0] is Level.UNCHANGED
    assert verdict(other, nameless)[0] is Level.REPLAY


def test_a_name_that_comes_later_needs_a_replay() -> None:
    nameless = replace(reading(replace(CLICKS, name="")), names_sources=False)

    assert verdict(CONTRACT, nameless)[0] is Level.REPLAY


def test_a_name_that_is_missing_now_needs_a_replay() -> None:
    nameless = replace(reading(replace(CLICKS, name="")), names_sources=False)

    level, reason = verdict(nameless)

    assert level is Level.REPLAY
    assert "name it" in reason


# Watermarks


def test_another_delay_is_safe() -> None:
    level, reason = verdict(replace(CONTRACT, watermarks=(Watermark("clicks→at", "1 minute"),)))

    assert level is Level.SAFE
    assert "waits 1 minute instead of 10 seconds" in reason


def test_a_watermark_on_another_column_needs_a_replay_where_there_is_state() -> None:
    moved = (Watermark("clicks→seen", "10 seconds"),)

    assert verdict(replace(CONTRACT, watermarks=moved))[0] is Level.REPLAY
    assert verdict(replace(with_operators(), watermarks=moved), with_operators())[0] is Level.SAFE


def test_a_watermark_that_is_gone_needs_migration_where_there_is_state() -> None:
    assert verdict(replace(CONTRACT, watermarks=()))[0] is Level.MIGRATION
    assert verdict(CONTRACT, replace(CONTRACT, watermarks=()))[0] is Level.SAFE


# Output


def test_a_column_more_in_the_output_is_safe() -> None:
    level, reason = verdict(with_output(columns=(*CONTRACT.output.columns, ("n", "bigint"))))

    assert level is Level.SAFE
    assert reason == "the output has column n in addition"


def test_a_column_less_in_the_output_needs_migration() -> None:
    level, reason = verdict(with_output(columns=CONTRACT.output.columns[:1]))

    assert level is Level.MIGRATION
    assert "lacks column total" in reason


def test_a_column_of_another_type_in_the_output_needs_migration() -> None:
    assert verdict(with_output(columns=(("page", "string"), ("total", "double"))))[0] is Level.MIGRATION


def test_another_output_mode_topic_or_key_needs_migration() -> None:
    for changes in ({"mode": "update"}, {"topic": "sums.v1"}, {"key": ()}):
        assert verdict(with_output(**changes))[0] is Level.MIGRATION


# Steps without state


def test_another_filter_is_safe_and_told() -> None:
    level, reason = verdict(replace(CONTRACT, steps=("Aggregate [page]", "Filter (cents > 5)")))

    assert level is Level.SAFE
    assert reason == (
        "Filter (cents > 0) became Filter (cents > 5): it holds for rows from now on. What state holds was "
        "made "
        "by the old code"
    )


def test_steps_are_not_told_beside_what_they_follow_from() -> None:
    changed = replace(aggregating(("avg(clicks→cents)", "sum:double")), steps=("Aggregate [avg]",))

    assert len(compare(CONTRACT, changed).differences) == 1


def test_the_heaviest_difference_comes_first() -> None:
    changed = replace(
        aggregating(("avg(clicks→cents)", "sum:double")), output=with_output(columns=(("x", "int"),)).output
    )

    levels = [each.level for each in compare(CONTRACT, changed).differences]

    assert levels == sorted(levels, reverse=True)
    assert levels[0] is Level.REPLAY


def test_levels_have_words() -> None:
    assert [level.words for level in Level] == ["unchanged", "safe", "needs migration", "needs replay"]
