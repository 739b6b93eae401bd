"""`riverlog run`: the queries of an app, in one Spark, until Ctrl-C or SIGTERM."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from riverlog.cli.arguments import (
    Subparsers,
    add_command,
    add_connection,
    add_json,
    connection,
    name_value,
    positive_number,
)

if TYPE_CHECKING:
    from riverlog.pipelines.jobs.app_run import AppRun
    from riverlog.pipelines.jobs.preparing import Cluster
    from riverlog.pipelines.jobs.records import Status

DEFAULT_STATE = "riverlog-state"
DEFAULT_INTERVAL_SECONDS = 5.0

_TEXT = """\
Starts every query that the file's app declares and prints one line for each of them per interval: how
much came in, how far it is behind the newest records, the watermark, how many rows were too late.
Needs `pip install riverlog[spark]`.

A query continues from its checkpoint in the state directory. One whose code does not fit its
checkpoint is refused with the reasons; `riverlog pipelines diff` tells them beforehand.

Ctrl-C and SIGTERM stop every query at the end of its batch."""

_EXAMPLES = """\
  riverlog run app.py
  riverlog run app.py --master spark://host:7077 --state /shared/state
  riverlog run app.py --query clicks-per-minute --until-caught-up
  riverlog run app.py --set spark.sql.shuffle.partitions=8 --json"""


def add_to(commands: Subparsers) -> None:
    """Add the command to the command line."""
    parser = add_command(commands, "run", "run the queries of an app on Spark", _TEXT, _EXAMPLES)
    add_app(parser)
    parser.add_argument(
        "--query",
        dest="queries",
        metavar="NAME",
        action="append",
        default=[],
        help="only this query; may be repeated",
    )
    parser.add_argument(
        "--until-caught-up", action="store_true", help="stop once everything that is there now is processed"
    )
    parser.add_argument(
        "--accept",
        dest="accepted",
        metavar="NAME",
        action="append",
        default=[],
        help="start this query though its readers must be prepared for its new output; may be repeated",
    )
    parser.add_argument(
        "--interval",
        metavar="SECONDS",
        type=positive_number,
        default=DEFAULT_INTERVAL_SECONDS,
        help=f"how often progress is printed and published; default: {DEFAULT_INTERVAL_SECONDS:g}",
    )
    add_json(parser)
    add_connection(parser)
    parser.set_defaults(run=run)


def add_app(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which app, on which Spark, with which state."""
    parser.add_argument("file", metavar="FILE", help="the Python file that defines the app")
    add_state(parser)
    parser.add_argument(
        "--master",
        metavar="URL",
        help="the Spark to run on; default: local[*], this machine with all its cores",
    )
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="NAME=VALUE",
        type=name_value,
        action="append",
        default=[],
        help="a setting of Spark, such as spark.sql.shuffle.partitions=8; may be repeated",
    )


def add_state(parser: argparse.ArgumentParser) -> None:
    """Add the option that says where checkpoints lie."""
    parser.add_argument(
        "--state",
        metavar="DIR",
        default=DEFAULT_STATE,
        help="directory of the checkpoints; with a cluster one that all of its machines share; "
        f"default: ./{DEFAULT_STATE}",
    )


def cluster_of(arguments: argparse.Namespace) -> Cluster:
    """Collect what `add_connection` asked for, as jobs take it."""
    from riverlog.pipelines.jobs.preparing import Cluster

    return Cluster(**connection(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Run until told to stop."""
    import logging

    from riverlog.pipelines.jobs.app_run import AppRun, Plan
    from riverlog.pipelines.jobs.board import Board
    from riverlog.pipelines.jobs.loading import load, locate
    from riverlog.pipelines.jobs.preparing import spark_for

    logging.basicConfig(format="riverlog: %(message)s", level="WARNING")
    file = locate(arguments.file)
    plan = Plan(
        arguments.file,
        arguments.state,
        tuple(arguments.queries),
        tuple(arguments.accepted),
        arguments.until_caught_up,
        arguments.interval,
    )
    with Board(**connection(arguments)) as board:
        board.refresh()  # a wrong address is best told before Spark starts
        with spark_for(file.stem, master=arguments.master, settings=dict(arguments.settings)) as spark:
            report = _print_json if arguments.json else _print
            running = AppRun(load(file), plan, cluster_of(arguments), board, report)
            with stop_on_signals(running):
                running.run(spark)
    return 0


@contextmanager
def stop_on_signals(running: AppRun) -> Iterator[None]:
    """Stop in order on Ctrl-C and SIGTERM; the second one stops at once."""
    import signal

    def ask(number: int, _: object) -> None:
        running.ask_to_stop()
        print("riverlog: stopping at the end of the batch", file=sys.stderr)
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    # Spark has set one of its own, which stops jobs in the middle.
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, known in before.items():
            signal.signal(number, known)


def _print(status: Status) -> None:
    from riverlog.cli.pipelines import told_as_line

    print(told_as_line(status), flush=True)


def _print_json(status: Status) -> None:
    from riverlog.cli.pipelines import as_object
    from riverlog.cli.table import print_json

    print_json(as_object(status, status.updated_ms))
    sys.stdout.flush()
