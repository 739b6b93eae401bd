"""The command line as a whole: what it accepts, and the exit codes."""

import argparse
import subprocess
import sys
from collections.abc import Callable

import pytest

from riverlog.cli import command_line, main, version
from riverlog.errors import ConfigError, RequestRefused


def outcome(monkeypatch: pytest.MonkeyPatch, run: Callable[[argparse.Namespace], int]) -> int:
    """Let `riverlog version` do something else."""
    monkeypatch.setattr(version, "run", run)
    return main(["version"])


def raising(error: BaseException) -> Callable[[argparse.Namespace], int]:
    def run(_: argparse.Namespace) -> int:
        raise error

    return run


def test_without_a_command_the_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    code = main([])

    assert code == 2
    assert "commands:" in capsys.readouterr().err


def test_wrong_usage_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["version", "--wat"])

    assert "unrecognized arguments: --wat" in capsys.readouterr().err


def test_a_further_argument_where_none_is_expected_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["offsets", "orders", "payments"])

    assert "unrecognized arguments: payments" in capsys.readouterr().err


def test_files_may_stand_behind_options(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[argparse.Namespace] = []

    def run(arguments: argparse.Namespace) -> int:
        seen.append(arguments)
        return 0

    monkeypatch.setattr("riverlog.cli.produce.run", run)

    main(["produce", "orders", "a.txt", "--json", "b.txt", "-"])

    assert seen[0].files == ["a.txt", "b.txt", "-"]


def test_options_are_not_guessed_from_their_beginnings(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["version", "--js"])

    assert "unrecognized arguments: --js" in capsys.readouterr().err


def test_a_refusal_is_one_line_and_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = outcome(monkeypatch, raising(RequestRefused(17, "creating topic 'a b' failed: bad name")))

    assert code == 1
    assert capsys.readouterr().err == "riverlog: creating topic 'a b' failed: bad name\n"


def test_a_wrong_setting_is_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code = outcome(monkeypatch, raising(ConfigError("port", "x", "a number", source="--port")))

    assert code == 2
    assert capsys.readouterr().err == (
        "riverlog: port='x' (from --port) is not accepted: expected a number\n"
    )


def test_each_of_several_wrong_settings_has_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["config", "show", "--set", "num.partitions=0", "--set", "num.partitons=1"])

    lines = capsys.readouterr().err.splitlines()
    assert code == 2
    assert len(lines) == 2
    assert all(line.startswith("riverlog: num.parti") for line in lines)


def test_a_file_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = outcome(monkeypatch, raising(FileNotFoundError(2, "No such file or directory", "orders.txt")))

    assert code == 1
    assert capsys.readouterr().err == "riverlog: orders.txt: no such file or directory\n"


def test_ctrl_c_is_quiet_and_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code = outcome(monkeypatch, raising(KeyboardInterrupt()))

    assert code == 130
    assert capsys.readouterr().err == ""


def test_our_own_bug_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ZeroDivisionError):
        outcome(monkeypatch, raising(ZeroDivisionError()))


def parsers(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    found = [parser]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                found += parsers(child)
    return found


@pytest.mark.parametrize("parser", parsers(command_line.parser())[1:], ids=lambda parser: parser.prog)
def test_every_command_explains_itself(parser: argparse.ArgumentParser) -> None:
    text = parser.format_help()

    assert parser.description
    assert "\n\n" in parser.description, "a summary alone teaches nothing"
    assert all(
        action.help for action in parser._actions if not isinstance(action, argparse._SubParsersAction)
    )
    assert max(map(len, parser.description.splitlines())) <= 110
    assert "%(" not in text


def test_help_loads_neither_client_nor_broker() -> None:
    program = (
        "import sys\n"
        "from riverlog.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'confluent_kafka', 'asyncio', 'riverlog.broker', 'riverlog.protocol', 'riverlog.config'}\n"
        "sys.exit(' '.join(heavy & set(sys.modules)) or 0)\n"
    )

    finished = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
    )

    assert finished.stderr == b""
    assert finished.returncode == 0
