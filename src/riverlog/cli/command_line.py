"""The command line as a whole: one parser, exit codes, and what a person reads when something fails.

0 done   1 refused or failed   2 wrong usage or setting   130 Ctrl-C   141 nobody reads our output
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from riverlog import __version__
from riverlog.cli import (
    config,
    consume,
    demo,
    export,
    groups,
    jars,
    log,
    offsets,
    pipelines,
    produce,
    run,
    topics,
    txn,
    up,
    version,
)
from riverlog.cli.arguments import TeachingFormatter
from riverlog.errors import ConfigError, RiverlogError

FAILED = 1
WRONG_USAGE = 2
INTERRUPTED = 130
NOBODY_READS = 141

_DESCRIPTION = """\
riverlog: an event log that speaks Apache Kafka's protocol.

`riverlog up` starts a broker on this machine. All other commands are ordinary clients: they work against
riverlog and against Apache Kafka, wherever --bootstrap points."""

_EXAMPLES = """\
examples:
  riverlog up                                        a broker on 127.0.0.1:9092, data in ./riverlog-data
  echo 'hello' | riverlog produce greetings          one record per line
  riverlog consume greetings                         from the start to the end
  riverlog consume greetings --follow --json         what comes from now on, one object per line

`riverlog COMMAND --help` explains each command."""

_COMMANDS = (
    up,
    demo,
    topics,
    produce,
    consume,
    export,
    groups,
    offsets,
    txn,
    run,
    pipelines,
    jars,
    config,
    log,
    version,
)


def parser() -> argparse.ArgumentParser:
    """Build the parser of the whole command line."""
    top = argparse.ArgumentParser(
        prog="riverlog",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=TeachingFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"riverlog {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for module in _COMMANDS:
        module.add_to(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    top = parser()
    arguments, late = top.parse_known_args(argv)
    if late:
        _add_late(top, arguments, late)
    if arguments.command is None:
        top.print_help(sys.stderr)
        return WRONG_USAGE
    try:
        code: int = arguments.run(arguments)
        print(end="", flush=True)  # here, so that a closed pipe is noticed while it can still be told
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes stdout once more on its way out: give it somewhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOBODY_READS
    except ConfigError as error:
        return _say_problems(error)
    except RiverlogError as error:
        return _say(error, FAILED)
    except OSError as error:
        if error.filename is None:
            raise
        return _say(f"{error.filename}: {(error.strerror or str(error)).lower()}", FAILED)
    return code


def _add_late(top: argparse.ArgumentParser, arguments: argparse.Namespace, late: list[str]) -> None:
    """Take the files in `produce TOPIC --json FILE...`: argparse looks for them only before the option."""
    name = getattr(arguments, "list_argument", None)
    unknown = [text for text in late if text.startswith("-") and text != "-"]
    if name is None or unknown:
        top.error(f"unrecognized arguments: {' '.join(unknown or late)}")
    setattr(arguments, name, [*getattr(arguments, name), *late])


def _say_problems(error: ConfigError) -> int:
    """Name each wrong setting on a line of its own."""
    from riverlog.config.problems import each_problem

    for problem in each_problem(error):
        _say(problem, WRONG_USAGE)
    return WRONG_USAGE


def _say(error: object, code: int) -> int:
    print(f"riverlog: {error}", file=sys.stderr)
    return code
