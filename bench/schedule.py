"""Take turns: every broker of a row is up and warmed, then they are measured one after the other, N times.

The order is turned round every time (A B, B A, A B ...), so that a machine that slows down steadily favours
nobody. Before each turn the disk is synced and all brokers have come to rest. A row that measures the start
gets a new broker per turn, with nothing else running.
"""

import os
import time
from collections.abc import Callable
from contextlib import ExitStack

from bench.broker import Broker
from bench.errors import BenchError
from bench.peer import KafkaBroker
from bench.process import cpu_seconds, wait_until_quiet
from bench.results import RowResult
from bench.row import Row, Sample, System
from bench.subject import RiverlogBroker

WARM_UP_SCALE = 0.5
WARM_UP_SECONDS_MAX = 45.0
PEER_WARM_UP_CPU_SECONDS = 25.0
"""A JVM compiles what it sees being used much, in several steps, for longer than one expects: in its first
seconds Kafka takes ten times the CPU per request. What counts is how much it has run, not how long. The other
brokers have no such phase; one turn fills their caches."""

WARM_UP_SHARE_MIN = 0.4
"""A quick run warms up for this share at least, and flatters us a little all the same."""

PAGE_CACHE = {"durability": "page-cache"}
"""Kafka acknowledges what is in the page cache; compared with it, riverlog does the same."""

Report = Callable[[str], None]


def broker_for(system: System, row: Row) -> Broker:
    """Make a broker that is not started."""
    match system:
        case System.PEER:
            return KafkaBroker(row.settings)
        case System.SUBJECT:
            return RiverlogBroker({**row.settings, **PAGE_CACHE})
        case System.SUBJECT_FSYNC:
            return RiverlogBroker(row.settings)


def run_row(row: Row, systems: list[System], runs: int, scale: float, report: Report) -> RowResult:
    """Measure a row; a failure ends this row only."""
    systems = [system for system in row.systems if system in systems]
    result = RowResult(row.name, {system: [] for system in systems})
    take_turns = _take_turns_starting if row.starts_broker else _take_turns_running
    try:
        take_turns(row, result, runs, scale, report)
    except (BenchError, OSError) as error:
        result.failure = f"{type(error).__name__}: {error}"
    return result


def _in_order(systems: list[System], turn: int) -> list[System]:
    return systems if turn % 2 == 0 else systems[::-1]


def _take_turns_running(row: Row, result: RowResult, runs: int, scale: float, report: Report) -> None:
    systems = list(result.turns)
    with ExitStack() as stack:
        brokers = {}
        for system in systems:
            brokers[system] = stack.enter_context(broker_for(system, row))
            brokers[system].prepare()
            brokers[system].start()
        for system in systems:
            report(f"{row.name}: warming up {system.value}")
            _warm_up(row, brokers[system], scale, PEER_WARM_UP_CPU_SECONDS if system is System.PEER else 0.0)
        for turn in range(runs):
            for system in _in_order(systems, turn):
                os.sync()
                for broker in brokers.values():
                    wait_until_quiet(broker.pid)
                report(f"{row.name}: turn {turn + 1} of {runs}, {system.value}")
                result.turns[system].append(row.measure(brokers[system], scale))


def _warm_up(row: Row, broker: Broker, scale: float, cpu_wanted: float) -> None:
    """Take turns that do not count until the broker has used so much CPU, one turn at least."""
    share = max(scale, WARM_UP_SHARE_MIN)
    deadline = time.monotonic() + WARM_UP_SECONDS_MAX * share
    enough = cpu_seconds(broker.pid) + cpu_wanted * share
    row.measure(broker, WARM_UP_SCALE * scale)
    while cpu_seconds(broker.pid) < enough and time.monotonic() < deadline:
        row.measure(broker, WARM_UP_SCALE)


def _take_turns_starting(row: Row, result: RowResult, runs: int, scale: float, report: Report) -> None:
    for turn in range(runs if scale == 1 else 1):  # a start has no size: a quick run takes one turn
        for system in _in_order(list(result.turns), turn):
            with broker_for(system, row) as broker:
                broker.prepare()
                os.sync()
                report(f"{row.name}: turn {turn + 1}, {system.value}")
                result.turns[system].append(row.measure(broker, scale))


def one_turn(row: Row, broker: RiverlogBroker, scale: float) -> Sample:
    """Take a single turn of a row on a broker that is not compared with anything: for a profile."""
    with broker:
        broker.prepare()
        if not row.starts_broker:
            broker.start()
        sample: Sample = row.measure(broker, scale)
        broker.stop()
    return sample
