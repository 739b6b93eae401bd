"""Suites of crates: rskafka, a small independent client, and rust-rdkafka, librdkafka's API from Rust.

cargo brings a crate's source by its name, as a dependency of an empty crate; the tests run in a copy of it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from .suite import CACHE, Outcomes, Suite, cargo_outcomes, gentle, must

EMPTY_CRATE = """[package]
name = "get"
version = "0.0.0"
edition = "2021"

[dependencies]
{name} = "={version}"
"""


def fetched_crate(name: str, version: str, *, home: Path, log: Path) -> Path:
    """Have cargo bring a crate, and say where it keeps the source."""
    getting = home / f"get-{name}"
    (getting / "src").mkdir(parents=True, exist_ok=True)
    (getting / "src" / "lib.rs").touch()
    (getting / "Cargo.toml").write_text(EMPTY_CRATE.format(name=name, version=version))
    must(["cargo", "fetch", "-q"], cwd=getting, log=log)
    cargo_home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    (fetched,) = cargo_home.glob(f"registry/src/*/{name}-{version}")
    return fetched


class Crate(Suite):
    """The integration tests of a crate."""

    version: ClassVar[str]
    tests: ClassVar[tuple[str, ...]]

    builders = ("cargo",)
    home = CACHE / "rust"

    @property
    def source(self) -> Path:
        return self.home / f"{self.name}-{self.version}"

    @property
    def log(self) -> Path:
        return self.home / f"{self.name}.log"

    def environment(self, bootstrap: str) -> Mapping[str, str]:
        raise LookupError("each crate reads an environment of its own")

    def fetch(self) -> None:
        if not self.source.exists():
            crate = fetched_crate(self.name, self.version, home=self.home, log=self.log)
            shutil.copytree(crate, self.source)
            (self.source / "rust-toolchain.toml").unlink(missing_ok=True)
            self.mend()
        must(["cargo", "test", "-j1", "--no-run", "--tests"], cwd=self.source, log=self.log)

    def mend(self) -> None:
        """Repair what a published crate needs to build on its own; most need nothing."""

    def run(self, bootstrap: str) -> Outcomes:
        self.log.write_text("")
        files = [word for test in self.tests for word in ("--test", test)]
        gentle(
            ["cargo", "test", "--no-fail-fast", *files, "--", "--test-threads=2"],
            cwd=self.source,
            log=self.log,
            environment={**self.environment(bootstrap), "RUST_BACKTRACE": "0"},
        )
        return cargo_outcomes(self.log.read_text(errors="replace"))


class Rskafka(Crate):
    name = "rskafka"
    version = "0.6.0"
    tests = ("client", "consumer", "producer", "produce_consume")

    def environment(self, bootstrap: str) -> Mapping[str, str]:
        return {"TEST_INTEGRATION": "1", "TEST_BROKER_IMPL": "kafka", "KAFKA_CONNECT": bootstrap}

    def mend(self) -> None:
        # the version in its lock file was withdrawn
        must(["cargo", "update", "-q", "-p", "rsasl"], cwd=self.source, log=self.log)


class RustRdkafka(Crate):
    name = "rdkafka"
    version = "0.39.0"
    tests = ("*",)
    # it compares what it is told with an address of its own
    settings = {"num.partitions": "3", "broker.id": "0"}  # noqa: RUF012 - a constant mapping
    port = 9092

    def environment(self, bootstrap: str) -> Mapping[str, str]:
        return {"KAFKA_HOST": bootstrap, "KAFKA_VERSION": "4.0.0"}
