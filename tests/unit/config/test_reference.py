"""The reference page and the example files are in step with the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from riverlog.config.loading import load_config
from riverlog.config.reference import settings_page
from riverlog.config.table import ROWS

DOCS = Path(__file__).parents[3] / "docs"


def test_the_page_says_what_the_table_says() -> None:
    page = (DOCS / "reference" / "settings.md").read_text()

    assert page == settings_page(), "run: python -m riverlog.config.reference > docs/reference/settings.md"


def test_the_page_names_every_setting_under_each_of_its_names() -> None:
    page = settings_page()

    missing = [
        name for row in ROWS for name in (*row.names, row.setting.topic_name) if f"`{name}`" not in page
    ]

    assert [name for name in missing if name] == []


@pytest.mark.parametrize("name", ["riverlog.properties", "riverlog.toml"])
def test_an_example_file_is_accepted_without_a_warning(name: str) -> None:
    config = load_config(file=str(DOCS / "examples" / name))

    assert config.warnings == ()
    assert config.settings.topic_defaults.retention_ms == 3 * 24 * 3_600_000


def test_the_example_files_say_the_same() -> None:
    loaded = [load_config(file=str(DOCS / "examples" / f"riverlog.{end}")) for end in ("properties", "toml")]

    assert loaded[0].settings == loaded[1].settings
