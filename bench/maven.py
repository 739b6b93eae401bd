"""Java libraries by name from Maven Central, kept in a cache directory of the user and used again.

$RIVERLOG_CACHE or ~/.cache/riverlog
    NAME/               the jars of one set of libraries
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench.errors import BrokerFailed

FETCH_SECONDS_MAX = 900

_PROJECT = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>riverlog.bench</groupId><artifactId>peer</artifactId><version>1</version><packaging>pom</packaging>
  <dependencies>{dependencies}</dependencies>
</project>
"""


def cache_directory() -> Path:
    """Return where what was fetched is kept between runs."""
    return Path(os.environ.get("RIVERLOG_CACHE") or Path.home() / ".cache" / "riverlog")


def fetched(name: str, artifacts: Sequence[str]) -> Path:
    """Return the directory of these artifacts (group:name:version), fetching them by name the first time.

    What they need comes along. `name` carries the version: what is there
    under it is taken as it is.

    Raises:
        BrokerFailed: they are not there and cannot be fetched.
    """
    kept = cache_directory() / name
    if kept.exists():
        return kept
    maven = shutil.which("mvn")
    if maven is None:
        raise BrokerFailed(f"there is no {kept}, and no Maven (`mvn`) to fetch its jars with")
    kept.parent.mkdir(parents=True, exist_ok=True)
    # Fetched beside and renamed, so that an interrupted fetch leaves no half-filled directory.
    with tempfile.TemporaryDirectory(dir=kept.parent) as work:
        dependencies = "".join(_dependency(each) for each in artifacts)
        Path(work, "pom.xml").write_text(_PROJECT.format(dependencies=dependencies))
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={work}/jars"]
        done = subprocess.run(
            [maven, "-B", "-q", *goal], cwd=work, capture_output=True, text=True, timeout=FETCH_SECONDS_MAX
        )
        if done.returncode != 0:
            raise BrokerFailed(f"Maven could not fetch {name}:\n{done.stdout[-2000:]}")
        if not kept.exists():  # else another run was faster
            Path(work, "jars").rename(kept)
    return kept


def class_path(directory: Path) -> str:
    """Name every jar: the JVM expands `*` in the directory's order, which differs between machines."""
    return os.pathsep.join(sorted(str(jar) for jar in directory.glob("*.jar")))


def _dependency(artifact: str) -> str:
    group, name, version = artifact.split(":")
    return (
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId>"
        f"<version>{version}</version></dependency>"
    )
