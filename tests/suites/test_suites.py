"""What passed once passes still, in every suite. Slow: minutes, and the first time a build."""

from __future__ import annotations

import shutil

import pytest

from tests.absence import stand_down

from .__main__ import SUITES, outcomes_of
from .suite import PASSED

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", SUITES)
def test_no_listed_test_is_lost(name: str) -> None:
    suite = SUITES[name]()
    for builder in suite.builders:
        if shutil.which(builder) is None:
            stand_down(f"{name} needs {builder}, which is not on PATH")

    outcomes = outcomes_of(suite, None)

    lost = {test: outcomes.get(test, "not run") for test in suite.listed() if outcomes.get(test) != PASSED}
    assert lost == {}
    assert suite.listed(), "an empty list would pass everything"
