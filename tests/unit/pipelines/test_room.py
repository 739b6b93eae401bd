"""The room as a whole: what it exports."""

import pytest

from riverlog import pipelines


@pytest.mark.parametrize("name", pipelines.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(pipelines, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Session'"):
        pipelines.Session  # noqa: B018  # asked for its effect
