"""`riverlog demo`: a broker, a producer, a consumer and pipelines in one terminal, for a first look."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from riverlog.cli.arguments import Subparsers, add_command, count
from riverlog.cli.demo_pipelines import Pipelines, is_spark_there, report
from riverlog.errors import RiverlogError

_TEXT = """\
Starts a broker on a free port with its data in a temporary directory, creates a topic, produces
readings of a few thermometers and consumes them as they arrive; then reads the topic again from
the start, as any number of readers may.

Where PySpark is installed (riverlog[spark], which brings a Java too) it goes on to run pipelines
from topic to topic on events made as it goes: fraud on cards, rates of clicks, alerts and others.
Their results are printed as they come, and in the end compared with a computation over the same
events without Spark. All of it takes less than a minute.

Stops the broker and removes the data at the end."""

_EXAMPLES = """\
  riverlog demo
  riverlog demo --list
  riverlog demo --example card-fraud
  riverlog demo --no-pipelines --records 1000"""

TOPIC = "thermometers"
PARTITIONS = 2
ROOMS = ("attic", "cellar", "kitchen", "library")
START_SECONDS_MAX = 30.0
SHOWN_MAX = 12
DIFFERENT = 1
"""The exit code when a pipeline gave something else than it should have."""


def add_to(commands: Subparsers) -> None:
    """Add the command to the command line."""
    parser = add_command(commands, "demo", "see messages flow through a broker of your own", _TEXT, _EXAMPLES)
    parser.add_argument("--records", type=count, default=40, metavar="N", help="messages; default: 40")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--no-pipelines", action="store_true", help="show messages only")
    which.add_argument(
        "--example",
        dest="examples",
        metavar="NAME",
        action="append",
        default=[],
        help="run this pipeline only; may be repeated",
    )
    which.add_argument("--list", action="store_true", help="list the pipelines and run nothing")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Play the demonstration once."""
    import tempfile

    from riverlog.examples import example, examples

    if arguments.list:
        for each in examples():
            print(f"{each.name:<19} {each.title}")
        return 0
    chosen = [example(name) for name in dict.fromkeys(arguments.examples)] or examples()
    is_wanted = not arguments.no_pipelines and (is_spark_there() or arguments.examples)
    with tempfile.TemporaryDirectory(prefix="riverlog-demo-", ignore_cleanup_errors=True) as directory:
        pipelines = Pipelines(chosen, Path(directory)) if is_wanted else None
        try:
            is_right = _show(f"{directory}/data", arguments.records, pipelines)
        finally:
            if pipelines is not None:
                pipelines.stop()
    print("\nThe broker is stopped and its data removed.")
    if pipelines is None and not arguments.no_pipelines:
        print("For pipelines as well:              pip install 'riverlog[spark]'")
    print("A broker with data that stays:      riverlog up")
    return 0 if is_right else DIFFERENT


def _show(data: str, records: int, pipelines: Pipelines | None) -> bool:
    """Show messages, then pipelines; say whether these gave what they should."""
    began = time.perf_counter()
    with _broker(data) as servers:
        print(f"A broker listens on {servers} after {time.perf_counter() - began:.2f} s.")
        _show_messages(servers, records)
        return pipelines is None or report(pipelines.run(servers))


def _show_messages(servers: str, records: int) -> None:
    import threading

    from riverlog.client import Admin, Producer

    with Admin(servers) as admin:
        admin.create_topic(TOPIC, partitions=PARTITIONS)
    print(f"Topic {TOPIC!r} has 2 partitions; a room's readings stay in one of them, in order.\n")
    follower = threading.Thread(target=_follow, args=(servers, records))
    follower.start()
    with Producer(servers) as producer:
        for number in range(records):
            room = ROOMS[number % len(ROOMS)]
            reading = f"{18 + number % 7}.{number % 10} C"
            producer.send(TOPIC, key=room.encode(), value=reading.encode())
            if number < SHOWN_MAX:
                producer.flush(10)
                time.sleep(0.05)  # for the eye: a person should see them arrive one by one
    follower.join()
    again = sum(1 for _ in _records(servers, records))
    print(f"\nA second reader, from the start: {again} records. Reading takes nothing away.")


def _follow(servers: str, expected: int) -> None:
    """Print records as they arrive."""
    shown = 0
    for partition, offset, key, value in _records(servers, expected):
        if shown < SHOWN_MAX:
            print(f"  partition {partition}  offset {offset:>3}  {key:<8} {value}")
        elif shown == SHOWN_MAX:
            print("  ...")
        shown += 1
    print(f"{shown} records arrived.")


def _records(servers: str, expected: int) -> Iterator[tuple[int, int, str, str]]:
    """Read the topic from the start until `expected` records were there."""
    from riverlog.client import Span, SpanReader

    from_the_start = {partition: Span(0, None) for partition in range(PARTITIONS)}
    with closing(SpanReader(servers, TOPIC, from_the_start)) as reader:
        left = expected
        for batch in reader.batches():
            for record in batch:
                left -= 1
                yield (
                    record.partition,
                    record.offset,
                    (record.key or b"").decode(),
                    (record.value or b"").decode(),
                )
            if left <= 0:
                return


@contextmanager
def _broker(directory: str) -> Iterator[str]:
    """Run `riverlog up` as a user would, and give its address."""
    import subprocess

    command = [
        sys.executable,
        "-m",
        "riverlog",
        "up",
        "--port",
        "0",
        "--data",
        directory,
        "--log-level",
        "warning",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("listening on "):
            raise RiverlogError("the broker did not start; see its messages above")
        yield line.removeprefix("listening on ").strip()
    finally:
        process.terminate()
        try:
            process.wait(START_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
