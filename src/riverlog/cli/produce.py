"""`riverlog produce`: lines, files or JSON objects become records.

Reading and sending never get far apart: the client's queue is bounded and a full one stops the reading. A
line that cannot be read as announced ends the command at that line; a record that the broker refuses does
not, it is counted and reported at the end, and the exit code says that something is missing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from riverlog.cli.arguments import (
    Subparsers,
    add_command,
    add_connection,
    connection,
    name_value,
    positive_number,
    unescape,
    whole_number,
)
from riverlog.cli.table import quantity
from riverlog.errors import RiverlogError

if TYPE_CHECKING:
    from riverlog.cli.progress import Progress
    from riverlog.client.produce import Producer

LINE_BYTES_MAX = 100 * 1024 * 1024
"""A longer line could not be sent in one request: Kafka's default for socket.request.max.bytes."""

STDIN = "-"

_TEXT = """\
Reads lines from files, or from standard input, and sends each as one record. Every record is
acknowledged before the command ends; records that were not are counted with the reason, and the
exit code is then 1.

Records with the same key go to the same partition, and so keep their order. An empty value sent
with --null is a tombstone: in a compacted topic it deletes the key."""

_EXAMPLES = """\
  echo 'hello' | riverlog produce greetings
  riverlog produce orders --key-separator : orders.txt       lines such as customer-7:{"total": 12}
  riverlog produce orders --headers -K '\\t' < rows.tsv       trace=a1<TAB>key<TAB>value
  riverlog produce pictures --whole -H type=png cat.png      one record, the file as it is
  riverlog consume orders --json | riverlog produce orders-copy --json
  tail -F app.log | riverlog produce logs --acks 1 --compression zstd"""


def add_to(commands: Subparsers) -> None:
    """Add the command to the command line."""
    parser = add_command(commands, "produce", "send records to a topic", _TEXT, _EXAMPLES)
    parser.add_argument("topic", metavar="TOPIC", help="topic to send to; created if the broker allows that")
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        default=[],
        help="files to read; default, or -: standard input",
    )
    shape = parser.add_argument_group("what a record is")
    kind = shape.add_mutually_exclusive_group()
    kind.add_argument(
        "--json",
        action="store_true",
        help='each line is an object: {"key", "value", "headers", "partition", "timestamp"}, all optional, '
        "as `consume --json` prints them",
    )
    kind.add_argument("--whole", action="store_true", help="each file is one record, whatever bytes it holds")
    key = shape.add_mutually_exclusive_group()
    key.add_argument(
        "-K",
        "--key-separator",
        metavar="TEXT",
        type=unescape,
        help="each line is KEY, this text, VALUE; \\t is a tab",
    )
    key.add_argument("-k", "--key", metavar="KEY", help="key of every record")
    shape.add_argument(
        "--headers", action="store_true", help="each line begins with NAME=VALUE[,NAME=VALUE]... and a tab"
    )
    shape.add_argument(
        "-H",
        "--header",
        dest="common_headers",
        metavar="NAME=VALUE",
        type=name_value,
        action="append",
        default=[],
        help="header of every record; may be repeated",
    )
    shape.add_argument("--null", action="store_true", help="send empty values and keys as null")
    shape.add_argument(
        "-p",
        "--partition",
        metavar="N",
        type=whole_number,
        default=-1,
        help="partition; default: chosen by key",
    )
    delivery = parser.add_argument_group("delivery")
    delivery.add_argument(
        "-z",
        "--compression",
        choices=("none", "gzip", "snappy", "lz4", "zstd"),
        default="none",
        help="compress batches of records; default: none",
    )
    delivery.add_argument(
        "--acks",
        choices=("all", "1", "0"),
        default="all",
        help="whose acknowledgement to wait for: all in-sync replicas (default), the leader, nobody",
    )
    delivery.add_argument(
        "--delivery-timeout",
        metavar="SECONDS",
        type=positive_number,
        default=30.0,
        help="how long to try to deliver a record; default: 30",
    )
    delivery.add_argument("-q", "--quiet", action="store_true", help="say nothing when all went well")
    add_connection(parser)
    parser.set_defaults(run=run, refuse=parser.error, list_argument="files")


def run(arguments: argparse.Namespace) -> int:
    """Send everything, wait for the acknowledgements, report."""
    from riverlog.cli.progress import Progress
    from riverlog.client.produce import Producer

    _check(arguments)
    producer = Producer(
        acks=arguments.acks,
        compression=arguments.compression,
        delivery_seconds=arguments.delivery_timeout,
        **connection(arguments),
    )
    progress = Progress("records sent")
    complaint: object = None
    is_interrupted = False
    try:
        _send_all(producer, arguments, progress)
        producer.flush()
    except KeyboardInterrupt:
        is_interrupted = True
        producer.flush(INTERRUPTED_SECONDS)
    except (BadRecord, OSError) as error:
        complaint = error
        producer.flush()
    progress.clear()
    _report(producer, arguments, progress)
    if is_interrupted:
        raise KeyboardInterrupt
    if isinstance(complaint, Exception):
        raise complaint
    return 1 if producer.failed else 0


INTERRUPTED_SECONDS = 5.0
"""How long Ctrl-C still waits for what was read before it; a second Ctrl-C does not."""


class BadRecord(RiverlogError):
    """A line that is not the record it was announced to be."""


def _check(arguments: argparse.Namespace) -> None:
    if (arguments.json or arguments.whole) and (arguments.headers or arguments.key_separator is not None):
        arguments.refuse(
            "--headers and --key-separator describe lines: they go with neither --json nor --whole"
        )
    if arguments.key_separator == b"":
        arguments.refuse("--key-separator is empty: expected at least one character")


def _send_all(producer: Producer, arguments: argparse.Namespace, progress: Progress) -> None:
    for name in arguments.files or [STDIN]:
        if name == STDIN:
            if sys.stdin.isatty() and not arguments.quiet:
                print("one record per line; Ctrl-D ends", file=sys.stderr)
            _send_stream(producer, arguments, progress, sys.stdin.buffer, "standard input")
        else:
            with open(name, "rb") as stream:
                _send_stream(producer, arguments, progress, stream, name)


def _send_stream(
    producer: Producer, arguments: argparse.Namespace, progress: Progress, stream: BinaryIO, name: str
) -> None:
    from riverlog.cli import record_json
    from riverlog.cli.lines import LineShape

    topic = arguments.topic
    common_key = None if arguments.key is None else arguments.key.encode(errors="surrogateescape")
    common_headers = [
        (header, value.encode(errors="surrogateescape")) for header, value in arguments.common_headers
    ]
    if arguments.whole:
        value = stream.read()
        producer.send(
            topic,
            None if arguments.null and not value else value,
            key=common_key,
            headers=common_headers,
            partition=arguments.partition,
        )
        progress.advance(1, len(value))
        return
    shape = LineShape(arguments.key_separator, arguments.headers, arguments.null)
    for number, line in enumerate(_lines(stream, name), 1):
        try:
            if arguments.json:
                if not line.strip():
                    continue
                key, content, headers, partition, timestamp_ms = record_json.read(line)
            else:
                key, content, headers = shape.read(line)
                partition, timestamp_ms = -1, 0
        except ValueError as error:
            raise BadRecord(f"{name}, line {number}: {error}; it and what follows were not sent") from None
        producer.send(
            topic,
            content,
            key=common_key if key is None else key,
            headers=headers + common_headers,
            partition=arguments.partition if partition < 0 else partition,
            timestamp_ms=timestamp_ms,
        )
        progress.advance(1, len(line))


def _lines(stream: BinaryIO, name: str) -> Iterator[bytes]:
    while line := stream.readline(LINE_BYTES_MAX + 1):
        if len(line) > LINE_BYTES_MAX:
            raise BadRecord(
                f"{name}: a line is longer than {LINE_BYTES_MAX:,} bytes; --whole sends binary files"
            )
        yield line.removesuffix(b"\n")


def _report(producer: Producer, arguments: argparse.Namespace, progress: Progress) -> None:
    producer.discard()
    for (topic, reason), failed in producer.reasons.items():
        noun = quantity(failed, "record")
        print(f"riverlog: {noun} for topic {topic!r} not delivered: {reason}", file=sys.stderr)
    if not arguments.quiet or producer.failed:
        verb = "sent, unacknowledged" if arguments.acks == "0" else "delivered"
        delivered = quantity(producer.delivered, "record")
        print(f"{delivered} {verb} to topic {arguments.topic!r} ({progress.pace()})", file=sys.stderr)
