"""The reference page of commands, written from the parsers: `docs/reference/commands.md`.

    python -m riverlog.cli.reference > docs/reference/commands.md

A test compares the page with the parsers, so neither can be changed alone.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator

from riverlog.cli.arguments import BOOTSTRAP_VARIABLE, CONNECTION_TITLE, add_connection
from riverlog.cli.command_line import parser

_INTRODUCTION = """\
# Commands

<!-- Written by `python -m riverlog.cli.reference`: change the parsers in src/riverlog/cli instead. -->

`riverlog up` starts a broker on this machine. All other commands are ordinary clients, or read files: they
work with riverlog and with Apache Kafka alike. `riverlog COMMAND --help` prints what stands here.

Results go to standard output, everything said about them to standard error. `--json` prints one object per
line, for programs.

| Exit code | Meaning |
|---|---|
| 0 | done |
| 1 | refused or failed: the reason is on standard error |
| 2 | wrong usage, or a wrong setting |
| 130 | ended by Ctrl-C |
| 141 | whoever read the output went away |
"""

_WHICH_CLUSTER = "which-cluster"


def commands_page() -> str:
    """Write the whole page."""
    return "\n".join((_INTRODUCTION, *_connection_options(), *_commands(parser(), level=2)))


def _connection_options() -> Iterator[str]:
    example = argparse.ArgumentParser()
    add_connection(example)
    yield "## Which cluster\n"
    yield "Every command that speaks to a cluster takes these, marked there as *connection options*.\n"
    yield from _table(_connection_group(example))


def _commands(above: argparse.ArgumentParser, level: int) -> Iterator[str]:
    for action in above._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield f"{'#' * level} `{command.prog}`\n"
                yield from _text(command.description or "")
                if not any(isinstance(each, argparse._SubParsersAction) for each in command._actions):
                    yield f"```text\n{_usage(command)}\n```\n"
                    yield from _arguments(command)
                if command.epilog:
                    examples = "\n".join(line.removeprefix("  ") for line in command.epilog.splitlines()[1:])
                    yield f"```console\n{examples}\n```\n"
                yield from _commands(command, level + 1)


def _usage(command: argparse.ArgumentParser) -> str:
    """One short line: the options are told in the table below it."""
    parts = [command.prog]
    required = [group for group in command._mutually_exclusive_groups if group.required]
    parts += [f"({' | '.join(_names(each) for each in group._group_actions)})" for group in required]
    parts.append("[OPTION]...")
    for action in command._actions:
        if not action.option_strings:
            metavar = str(action.metavar)
            parts.append(
                {"*": f"[{metavar}]...", "+": f"{metavar}...", "?": f"[{metavar}]"}.get(
                    str(action.nargs), metavar
                )
            )
    return " ".join(parts)


def _arguments(command: argparse.ArgumentParser) -> Iterator[str]:
    connection = _connection_group(command)
    own = [action for action in command._actions if action not in connection]
    yield from _table(own, further=f"[connection options](#{_WHICH_CLUSTER})" if connection else "")


def _connection_group(command: argparse.ArgumentParser) -> list[argparse.Action]:
    return [
        action
        for group in command._action_groups
        if group.title == CONNECTION_TITLE
        for action in group._group_actions
    ]


def _table(actions: list[argparse.Action], *, further: str = "") -> Iterator[str]:
    yield "| Argument | Meaning |"
    yield "|---|---|"
    for action in actions:
        if not isinstance(action, argparse._HelpAction):
            meaning = (action.help or "").replace("%%", "%")
            yield f"| {_cell(_names(action), is_code=True)} | {_cell(meaning)} |"
    if further:
        yield f"| ... | {further} |"
    yield ""


def _names(action: argparse.Action) -> str:
    if not action.option_strings:
        return str(action.metavar)
    names = ", ".join(action.option_strings)
    if action.nargs == 0:
        return names
    value = action.metavar or ("{" + ",".join(map(str, action.choices)) + "}" if action.choices else "VALUE")
    return f"{names} {value}"


def _cell(text: str, *, is_code: bool = False) -> str:
    safe = text.replace("|", "\\|")
    return f"`{safe}`" if is_code else safe.replace("<", "\\<").replace("*", "\\*")


def _text(text: str) -> Iterator[str]:
    """Paragraphs stay paragraphs; one with indented lines is a block of its own."""
    for paragraph in text.split("\n\n"):
        lines = paragraph.splitlines()
        indented = [line for line in lines if line.startswith("  ")]
        plain = [line for line in lines if not line.startswith("  ")]
        if plain:
            yield "\n".join(plain) + "\n"
        if indented:
            block = "\n".join(line.removeprefix("  ") for line in indented)
            yield f"```text\n{block}\n```\n"


if __name__ == "__main__":
    os.environ.pop(BOOTSTRAP_VARIABLE, None)  # the page tells of defaults, not of this machine
    sys.stdout.write(commands_page())
