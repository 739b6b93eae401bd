"""The reference pages say what the code says."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools.reference import PAGES, REFERENCE


@pytest.mark.parametrize("name", sorted(PAGES))
def test_the_page_is_what_the_code_says(name: str) -> None:
    derived = subprocess.run([sys.executable, "-m", PAGES[name]], stdout=subprocess.PIPE, check=True).stdout

    assert (REFERENCE / name).read_bytes() == derived, "run `make docs`"


def test_every_page_that_is_there_is_derived_or_written_by_hand_on_purpose() -> None:
    by_hand = {"on-disk-format.md"}

    assert {path.name for path in Path(REFERENCE).glob("*.md")} == set(PAGES) | by_hand
