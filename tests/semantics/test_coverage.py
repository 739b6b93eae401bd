"""The rows that this package has to cover, against those that its tests' docstrings name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SEVERAL_BROKERS = {28, 38, 40, 41}
ROWS = (set(range(1, 65)) | {75} | set(range(77, 81))) - SEVERAL_BROKERS
"""Rows whose subject is built. Whoever builds another adds its rows here."""

_NAMED = re.compile(r"Rows? (\d+(?:(?:, | and |-)\d+)*)")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def rows_of(docstring: str) -> set[int]:
    """Read the rows that a docstring begins with: "Row 5", "Rows 5 and 7", "Rows 5-7, 9"."""
    named = _NAMED.match(docstring)
    return {
        row
        for first, last in _RANGE.findall(named.group(1) if named else "")
        for row in range(int(first), int(last or first) + 1)
    }


def written_tests() -> Iterator[tuple[str, str]]:
    """Give the name and docstring of each test of the package."""
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        if path == Path(__file__):
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield f"{path.name}::{node.name}", ast.get_docstring(node) or ""


def test_rows_are_read_from_docstrings() -> None:
    assert rows_of("Row 5.") == {5}
    assert rows_of("Row 7: since 4.0.") == {7}
    assert rows_of("Rows 5 and 9.") == {5, 9}
    assert rows_of("Rows 5-7, 9: all.") == {5, 6, 7, 9}
    assert rows_of("No row.") == set()


def test_every_row_has_a_test() -> None:
    covered = {row for _, docstring in written_tests() for row in rows_of(docstring)}

    assert ROWS - covered == set()


def test_every_test_names_its_rows() -> None:
    assert [name for name, docstring in written_tests() if not rows_of(docstring)] == []
