"""`riverlog consume`: records of a topic become lines.

By default the command reads what is there and ends, so that it can stand in a script; `--follow` keeps
waiting. Where to start and stop is settled before the first record is read: times and "the last N" become
offsets, which are then a plain span of each partition.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from riverlog.cli.arguments import (
    Subparsers,
    add_command,
    add_connection,
    connection,
    count,
    position,
    whole_number,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from riverlog.client.consume import ConsumedRecord
    from riverlog.client.positions import Span

COMMIT_SECONDS = 1.0
"""How often a group's offsets are stored while records keep coming."""

DEFAULT_FORMAT = "%v\\n"

_TEXT = """\
Prints the records of a topic, oldest first within each partition, and stops at the end that the
topic had when the command started. With --follow it keeps waiting for new ones instead.

Positions, for --from and --until:
  start, end                   the oldest record kept; after the newest
  1234                         an offset
  -100                         the last 100 records of each partition
  2025-01-31T12:00:00Z         the first record at or after a time; without zone: local time
  @1738324800000               the same, in milliseconds since 1970
  30s, 15m, 2h, 7d             the first record not older than that

Formats, for --format:
  %k key   %v value   %h headers   %t topic   %p partition   %o offset   %T time in ms
  %K %V length of key and value (-1: null)   %% a percent sign   \\n \\t \\r \\0 \\xHH bytes"""

_EXAMPLES = """\
  riverlog consume orders                                    all values, one per line
  riverlog consume orders --from -10 --json                  the last 10 of each partition, with everything
  riverlog consume orders --from 15m --format '%T %k: %v\\n'  the last quarter of an hour
  riverlog consume orders --follow                           what comes from now on
  riverlog consume orders -p 2 --from 500 --count 1          one record
  riverlog consume orders --group billing                    continue where the group left off"""


class Reader(Protocol):
    """What the two readers of the client room have in common."""

    @property
    def trouble(self) -> str | None:
        """Why nothing arrives at present."""

    def batches(self, limit: int | None = None) -> Iterator[list[ConsumedRecord]]:
        """Hand out records."""

    def close(self) -> None:
        """End reading."""


def add_to(commands: Subparsers) -> None:
    """Add the command to the command line."""
    parser = add_command(commands, "consume", "print the records of a topic", _TEXT, _EXAMPLES)
    parser.add_argument("topic", metavar="TOPIC", help="topic to read")
    what = parser.add_argument_group("which records")
    what.add_argument(
        "--from",
        dest="begin",
        metavar="POSITION",
        type=position,
        help="where to start; default: start, or end with --follow; with --group: where the group left off, "
        "and this (start or end) where it never was",
    )
    what.add_argument(
        "--until", metavar="POSITION", type=position, help="where to stop, itself not included; default: end"
    )
    what.add_argument("-c", "--count", metavar="N", type=count, help="stop after N records")
    what.add_argument(
        "-p",
        "--partition",
        dest="partitions",
        metavar="N",
        type=whole_number,
        action="append",
        help="read only this partition; may be repeated",
    )
    what.add_argument(
        "-f", "--follow", "--tail", action="store_true", help="wait for further records instead of stopping"
    )
    what.add_argument(
        "-g",
        "--group",
        metavar="NAME",
        help="read as a member of this consumer group and store there what was printed",
    )
    what.add_argument(
        "--read-uncommitted", action="store_true", help="show records of open and aborted transactions too"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--format", metavar="TEXT", default=DEFAULT_FORMAT, help="how to print; default: '%%v\\n'"
    )
    form.add_argument("--json", action="store_true", help="print one JSON object per record")
    add_connection(parser)
    parser.set_defaults(run=run, refuse=parser.error)


def run(arguments: argparse.Namespace) -> int:
    """Read and print until there is no more, or no more is wanted."""
    _check(arguments)
    write = _writer(arguments)
    if arguments.group is None:
        return _read_spans(arguments, write)
    return _read_as_group(arguments, write)


def _check(arguments: argparse.Namespace) -> None:
    if arguments.follow and arguments.until is not None:
        arguments.refuse("--follow never stops, --until does: give one of them")
    if arguments.group is not None:
        from riverlog.client.positions import END, START

        if arguments.partitions or arguments.until is not None:
            arguments.refuse(
                "--group is given its partitions and knows its place: no --partition, no --until"
            )
        if arguments.begin not in (None, START, END):
            arguments.refuse("with --group, --from is start or end: where a group starts that was never here")


def _writer(arguments: argparse.Namespace) -> Callable[[ConsumedRecord], bytes]:
    if arguments.json:
        from riverlog.cli import record_json

        return record_json.write
    from riverlog.cli.template import compile_template

    try:
        return compile_template(arguments.format)
    except ValueError as error:
        return arguments.refuse(f"--format {error}")  # type: ignore[no-any-return]  # never returns


def _read_spans(arguments: argparse.Namespace, write: Callable[[ConsumedRecord], bytes]) -> int:
    from riverlog.client.consume import SpanReader

    reader = SpanReader(
        topic=arguments.topic,
        spans=_spans(arguments),
        read_committed=not arguments.read_uncommitted,
        **connection(arguments),
    )
    try:
        _print_batches(reader, arguments.count, write, lambda: None)
    finally:
        reader.close()
    return 0


def _spans(arguments: argparse.Namespace) -> dict[int, Span]:
    from riverlog.cli.spans import spans
    from riverlog.client.positions import END, START

    begin = arguments.begin or (END if arguments.follow else START)
    return spans(arguments, begin, None if arguments.follow else arguments.until or END)


def _read_as_group(arguments: argparse.Namespace, write: Callable[[ConsumedRecord], bytes]) -> int:
    from riverlog.client.admin import Admin
    from riverlog.client.consume import GroupReader
    from riverlog.client.positions import END

    with Admin(**connection(arguments)) as admin:
        admin.topic(arguments.topic)  # a group would wait for a misspelt topic to appear
    reader = GroupReader(
        topic=arguments.topic,
        group=arguments.group,
        begins_at_start=arguments.begin != END,
        stops_at_end=not arguments.follow,
        read_committed=not arguments.read_uncommitted,
        **connection(arguments),
    )
    try:
        _print_batches(reader, arguments.count, write, reader.commit)
    finally:
        reader.close()
    return 0


def _print_batches(
    reader: Reader, limit: int | None, write: Callable[[ConsumedRecord], bytes], commit: Callable[[], None]
) -> None:
    """Print until the reader ends. What was printed is flushed before it is committed."""
    from riverlog.cli.progress import Progress

    out = sys.stdout.buffer
    progress = Progress("records read", is_shown=not sys.stdout.isatty())
    committed_at = time.monotonic()
    has_complained = False
    try:
        for batch in reader.batches(limit):
            if batch:
                data = b"".join([write(record) for record in batch])
                out.write(data)
                out.flush()
                progress.advance(len(batch), len(data))
            if time.monotonic() - committed_at >= COMMIT_SECONDS:
                commit()
                committed_at = time.monotonic()
            if reader.trouble and not has_complained:
                progress.clear()
                print(f"riverlog: waiting for the broker: {reader.trouble}", file=sys.stderr)
            has_complained = bool(reader.trouble)
    except KeyboardInterrupt:
        commit()
        raise
    finally:
        progress.clear()
    commit()
