"""`riverlog offsets`: from where to where each partition can be read."""

from __future__ import annotations

import argparse

from riverlog.cli.arguments import (
    Subparsers,
    add_command,
    add_connection,
    add_json,
    connection,
    position,
    whole_number,
)
from riverlog.cli.table import print_json, print_table, show_time

_TEXT = """\
Prints for each partition the oldest offset kept, the end (the offset that the next record gets)
and how far they lie apart. That is the number of records unless compaction, transactions or
deletion left gaps.

With --at, also the first offset whose record is not older than a time: from there a consumer
would read everything since. A dash means that all records are older."""

_EXAMPLES = """\
  riverlog offsets orders
  riverlog offsets orders --at 1h --at 2025-01-31T12:00:00Z
  riverlog offsets orders --json | jq .end"""


def add_to(commands: Subparsers) -> None:
    """Add the command to the command line."""
    parser = add_command(commands, "offsets", "show the offsets of a topic's partitions", _TEXT, _EXAMPLES)
    parser.add_argument("topic", metavar="TOPIC", help="topic to ask about")
    parser.add_argument(
        "-p",
        "--partition",
        dest="partitions",
        metavar="N",
        type=whole_number,
        action="append",
        help="only this partition; may be repeated",
    )
    parser.add_argument(
        "--at",
        dest="times",
        metavar="TIME",
        type=position,
        action="append",
        default=[],
        help="a time (2025-01-31T12:00:00Z, @MILLISECONDS) or an age (30s, 15m, 2h, 7d); may be repeated",
    )
    add_json(parser)
    add_connection(parser)
    parser.set_defaults(run=run, refuse=parser.error)


def run(arguments: argparse.Namespace) -> int:
    """Ask and print."""
    from riverlog.client.admin import Admin
    from riverlog.client.positions import Kind

    if any(at.kind is not Kind.TIME for at in arguments.times):
        arguments.refuse(
            "--at expects a time (2025-01-31T12:00:00Z, @MILLISECONDS) or an age (30s, 15m, 2h, 7d)"
        )
    times = [at.number for at in arguments.times]
    with Admin(**connection(arguments)) as admin:
        bounds = admin.bounds(arguments.topic, arguments.partitions)
        found = {time_ms: admin.offsets_at(arguments.topic, time_ms, list(bounds)) for time_ms in times}
        newest = admin.newest(arguments.topic, list(bounds))
    if arguments.json:
        for index, (earliest, latest) in bounds.items():
            record = newest[index]
            print_json(
                {
                    "topic": arguments.topic,
                    "partition": index,
                    "earliest": earliest,
                    "end": latest,
                    "newest_timestamp": record and record[1],
                    "at": {str(time_ms): offsets[index] for time_ms, offsets in found.items()},
                }
            )
        return 0
    print_table(
        ["partition", "earliest", "end", "distance", "newest", *(show_time(time_ms) for time_ms in times)],
        [
            [index, earliest, latest, latest - earliest, _newest(newest[index])]
            + [offsets[index] for offsets in found.values()]
            for index, (earliest, latest) in bounds.items()
        ],
    )
    return 0


def _newest(record: tuple[int, int] | None) -> str | None:
    return None if record is None else show_time(record[1])
