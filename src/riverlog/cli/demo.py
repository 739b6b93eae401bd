"""`riverlog demo`: a broker, a producer and a consumer in one terminal, for a first look."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from riverlog.cli.arguments import Subparsers, add_command, count
from riverlog.errors import RiverlogError

_TEXT = """\
Starts a broker on a free port with its data in a temporary directory, creates a topic, produces
readings of a few thermometers and consumes them as they arrive; then reads the topic again from
the start, as any number of readers may. Stops the broker and removes the data at the end."""

_EXAMPLES = """\
  riverlog demo
  riverlog demo --records 1000"""

TOPIC = "thermometers"
PARTITIONS = 2
ROOMS = ("attic", "cellar", "kitchen", "library")
START_SECONDS_MAX = 30.0
SHOWN_MAX = 12


def add_to(commands: Subparsers) -> None:
    """Add the command to the command line."""
    parser = add_command(commands, "demo", "see messages flow through a broker of your own", _TEXT, _EXAMPLES)
    parser.add_argument("--records", type=count, default=40, metavar="N", help="how many; default: 40")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Play the demonstration once."""
    import tempfile
    import threading

    from riverlog.client import Admin, Producer

    with tempfile.TemporaryDirectory(prefix="riverlog-demo-") as directory:
        began = time.perf_counter()
        with _broker(directory) as servers:
            print(f"A broker listens on {servers} after {time.perf_counter() - began:.2f} s.")
            with Admin(servers) as admin:
                admin.create_topic(TOPIC, partitions=PARTITIONS)
            print(f"Topic {TOPIC!r} has 2 partitions; a room's readings stay in one of them, in order.\n")
            follower = threading.Thread(target=_follow, args=(servers, arguments.records))
            follower.start()
            with Producer(servers) as producer:
                for number in range(arguments.records):
                    room = ROOMS[number % len(ROOMS)]
                    reading = f"{18 + number % 7}.{number % 10} C"
                    producer.send(TOPIC, key=room.encode(), value=reading.encode())
                    if number < SHOWN_MAX:
                        producer.flush(10)
                        time.sleep(0.05)  # for the eye: a person should see them arrive one by one
            follower.join()
            again = sum(1 for _ in _records(servers, arguments.records))
            print(f"\nA second reader, from the start: {again} records. Reading takes nothing away.")
    print("The broker is stopped and its data removed.\n\nYour own, with data that stays:  riverlog up")
    return 0


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
