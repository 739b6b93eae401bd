"""The connector's jars: what Maven is asked for, and what is there after it failed or was not found."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from riverlog.pipelines.jars import (
    ARTIFACTS,
    NAME,
    JarsMissing,
    directory,
    fetch,
    kept,
    project,
    with_jars,
)

MAKES_ALL = """
for name in one two three four; do mkdir -p jars && : > jars/$name.jar; done
"""


def environment(root: Path, maven: str = "") -> dict[str, str]:
    """A cache of its own, and a PATH with this for Maven."""
    tools = root / "tools"
    tools.mkdir()
    if maven:
        (tools / "mvn").write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{maven}")
        (tools / "mvn").chmod(0o755)
    return {"RIVERLOG_CACHE": str(root / "cache"), "PATH": str(tools)}


def test_jars_are_fetched_once_and_found_again_without_maven(tmp_path: Path) -> None:
    given = environment(tmp_path, MAKES_ALL)

    fetched = fetch(given)

    assert [jar.name for jar in fetched] == ["four.jar", "one.jar", "three.jar", "two.jar"]
    assert {jar.parent for jar in fetched} == {directory(given)}
    assert fetch(given | {"PATH": ""}) == kept(given) == fetched
    assert [each.name for each in (tmp_path / "cache").iterdir()] == [NAME]


def test_without_maven_it_says_so_and_where_the_jars_would_be(tmp_path: Path) -> None:
    given = environment(tmp_path)

    with pytest.raises(JarsMissing, match=r"no Maven \(`mvn`\) on PATH") as refused:
        fetch(given)

    assert str(directory(given)) in str(refused.value)
    assert ARTIFACTS[0] in str(refused.value)


@pytest.mark.parametrize(
    ("maven", "told"),
    [
        ("mkdir jars; : > jars/one.jar; echo no such artifact; exit 1", "could not fetch the jars:\nno such"),
        ("mkdir jars; : > jars/one.jar", "other jars than the 4"),
    ],
)
def test_a_fetch_that_fails_leaves_no_half(tmp_path: Path, maven: str, told: str) -> None:
    given = environment(tmp_path, maven)

    with pytest.raises(JarsMissing, match=told):
        fetch(given)

    assert list((tmp_path / "cache").iterdir()) == []
    assert kept(given) == []


def test_maven_is_asked_for_these_libraries_alone() -> None:
    made = ET.fromstring(project(("group:name:1", "other:thing:2")))

    asked = [[part.text for part in each[:3]] for each in made.iter("dependency")]

    assert asked == [["group", "name", "1"], ["other", "thing", "2"]]
    assert len(list(made.iter("exclusion"))) == 2


def test_jars_of_the_users_own_stay_and_none_is_named_twice() -> None:
    jars = [Path("/c/a.jar"), Path("/c/b.jar")]

    assert with_jars({"x": "1"}, []) == {"x": "1"}
    assert with_jars({}, jars) == {"spark.jars": "/c/a.jar,/c/b.jar"}
    assert with_jars({"spark.jars": "/own.jar,/c/a.jar"}, jars) == {
        "spark.jars": "/own.jar,/c/a.jar,/c/b.jar"
    }
