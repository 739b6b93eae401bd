"""The command: run the suites, compare with the lists, and say what changed."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.live_broker import LiveBroker

from .go import FranzGo, KafkaGo, Sarama
from .kafka_python import KafkaPythonSuite
from .librdkafka import Librdkafka
from .rust import Rskafka, RustRdkafka
from .suite import FAILED, PASSED, SKIPPED, Outcomes, Suite

SUITES: dict[str, type[Suite]] = {
    suite.name: suite
    for suite in (KafkaPythonSuite, Rskafka, RustRdkafka, FranzGo, KafkaGo, Sarama, Librdkafka)
}


def outcomes_of(suite: Suite, bootstrap: str | None) -> Outcomes:
    """Run a suite against the broker at `bootstrap`, or against a riverlog of its own."""
    suite.fetch()
    if bootstrap is not None:
        return suite.run(bootstrap)
    with (
        tempfile.TemporaryDirectory(prefix="riverlog-suite-") as data,
        LiveBroker(Path(data) / "data", port=suite.port, settings=suite.settings) as broker,
    ):
        return suite.run(broker.bootstrap)


def run(suite: Suite, bootstrap: str | None, *, accept: bool) -> bool:
    """Run one suite, print what came of it, and tell whether every listed test passed."""
    started = time.monotonic()
    outcomes = outcomes_of(suite, bootstrap)
    counts = Counter(outcomes.values())
    passed = {name for name, outcome in outcomes.items() if outcome == PASSED}
    listed = suite.listed() if bootstrap is None else set()
    lost, gained = sorted(listed - passed), sorted(passed - listed)

    for name in sorted(name for name, outcome in outcomes.items() if outcome == FAILED):
        print(f"  failed   {name}")
    for name in lost:
        print(f"  LOST     {name}: it passed before, now: {outcomes.get(name, 'not run')}")
    if bootstrap is None:
        for name in gained:
            print(f"  {'added' if accept else 'new':8} {name}")
        if accept:
            suite.accept(passed)
    summary = ", ".join(f"{outcome} {counts[outcome]}" for outcome in (PASSED, FAILED, SKIPPED))
    print(f"{suite.name}: {summary}, {len(lost)} lost, in {time.monotonic() - started:.0f} s", flush=True)
    return not lost


def main() -> int:
    """Run the suites that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.suites", description="Run other suites.")
    parser.add_argument("suite", nargs="*", help=f"of {', '.join(SUITES)}; default: all")
    parser.add_argument("--bootstrap", help="a broker that is up already; default: a riverlog for each suite")
    parser.add_argument("--accept", action="store_true", help="add what newly passes to the lists")
    arguments = parser.parse_args()
    unknown = set(arguments.suite) - set(SUITES)
    if unknown:
        parser.error(f"no suite {', '.join(sorted(unknown))}; there are {', '.join(SUITES)}")
    if arguments.accept and arguments.bootstrap:
        parser.error("the lists are riverlog's: --accept goes without --bootstrap")
    kept = [
        run(SUITES[name](), arguments.bootstrap, accept=arguments.accept)
        for name in arguments.suite or list(SUITES)
    ]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
