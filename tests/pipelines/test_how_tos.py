"""The how-to guides on pipelines: their programs run, and their tests pass, as they stand there."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from riverlog.testing.pipelines import Streams

PAGES = Path(__file__).parents[2] / "docs" / "how-to"
NAMES = [
    "test-a-pipeline",
    "handle-wrong-and-late-times",
    "window-and-rank",
    "join-a-stream-with-a-table",
    "find-patterns",
    "match-stored-queries",
    "count-approximately",
    "read-topics-in-spark",
    "write-topics-from-spark",
]


@pytest.mark.parametrize("name", NAMES)
def test_the_programs_of_a_page_run_and_its_tests_pass(
    name: str, riverlog_streams: Streams, request: pytest.FixtureRequest
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (PAGES / f"{name}.md").read_text(), re.DOTALL)
    page: dict[str, Any] = {}
    ran = 0
    for block in blocks:
        exec(compile(block, f"{name}.md", "exec"), page)
    for test in [value for key, value in page.items() if key.startswith("test_")]:
        test(**{wanted: request.getfixturevalue(wanted) for wanted in inspect.signature(test).parameters})
        riverlog_streams.stop()
        ran += 1

    assert blocks
    assert ran >= 1
