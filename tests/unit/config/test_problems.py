"""How wrong settings are reported."""

from __future__ import annotations

import pytest

from riverlog.config.problems import CombinedConfigError, each_problem, raise_problems, unknown_setting
from riverlog.errors import ConfigError

FIRST = ConfigError("a", "1", "a small number", source="here")
SECOND = ConfigError("b", "2", "an even smaller one")


def test_no_problem_raises_nothing() -> None:
    raise_problems([])


def test_a_single_problem_is_raised_as_it_is() -> None:
    with pytest.raises(ConfigError) as raised:
        raise_problems([FIRST])

    assert raised.value is FIRST
    assert each_problem(raised.value) == (FIRST,)


def test_several_problems_are_raised_together() -> None:
    with pytest.raises(CombinedConfigError) as raised:
        raise_problems([FIRST, SECOND])

    assert each_problem(raised.value) == (FIRST, SECOND)
    assert (raised.value.setting, raised.value.source) == ("a", "here")
    assert str(raised.value).splitlines() == [
        "2 settings are not accepted:",
        "  a='1' (from here) is not accepted: expected a small number",
        "  b='2' is not accepted: expected an even smaller one",
    ]


def test_an_unknown_name_is_told_the_one_it_resembles() -> None:
    error = unknown_setting("log.retenton.ms", "5", ["log.retention.ms", "log.roll.ms"])

    assert error.accepted == "the name of a setting; did you mean log.retention.ms?"


def test_an_unknown_name_like_no_other_gets_no_hint() -> None:
    assert unknown_setting("xyz", "5", ["log.retention.ms"]).accepted == "the name of a setting"


@pytest.mark.parametrize(
    "name", ["ssl.keystore.pasword1", "my.secret", "sasl.jaas.confg", "RIVERLOG_PASSWORD_X"]
)
def test_what_may_be_a_secret_is_not_repeated(name: str) -> None:
    error = unknown_setting(name.replace("pasword", "passwords"), "hunter2", [])

    assert "hunter2" not in str(error)
