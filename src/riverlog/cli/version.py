"""`riverlog version`: what is installed, as a report of a fault should say it."""

from __future__ import annotations

import argparse

from riverlog import __version__
from riverlog.cli.arguments import Subparsers, add_command, add_json
from riverlog.cli.table import print_json

_PARTS = ("confluent-kafka", "crc32c", "cramjam", "uvloop")


def add_to(commands: Subparsers) -> None:
    """Add the command to the command line."""
    parser = add_command(
        commands,
        "version",
        "print the versions of riverlog and of what it runs on",
        "Copy the output into a report of a fault. `riverlog --version` prints just riverlog's own.",
        "",
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the versions."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    versions: dict[str, str | None] = {"riverlog": __version__, "python": platform.python_version()}
    for part in _PARTS:
        try:
            versions[part] = version(part)
        except PackageNotFoundError:
            versions[part] = None
    versions["platform"] = platform.platform()
    if arguments.json:
        print_json(versions)
    else:
        for name, found in versions.items():
            print(f"{name:16} {found or 'not installed'}")
    return 0
