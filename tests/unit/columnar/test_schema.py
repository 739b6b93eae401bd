"""The columns that one may ask for."""

import pytest

from riverlog.columnar.schema import COLUMNS, checked_columns, schema
from riverlog.errors import ConfigError


def test_all_columns_come_unless_some_are_asked_for() -> None:
    assert checked_columns(None) == COLUMNS
    assert schema(["value", "topic"]).names == ["value", "topic"]


@pytest.mark.parametrize("columns", [[], ["vallue"], ["key", "key"]])
def test_other_columns_are_refused_with_those_that_exist(columns: list[str]) -> None:
    with pytest.raises(ConfigError, match="topic, partition, offset"):
        checked_columns(columns)
