"""Suites of Go modules: clients of their own that share no code with Java's or librdkafka.

go brings a module's source by its name; the tests are built and run in a copy of it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from .suite import CACHE, FAILED, PASSED, SKIPPED, Outcomes, Suite, gentle, must

RESULT = re.compile(r"^ *--- (PASS|FAIL|SKIP): (\S+)")
WORDS = {"PASS": PASSED, "FAIL": FAILED, "SKIP": SKIPPED}
EMPTY_MODULE = "module get\n"


def go_outcomes(report: str) -> Outcomes:
    """Read what `go test -v` printed: a line for each test and for each of its parts."""
    found = (RESULT.match(line) for line in report.splitlines())
    return {result[2]: WORDS[result[1]] for result in found if result is not None}


class GoModule(Suite):
    """The tests of one package of a module."""

    module: ClassVar[str]
    version: ClassVar[str]
    package: ClassVar[str] = "."
    build_flags: ClassVar[Sequence[str]] = ()
    run_flags: ClassVar[Sequence[str]] = ()

    builders = ("go",)
    home = CACHE / "go"

    @property
    def source(self) -> Path:
        return self.home / f"{self.name}-{self.version}"

    @property
    def program(self) -> Path:
        return self.home / f"{self.name}-{self.version}.test"

    @property
    def log(self) -> Path:
        return self.home / f"{self.name}.log"

    def environment(self, bootstrap: str) -> Mapping[str, str]:
        raise LookupError("each module reads an environment of its own")

    def mend(self) -> None:
        """Tell the copy where a single broker is, where it has no other way to know."""

    def fetch(self) -> None:
        if self.program.exists():
            return
        getting = self.home / "get"
        getting.mkdir(parents=True, exist_ok=True)
        (getting / "go.mod").write_text(EMPTY_MODULE)
        must(["go", "mod", "download", f"{self.module}@{self.version}"], cwd=getting, log=self.log)
        kept = subprocess.run(["go", "env", "GOMODCACHE"], capture_output=True, text=True, check=True)
        if not self.source.exists():
            # What go keeps is read-only, and a capital letter is an exclamation mark and the small one.
            escaped = re.sub("[A-Z]", lambda letter: f"!{letter[0].lower()}", self.module)
            shutil.copytree(
                os.path.join(kept.stdout.strip(), f"{escaped}@{self.version}"),
                self.source,
                copy_function=shutil.copyfile,
            )
            for folder, _, _ in os.walk(self.source):
                os.chmod(folder, 0o755)
            self.mend()
        build = ["go", "test", "-mod=mod", *self.build_flags, "-c", "-o", self.program, self.package]
        must(build, cwd=self.source, log=self.log)

    def run(self, bootstrap: str) -> Outcomes:
        self.log.write_text("")
        gentle(
            [self.program, "-test.v", "-test.timeout", "14m", *self.run_flags],
            cwd=self.source / self.package,
            log=self.log,
            environment=self.environment(bootstrap),
        )
        return go_outcomes(self.log.read_text(errors="replace"))


class FranzGo(GoModule):
    """Groups of both protocols and transactions under load, and what its users once reported."""

    name = "franz-go"
    module = "github.com/twmb/franz-go"
    version = "v1.22.2"
    package = "./pkg/kgo"
    settings = {"group.initial.rebalance.delay.ms": "0"}  # noqa: RUF012 - a constant mapping

    def environment(self, bootstrap: str) -> Mapping[str, str]:
        return {"KGO_SEEDS": bootstrap, "KGO_TEST_RF": "1", "KGO_TEST_RECORDS": "50000"}


class KafkaGo(GoModule):
    """Requests of old versions, readers in groups, and every administration call of a small client."""

    name = "kafka-go"
    module = "github.com/segmentio/kafka-go"
    version = "v0.4.51"
    # This one ends the whole program, also against Apache Kafka: it uses a client that it never made.
    run_flags = ("-test.skip", "TestReaderConsumerGroup/consumer_group_commits_on_close|TestDialerResolver")
    settings = {  # noqa: RUF012 - a constant mapping
        "group.initial.rebalance.delay.ms": "0",
        "message.max.bytes": "200000000",
        "advertised.listeners": "PLAINTEXT://localhost:9092",
    }
    port = 9092

    def environment(self, bootstrap: str) -> Mapping[str, str]:
        return {"KAFKA_VERSION": "4.3.1", "KAFKA_SKIP_NETTEST": "1"}


class Sarama(GoModule):
    """Producers and consumers of each protocol version since 0.10, groups, transactions, administration."""

    name = "sarama"
    module = "github.com/IBM/sarama"
    version = "v1.61.1"
    build_flags = ("-tags", "functional")
    run_flags = ("-test.run", "^TestFunc|^TestVersionMatrix|^TestInterceptors$|^TestConsumerGroupDeadlock$")
    settings = {"group.initial.rebalance.delay.ms": "0"}  # noqa: RUF012 - a constant mapping

    SETUP = "	env.ToxiproxyClient = toxiproxy.NewClient(endpoint)\n"
    ONE_BROKER = """	if addr, ok := os.LookupEnv("ONE_BROKER"); ok {
		env.KafkaBrokerAddrs = []string{addr}
		return nil
	}
"""
    RESET = "func resetProxies(t testing.TB) {\n"
    NO_PROXIES = """	if FunctionalTestEnv.ToxiproxyClient == nil {
		return
	}
"""

    def mend(self) -> None:
        # It wants five brokers behind proxies that break connections: the tests that do so fail without.
        file = self.source / "functional_test.go"
        text = file.read_text().replace("ReplicationFactor: 3", "ReplicationFactor: 1")
        assert self.SETUP in text, f"{file} is not the one that this was written for"
        assert self.RESET in text, f"{file} is not the one that this was written for"
        text = text.replace(self.SETUP, self.ONE_BROKER + self.SETUP)
        text = text.replace(self.RESET, self.RESET + self.NO_PROXIES)
        file.write_text(text)

    def environment(self, bootstrap: str) -> Mapping[str, str]:
        return {"ONE_BROKER": bootstrap, "TOXIPROXY_ADDR": "http://127.0.0.1:1", "KAFKA_VERSION": "4.3.1"}
