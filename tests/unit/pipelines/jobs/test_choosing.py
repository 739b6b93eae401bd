"""Which version of a query runs."""

from __future__ import annotations

from riverlog.pipelines.jobs.choosing import choose, current_version, refusal
from riverlog.pipelines.jobs.comparison import Difference, Level, Verdict


def test_the_first_start_takes_the_newest_version() -> None:
    assert choose("app.py", "clicks", [1, 2], None).version == 2


def test_readers_stay_on_their_version_while_the_file_has_it() -> None:
    assert choose("app.py", "clicks", [1, 2], 1).version == 1


def test_a_version_that_readers_are_not_on_is_refused_with_the_way_there() -> None:
    choice = choose("app.py", "clicks", [2], 1)

    assert choice.version is None
    assert "pipelines replay app.py clicks --version 2" in choice.refusal
    assert "pipelines switch app.py clicks --to 2" in choice.refusal


def test_the_current_version_is_that_of_the_pointer_else_the_newest_that_ran() -> None:
    assert current_version(1, [1, 2]) == 1
    assert current_version(None, [1, 2]) == 2
    assert current_version(None, []) is None


def verdict(level: Level) -> Verdict:
    return Verdict((Difference(level, "because"), Difference(Level.SAFE, "beside")))


def test_what_is_safe_is_not_refused() -> None:
    assert refusal("app.py", "clicks", 1, verdict(Level.SAFE)) == ""


def test_a_refusal_tells_the_reasons_and_what_to_do() -> None:
    migration = refusal("app.py", "clicks", 1, verdict(Level.MIGRATION))
    replay = refusal("app.py", "clicks", 1, verdict(Level.REPLAY))

    assert "because" in migration
    assert "beside" not in migration
    assert "--accept clicks" in migration
    assert "version=2" in replay
    assert "pipelines replay app.py clicks" in replay
