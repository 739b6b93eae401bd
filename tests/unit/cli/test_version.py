"""`riverlog version`."""

import json

import pytest

from riverlog import __version__
from riverlog.cli import main, version


def test_versions_are_printed_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["version"])

    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert lines[0].split() == ["riverlog", __version__]


def test_versions_are_printed_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    main(["version", "--json"])

    versions = json.loads(capsys.readouterr().out)
    assert versions["riverlog"] == __version__
    assert versions["confluent-kafka"]


def test_what_is_not_installed_is_said_to_be_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(version, "_PARTS", ("no-such-distribution",))

    main(["version"])

    assert "no-such-distribution not installed" in capsys.readouterr().out
