"""Where checkpoints lie, and who uses them."""

from __future__ import annotations

from pathlib import Path

import pytest

from riverlog.errors import RiverlogError
from riverlog.pipelines.jobs.state_directory import QueryIsRunning, VersionState, versions
from tests.unit.pipelines.jobs.plans import CONTRACT


def state(root: Path, version: int = 1) -> VersionState:
    return VersionState(root, "shop", "clicks", version)


def test_a_version_has_a_directory_of_its_own(tmp_path: Path) -> None:
    assert state(tmp_path, 2).checkpoint == tmp_path / "shop" / "clicks" / "v2" / "checkpoint"


def test_a_contract_is_kept(tmp_path: Path) -> None:
    assert state(tmp_path).contract() is None

    state(tmp_path).keep_contract(CONTRACT)

    assert state(tmp_path).contract() == CONTRACT


def test_a_contract_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    state(tmp_path).keep_contract(CONTRACT)
    (state(tmp_path).directory / "contract.json").write_text('{"format": 99}')

    with pytest.raises(RiverlogError, match=r"contract\.json cannot be read \(a contract of format 99"):
        state(tmp_path).contract()


def test_versions_that_have_state_are_listed_in_order(tmp_path: Path) -> None:
    for version in (10, 2):
        state(tmp_path, version).keep_contract(CONTRACT)
    with state(tmp_path, 3).locked():
        pass  # only looked at, never started

    assert versions(tmp_path, "shop", "clicks") == [2, 10]
    assert versions(tmp_path, "shop", "nothing") == []


def test_a_second_use_of_a_state_is_refused_naming_the_first(tmp_path: Path) -> None:
    said = "clicks v1 runs already, as process"
    with state(tmp_path).locked(), pytest.raises(QueryIsRunning, match=said), state(tmp_path).locked():
        raise AssertionError("locked twice")

    with state(tmp_path).locked():
        pass  # free again


def test_limits_are_written_and_taken_away(tmp_path: Path) -> None:
    state(tmp_path).limit({"hold": True})
    assert state(tmp_path).limits.read_text().split() == ["{", '"hold":', "true", "}"]

    state(tmp_path).limit(None)
    state(tmp_path).limit(None)
    assert not state(tmp_path).limits.exists()
