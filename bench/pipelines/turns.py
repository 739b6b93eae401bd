"""Take turns: one broker, and the contenders one after the other, in an order that is turned round."""

import os
from collections.abc import Callable

from bench.broker import Broker
from bench.errors import BenchError
from bench.pipelines.contest import Contest
from bench.pipelines.kept import Kept
from bench.process import wait_until_quiet
from bench.schedule import PAGE_CACHE
from bench.subject import RiverlogBroker

Report = Callable[[str], None]

# What is read is one partition of a few hundred megabytes; what is written is read back at once.
SETTINGS = {**PAGE_CACHE, "offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "4"}


def run(contest: Contest, kept: Kept, contenders: list[str], runs: int, report: Report) -> None:
    """Measure a row; a failure ends this row only."""
    kept.turns = {name: [] for name in contenders}
    try:
        with RiverlogBroker(SETTINGS) as broker:
            broker.start()
            report(f"{contest.name}: filling topics")
            prepared = contest.prepare(broker, kept.scale)
            for turn in range(runs):
                for name in contenders if turn % 2 == 0 else contenders[::-1]:
                    _settle(broker)
                    report(f"{contest.name}: turn {turn + 1} of {runs}, {name}")
                    sample = contest.measure(broker, prepared, name, turn)
                    kept.turns[name].append(sample)
                    report(f"{contest.name}: {name} {sample}")
    except (BenchError, OSError) as error:
        kept.failure = f"{type(error).__name__}: {error}"


def _settle(broker: Broker) -> None:
    os.sync()
    wait_until_quiet(broker.pid)
