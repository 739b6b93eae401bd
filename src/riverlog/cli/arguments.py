"""Options that several commands share, and how their texts become values.

A text that cannot be read is refused with the accepted forms, before anything is connected to.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import TYPE_CHECKING, TypeAlias, TypedDict

if TYPE_CHECKING:
    from riverlog.client.positions import Position

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

BOOTSTRAP_VARIABLE = "RIVERLOG_BOOTSTRAP"
CACHE_VARIABLE = "RIVERLOG_CACHE"
NO_SETTINGS = (BOOTSTRAP_VARIABLE, CACHE_VARIABLE)
"""Variables of the commands and of pipelines, which a broker does not take for settings."""

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
DEFAULT_TIMEOUT_SECONDS = 10.0
CONNECTION_TITLE = "connection"


class Connection(TypedDict):
    """How a command reaches its cluster, as the client room's constructors take it."""

    servers: str
    timeout_seconds: float
    properties: dict[str, str]


class TeachingFormatter(argparse.RawDescriptionHelpFormatter):
    """Help as it was written: paragraphs and examples keep their lines."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32)


def add_command(
    commands: Subparsers, name: str, summary: str, text: str, examples: str
) -> argparse.ArgumentParser:
    """Add a command with its one-line summary, an explanation, and examples to copy."""
    return commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.\n\n{text}".strip(),
        epilog=f"examples:\n{examples}" if examples else None,
        formatter_class=TeachingFormatter,
        allow_abbrev=False,
    )


def add_subcommands(parser: argparse.ArgumentParser) -> Subparsers:
    """Give a command subcommands, one of which must be named."""
    return parser.add_subparsers(title="subcommands", metavar="SUBCOMMAND", required=True)


def add_connection(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which cluster, and how."""
    group = parser.add_argument_group(CONNECTION_TITLE)
    group.add_argument(
        "-b",
        "--bootstrap",
        metavar="HOST:PORT[,...]",
        default=os.environ.get(BOOTSTRAP_VARIABLE) or DEFAULT_BOOTSTRAP,
        help=f"address of a broker, riverlog or Apache Kafka; default: ${BOOTSTRAP_VARIABLE}, "
        f"else {DEFAULT_BOOTSTRAP}",
    )
    group.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=positive_number,
        default=DEFAULT_TIMEOUT_SECONDS,
        help=f"how long to wait for the cluster's answers; default: {DEFAULT_TIMEOUT_SECONDS:g}",
    )
    group.add_argument(
        "-X",
        dest="properties",
        metavar="NAME=VALUE",
        type=name_value,
        action="append",
        default=[],
        help="a property of the client library, librdkafka, such as security.protocol=SSL; may be repeated",
    )


def connection(arguments: argparse.Namespace) -> Connection:
    """Collect what `add_connection` asked for."""
    return Connection(
        servers=arguments.bootstrap,
        timeout_seconds=arguments.timeout,
        properties=dict(arguments.properties),
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json` for commands that print results."""
    parser.add_argument("--json", action="store_true", help="print one JSON object per line, for programs")


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    """Add `--dry-run` for commands that change something."""
    parser.add_argument(
        "--dry-run", action="store_true", help="let the broker check the change, and say what would happen"
    )


def name_value(text: str) -> tuple[str, str]:
    """Read NAME=VALUE; the value may hold further equals signs, or nothing."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def whole_number(text: str) -> int:
    """Read a number of 0 or more."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return int(text)


def offset_distance(text: str) -> int:
    """Read a number that may be negative."""
    digits = text[1:] if text.startswith(("-", "+")) else text
    if not (digits.isascii() and digits.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def count(text: str) -> int:
    """Read a number of 1 or more."""
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


def positive_number(text: str) -> float:
    """Read a number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def position(text: str) -> Position:
    """Read a place in a topic: start, end, offset, -N, time or age."""
    from riverlog.client.positions import Position

    try:
        return Position.parse(text, int(time.time() * 1000))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def unescape(text: str) -> bytes:
    """Read \\n, \\t, \\r, \\0, \\\\ and \\xHH in an option's text; everything else stands for itself."""
    pieces = []
    rest = text
    while rest:
        plain, backslash, rest = rest.partition("\\")
        pieces.append(plain.encode(errors="surrogateescape"))
        if not backslash:
            break
        letter = rest[:1]
        if letter in _ESCAPES:
            pieces.append(_ESCAPES[letter])
            rest = rest[1:]
        elif letter == "x" and len(rest) >= 3 and all(digit in _HEX_DIGITS for digit in rest[1:3]):
            pieces.append(bytes.fromhex(rest[1:3]))
            rest = rest[3:]
        else:
            raise argparse.ArgumentTypeError(
                f"{text!r}: after a backslash come n, t, r, 0, \\ or xHH, not {letter!r}"
            )
    return b"".join(pieces)


_ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
