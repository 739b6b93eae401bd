"""docs/reference/commands.md says what the parsers say."""

from pathlib import Path

import pytest

from riverlog.cli.reference import commands_page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "commands.md"


def test_the_page_is_what_the_parsers_say() -> None:
    assert PAGE.read_text() == commands_page(), (
        "run: python -m riverlog.cli.reference > docs/reference/commands.md"
    )


@pytest.mark.parametrize("command", ["up", "topics alter", "produce", "consume", "log dump", "version"])
def test_each_command_has_its_section(command: str) -> None:
    assert f"# `riverlog {command}`\n" in commands_page()


def test_connection_options_are_told_once() -> None:
    assert commands_page().count("-b, --bootstrap") == 1
