"""What a user may declare, and what a file may define."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from riverlog.pipelines.jobs.app import App, AppRefused
from riverlog.pipelines.jobs.loading import load, locate


def query(_: object) -> None:
    """Stand for a query's function."""


def test_a_query_is_declared_and_its_function_stays_as_it_is() -> None:
    app = App("shop")

    given = app.query("clicks", output="totals", key="page", version=2)(query)

    (declared,) = app.queries
    assert given is query
    assert (declared.topic, declared.key, declared.title) == ("totals.v2", ("page",), "clicks v2")


def test_versions_of_a_query_are_given_oldest_first() -> None:
    app = App("shop")
    for version in (2, 1):
        app.query("clicks", output="totals", version=version)(query)

    assert [each.version for each in app.versions("clicks")] == [1, 2]
    assert app.names() == ["clicks"]


def test_a_query_that_is_not_there_is_refused_naming_those_that_are() -> None:
    app = App("shop")
    app.query("clicks")(query)

    with pytest.raises(AppRefused, match="has no query klicks; it has: clicks"):
        app.versions("klicks")


def test_what_makes_no_sense_is_refused() -> None:
    app = App("shop")
    app.query("clicks", output="totals")(query)

    with pytest.raises(AppRefused, match="clicks v1 twice"):
        app.query("clicks", output="totals")(query)
    with pytest.raises(AppRefused, match="written by clicks and orders"):
        app.query("orders", output="totals")(query)
    with pytest.raises(AppRefused, match="query 'a/b' is not accepted"):
        app.query("a/b")
    with pytest.raises(AppRefused, match="version=0"):
        app.query("a", version=0)
    with pytest.raises(AppRefused, match="output_mode='all' is not accepted: append, update, complete are"):
        app.query("a", output_mode="all")
    with pytest.raises(AppRefused, match="app ''"):
        App("")


@pytest.fixture
def path_is_put_back() -> Iterator[None]:
    before = list(sys.path)
    yield
    sys.path[:] = before


@pytest.mark.usefixtures("path_is_put_back")
def test_a_file_gives_its_app_and_imports_from_beside_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    (tmp_path / "shop_names.py").write_text("NAME = 'shop'\n")
    (tmp_path / "app.py").write_text(
        "from riverlog.pipelines import App\nfrom shop_names import NAME\napp = App(NAME)\n"
        "@app.query('clicks')\ndef clicks(context): ...\n"
    )

    assert load(locate(tmp_path / "app.py")).name == "shop"


@pytest.mark.usefixtures("path_is_put_back")
def test_a_file_without_one_app_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "")
    file = tmp_path / "app.py"
    cases = {
        "": "defines 0 apps: expected one",
        "from riverlog.pipelines import App\na, b = App('a'), App('b')\n": r"defines 2 apps \(a, b\)",
        "from riverlog.pipelines import App\na = App('a')\n": "app a in .* has no queries",
    }

    for text, reason in cases.items():
        file.write_text(text)
        with pytest.raises(AppRefused, match=reason):
            load(locate(file))
    with pytest.raises(AppRefused, match="is not a file"):
        locate(tmp_path / "nothing.py")
