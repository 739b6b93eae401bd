"""Topics by regular expression."""

from __future__ import annotations

import pytest

from riverlog.errors import RequestRefused
from riverlog.groups.consumer.patterns import CALL_COST, compile_pattern
from riverlog.protocol.error_codes import ErrorCode


def test_the_whole_name_has_to_match() -> None:
    pattern = compile_pattern("a|ab*")

    assert [topic for topic in ("a", "abb", "ba", "abc", "") if pattern.matches(topic)] == ["a", "abb"]


def test_a_refusal_names_the_field() -> None:
    with pytest.raises(RequestRefused, match="SubscribedTopicRegex '\\('") as refused:
        compile_pattern("(")

    assert refused.value.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_the_cost_grows_with_the_expression_and_with_the_topics() -> None:
    small, large = compile_pattern("a"), compile_pattern("a{500}")

    assert small.cost([]) == 0
    assert small.cost(["abc"] * 2) == 2 * small.cost(["abc"])
    assert large.cost(["abc"]) > small.cost(["abc"]) > CALL_COST
