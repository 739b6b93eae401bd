"""Topics by regular expression: RE2's syntax, and no way to make it take long."""

from __future__ import annotations

import time

import pytest

from riverlog.errors import RequestRefused
from riverlog.groups.consumer.patterns import CALL_COST, compile_pattern
from riverlog.protocol.error_codes import ErrorCode


def test_the_whole_name_has_to_match() -> None:
    pattern = compile_pattern("a|ab*")

    assert [topic for topic in ("a", "abb", "ba", "abc", "") if pattern.matches(topic)] == ["a", "abb"]


@pytest.mark.parametrize("expression", ["(", "a{2,1}", "[z-a]", "(?=a)", r"\1", "x{900}" * 1000])
def test_what_is_no_expression_or_too_large_a_one_is_refused(expression: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        compile_pattern(expression)

    assert refused.value.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert len(refused.value.message) < 300


def test_an_expression_that_others_try_forever_is_answered_at_once() -> None:
    began = time.process_time()

    assert not compile_pattern("(x+x+)+y").matches("x" * 249)

    assert time.process_time() - began < 5, "Python's own would take 2^249 steps"


def test_the_cost_grows_with_the_expression_and_with_the_topics() -> None:
    small, large = compile_pattern("a"), compile_pattern("a{500}")

    assert small.cost([]) == 0
    assert small.cost(["abc"] * 2) == 2 * small.cost(["abc"])
    assert large.cost(["abc"]) > small.cost(["abc"]) > CALL_COST
