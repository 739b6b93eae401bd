"""`riverlog config show`: what a broker would be started with."""

import json
from pathlib import Path

import pytest

from riverlog.cli import main


def test_only_what_was_set_is_shown_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["config", "show", "--set", "num.partitions=6", "--port", "7"])

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert code == 0
    assert lines == [["setting", "value", "from"], ["port", "7", "--port"], ["num.partitions", "6", "--set"]]


def test_the_strongest_source_wins_and_names_what_it_overrules(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=2\n")
    monkeypatch.setenv("RIVERLOG_NUM_PARTITIONS", "3")

    main(["config", "show", "--json", "--config", str(file), "--set", "num.partitions=6"])

    shown = json.loads(capsys.readouterr().out)
    assert (shown["name"], shown["value"], shown["from"]) == ("num.partitions", "6", "--set")
    assert [each["value"] for each in shown["overrules"]] == ["3", "2", "1"]
    assert shown["overrules"][1]["from"] == f"{file}, line 1"


def test_all_shows_defaults_too(capsys: pytest.CaptureFixture[str]) -> None:
    main(["config", "show", "--all", "--json"])

    shown = {entry["name"]: entry for entry in map(json.loads, capsys.readouterr().out.splitlines())}
    assert shown["node.id"]["value"] == "1"
    assert shown["node.id"]["from"] == "default"
    assert shown["log.retention.hours"]["value"] == "168"
    assert "log.retention.ms" not in shown  # silent: the hours decide


def test_nothing_set_is_said_to_be_so(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["config", "show"])

    printed = capsys.readouterr()
    assert code == 0
    assert printed.out == ""
    assert printed.err == "riverlog: all settings have their defaults; --all shows them\n"


def test_settings_of_kafka_without_effect_are_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.io.threads=8\n")

    main(["config", "show", "--config", str(file)])

    assert "riverlog: 1 setting has no effect here: num.io.threads" in capsys.readouterr().err


@pytest.mark.parametrize("variable", ["RIVERLOG_BOOTSTRAP", "RIVERLOG_CACHE"])
def test_variables_that_are_not_for_the_broker_are_no_settings(
    variable: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "elsewhere:9092")

    assert main(["config", "show"]) == 0
    assert variable not in capsys.readouterr().err


def test_a_setting_without_value_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["config", "set", "--topic", "orders", "retention.ms"])

    assert "'retention.ms' is not NAME=VALUE" in capsys.readouterr().err


def test_one_owner_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["config", "describe", "retention.ms"])

    assert "one of the arguments --topic --broker is required" in capsys.readouterr().err
