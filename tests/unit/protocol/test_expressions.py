"""Regular expressions in requests: RE2's syntax, and no way to make it take long."""

from __future__ import annotations

import time

import pytest

from riverlog.errors import RequestRefused
from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.expressions import compile_expression


def test_the_whole_text_has_to_match() -> None:
    expression = compile_expression("a|ab*")

    assert [text for text in ("a", "abb", "ba", "abc", "") if expression.matches(text)] == ["a", "abb"]


@pytest.mark.parametrize("text", ["(", "a{2,1}", "[z-a]", "(?=a)", r"\1", "x{900}" * 1000])
def test_what_is_no_expression_or_too_large_a_one_is_refused(text: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        compile_expression(text)

    assert refused.value.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    assert len(refused.value.message) < 300


def test_an_expression_that_others_try_forever_is_answered_at_once() -> None:
    began = time.process_time()

    assert not compile_expression("(x+x+)+y").matches("x" * 249)

    assert time.process_time() - began < 5, "Python's own would take 2^249 steps"


def test_a_larger_expression_has_a_larger_size() -> None:
    assert compile_expression("a{500}").size > compile_expression("a").size > 0
