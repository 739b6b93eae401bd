"""`riverlog jars`: the Java libraries that real-time queries need, fetched once."""

from __future__ import annotations

import argparse
import os

from riverlog.cli.arguments import Subparsers, add_command, add_json
from riverlog.cli.table import print_json

_TEXT = """\
Queries with mode="real-time" read and write topics by Spark's own Kafka connector, whose Java libraries
PySpark does not bring. This fetches them by name with Maven (`mvn`) into riverlog's cache directory, the
first time, and prints where they are. `riverlog run` finds them there."""

_EXAMPLES = """\
  riverlog jars
  riverlog jars --json"""


def add_to(commands: Subparsers) -> None:
    """Add the command to the command line."""
    parser = add_command(commands, "jars", "fetch what real-time queries need", _TEXT, _EXAMPLES)
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Fetch the jars unless they are there, and print their paths."""
    from riverlog.pipelines.jars import directory, fetch

    jars = fetch(os.environ)
    if arguments.json:
        print_json({"directory": str(directory(os.environ)), "jars": [str(jar) for jar in jars]})
    else:
        for jar in jars:
            print(jar)
    return 0
