"""`riverlog up`: start a broker here, in the foreground, until Ctrl-C or SIGTERM."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from riverlog.cli.arguments import NO_SETTINGS, Subparsers, add_command

if TYPE_CHECKING:
    from riverlog.config import BrokerConfig

_TEXT = """\
The broker runs in the foreground and prints `listening on HOST:PORT` once it serves. Ctrl-C or
SIGTERM stop it in order: what was acknowledged is on disk, and the next start needs no recovery.
A crash loses nothing acknowledged either; the next start then checks the ends of the logs.

--set metrics.port=9464 serves metrics for Prometheus, and one more line prints where.

It listens on this machine only. To serve others, say so:
--set listeners=PLAINTEXT://0.0.0.0:9092 --set advertised.listeners=PLAINTEXT://HOST:9092

Settings carry Kafka's names and come from, weakest first: defaults, the file, the environment
(RIVERLOG_LOG_RETENTION_MS is log.retention.ms), these options. A server.properties written for
Kafka is accepted. `riverlog config show` tells what would be in force, and why."""

_EXAMPLES = """\
  riverlog up
  riverlog up --port 19092 --data /var/lib/riverlog
  riverlog up --config server.properties --set log.retention.hours=24
  riverlog up --port 0                     any free port; the line it prints tells which"""


def add_to(commands: Subparsers) -> None:
    """Add the command to the command line."""
    parser = add_command(commands, "up", "start a broker on this machine", _TEXT, _EXAMPLES)
    add_settings(parser)
    parser.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="info",
        help="how much to say on standard error; default: info",
    )
    parser.add_argument(
        "--stop-at-eof",
        action="store_true",
        help="stop when standard input ends: for a program that starts a broker and may die before it",
    )
    parser.set_defaults(run=run)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the options from which a broker's settings are read."""
    parser.add_argument(
        "--port",
        metavar="N",
        type=int,
        help="port on 127.0.0.1, 0 for any free one; short for --set port=N; default: 9092",
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        help="directory of the logs, created if need be; short for --set log.dirs=DIR; "
        "default: ./riverlog-data",
    )
    parser.add_argument(
        "--config", metavar="FILE", help="file of settings, .properties or .toml; default: $RIVERLOG_CONFIG"
    )
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a setting, stronger than file and environment; may be repeated",
    )


def config_from(arguments: argparse.Namespace) -> BrokerConfig:
    """Read the settings from every source, as the options of `add_settings` say."""
    from riverlog.config import load_config

    environment = {name: value for name, value in os.environ.items() if name not in NO_SETTINGS}
    return load_config(
        file=arguments.config,
        environment=environment,
        flags=arguments.settings,
        port=arguments.port,
        data=arguments.data,
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve until told to stop."""
    config = config_from(arguments)
    for warning in config.warnings:
        print(f"riverlog: {warning}", file=sys.stderr)

    import logging

    logging.basicConfig(
        level=arguments.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    from riverlog import broker

    if arguments.stop_at_eof:
        _stop_at_eof()
    return broker.run(config)


def _stop_at_eof() -> None:
    """Send ourselves SIGTERM once nobody can write to standard input any more."""
    import signal
    import threading

    def wait() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="riverlog-stop-at-eof", daemon=True).start()
