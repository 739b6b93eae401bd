"""`riverlog config`: settings of a broker to be (`show`) or of a running one (`describe`, `set`, `unset`)."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from riverlog.cli.arguments import (
    Subparsers,
    add_command,
    add_connection,
    add_dry_run,
    add_json,
    add_subcommands,
    connection,
    name_value,
    whole_number,
)
from riverlog.cli.table import print_json, print_table
from riverlog.cli.up import add_settings, config_from
from riverlog.errors import RiverlogError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from riverlog.client.admin import Admin, SettingValue

_TEXT = """\
`show` works without a broker: it reads file, environment and options as `riverlog up` would. The
others speak to a running cluster, riverlog or Apache Kafka: a topic's settings override its
broker's, and both can be changed while it runs."""

_EXAMPLES = """\
  riverlog config show --config server.properties
  riverlog config describe --topic orders
  riverlog config set --topic orders retention.ms=86400000 --dry-run
  riverlog config unset --broker 1 log.retention.ms"""


def add_to(commands: Subparsers) -> None:
    """Add the command and its subcommands to the command line."""
    parser = add_command(commands, "config", "show and change settings", _TEXT, _EXAMPLES)
    subcommands = add_subcommands(parser)
    _add_show(subcommands)
    _add_describe(subcommands)
    _add_set(subcommands)
    _add_unset(subcommands)


# show


def _add_show(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "show",
        "show the settings that `riverlog up` would use, and where each comes from",
        "Takes the options of `riverlog up` and starts nothing. Values that are not accepted are named\n"
        "just as `up` would.",
        "  riverlog config show --all\n"
        "  RIVERLOG_NUM_PARTITIONS=3 riverlog config show --set num.partitions=6",
    )
    parser.add_argument("--all", action="store_true", help="show settings that have their defaults too")
    add_settings(parser)
    add_json(parser)
    parser.set_defaults(run=_show)


def _show(arguments: argparse.Namespace) -> int:
    from riverlog.config import describe_broker

    config = config_from(arguments)
    for warning in config.warnings:
        print(f"riverlog: {warning}", file=sys.stderr)
    shown = []
    for entry in describe_broker(config):
        # A name without a value leaves the matter to another name, as log.retention.ms does to .hours.
        if entry.value is None or (entry.is_default and not arguments.all):
            continue
        if arguments.json:
            overrules = [
                {"name": each.name, "value": each.value, "from": each.where} for each in entry.synonyms[1:]
            ]
            print_json(
                {"name": entry.name, "value": entry.value, "from": entry.where, "overrules": overrules}
            )
        else:
            shown.append([entry.name, entry.value, entry.where])
    if not arguments.json:
        print_table(["setting", "value", "from"], shown)
        if not shown:
            print("riverlog: all settings have their defaults; --all shows them", file=sys.stderr)
    return 0


# describe


def _add_describe(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "describe",
        "show the settings in force for a topic or a broker of a running cluster",
        "Without names, those that differ from their defaults. The last column tells where a value was\n"
        "set: on the topic, on the broker while it ran, on all brokers, in the broker's file.",
        "  riverlog config describe --topic orders\n"
        "  riverlog config describe --topic orders retention.ms segment.bytes\n"
        "  riverlog config describe --broker 1 --all",
    )
    _add_owner(parser)
    parser.add_argument("names", metavar="NAME", nargs="*", help="only these settings")
    parser.add_argument("--all", action="store_true", help="show settings that have their defaults too")
    add_json(parser)
    add_connection(parser)
    parser.set_defaults(run=_describe, list_argument="names")


def _describe(arguments: argparse.Namespace) -> int:
    from riverlog.client.admin import Admin

    with Admin(**connection(arguments)) as admin:
        settings = _settings(admin, arguments)
    if arguments.names:
        chosen = [_find(settings, name, arguments) for name in arguments.names]
    else:
        chosen = [setting for setting in settings.values() if arguments.all or not setting.is_default]
    if arguments.json:
        for setting in chosen:
            print_json(
                {
                    "name": setting.name,
                    "value": setting.value,
                    "source": setting.source,
                    "is_default": setting.is_default,
                    "is_read_only": setting.is_read_only,
                    "is_secret": setting.is_secret,
                }
            )
        return 0
    print_table(
        ["setting", "value", "from"],
        [[each.name, "(hidden)" if each.is_secret else each.value, each.source] for each in chosen],
    )
    if not chosen:
        print(
            f"riverlog: all settings of {_owner(arguments)} have their defaults; --all shows them",
            file=sys.stderr,
        )
    return 0


# set and unset


def _add_set(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "set",
        "change settings of a topic or a broker while it runs",
        "Either all of the changes are made or none. Settings that are not named stay as they are.",
        "  riverlog config set --topic orders retention.ms=86400000 cleanup.policy=compact\n"
        "  riverlog config set --broker 1 log.cleaner.threads=2 --dry-run",
    )
    _add_owner(parser)
    parser.add_argument("changes", metavar="NAME=VALUE", nargs="+", help="settings to change")
    add_dry_run(parser)
    add_connection(parser)
    parser.set_defaults(run=_set, refuse=parser.error, list_argument="changes")


def _set(arguments: argparse.Namespace) -> int:
    try:
        changes = dict(name_value(text) for text in arguments.changes)
    except argparse.ArgumentTypeError as error:
        arguments.refuse(str(error))
    return _change(arguments, changes)


def _add_unset(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "unset",
        "take back settings of a topic or a broker",
        "The topic then has its broker's value again, the broker the value it was started with.",
        "  riverlog config unset --topic orders retention.ms",
    )
    _add_owner(parser)
    parser.add_argument("names", metavar="NAME", nargs="+", help="settings to take back")
    add_dry_run(parser)
    add_connection(parser)
    parser.set_defaults(run=_unset, list_argument="names")


def _unset(arguments: argparse.Namespace) -> int:
    return _change(arguments, dict.fromkeys(arguments.names))


def _change(arguments: argparse.Namespace, changes: Mapping[str, str | None]) -> int:
    from riverlog.client.admin import Admin

    owner = _owner(arguments)
    with Admin(**connection(arguments)) as admin:
        before = _settings(admin, arguments)
        for name in changes:
            _find(before, name, arguments)
        if arguments.topic is not None:
            admin.change_topic_settings(arguments.topic, changes, dry_run=arguments.dry_run)
        else:
            admin.change_broker_settings(arguments.broker, changes, dry_run=arguments.dry_run)
    would = "would be " if arguments.dry_run else ""
    for name, value in changes.items():
        done = f"{name} {would}unset" if value is None else f"{name}={value} {would}set"
        was = "" if before[name].is_secret else f" (was {before[name].value})"
        print(f"{owner}: {done}{was}")
    return 0


# Shared


def _add_owner(parser: argparse.ArgumentParser) -> None:
    owner = parser.add_mutually_exclusive_group(required=True)
    owner.add_argument("--topic", metavar="TOPIC", help="a topic's settings")
    owner.add_argument(
        "--broker", metavar="ID", type=whole_number, help="a broker's settings, by its node.id"
    )


def _owner(arguments: argparse.Namespace) -> str:
    return f"broker {arguments.broker}" if arguments.topic is None else f"topic {arguments.topic}"


def _settings(admin: Admin, arguments: argparse.Namespace) -> dict[str, SettingValue]:
    if arguments.topic is not None:
        admin.topic(arguments.topic)  # says which name was meant where this one is not there
        settings = admin.topic_settings(arguments.topic)
    else:
        settings = admin.broker_settings(arguments.broker)
    return {setting.name: setting for setting in settings}


def _find(settings: Mapping[str, SettingValue], name: str, arguments: argparse.Namespace) -> SettingValue:
    if name in settings:
        return settings[name]
    from difflib import get_close_matches

    alike = get_close_matches(name, settings, n=1)
    hint = f"did you mean {alike[0]}?" if alike else "--all lists those there are"
    raise RiverlogError(f"{_owner(arguments)} has no setting {name!r}: {hint}")
