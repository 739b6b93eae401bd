"""`riverlog topics`: list, describe, create, delete, alter."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from riverlog.cli.arguments import (
    Subparsers,
    add_command,
    add_connection,
    add_dry_run,
    add_json,
    add_subcommands,
    connection,
    count,
    name_value,
)
from riverlog.cli.table import print_json, print_table, quantity

if TYPE_CHECKING:
    from riverlog.client.admin import SettingValue, Topic

_TEXT = """\
A topic is a named log, cut into partitions. Order is kept within a partition; partitions are what
consumers of a group share among themselves, and what spreads over brokers."""

_EXAMPLES = """\
  riverlog topics create orders --partitions 3 --set retention.ms=604800000
  riverlog topics list
  riverlog topics describe orders"""


def add_to(commands: Subparsers) -> None:
    """Add the command and its subcommands to the command line."""
    parser = add_command(
        commands, "topics", "list, describe, create, delete and alter topics", _TEXT, _EXAMPLES
    )
    subcommands = add_subcommands(parser)
    _add_list(subcommands)
    _add_describe(subcommands)
    _add_create(subcommands)
    _add_delete(subcommands)
    _add_alter(subcommands)


# list


def _add_list(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "list",
        "list topics",
        "Internal topics, which brokers keep for themselves, are left out unless asked for.",
        "  riverlog topics list\n  riverlog topics list 'orders-*' --json | jq -r .name",
    )
    parser.add_argument(
        "pattern", metavar="PATTERN", nargs="?", help="only these: * and ? stand for characters"
    )
    parser.add_argument("--internal", action="store_true", help="list internal topics too")
    add_json(parser)
    add_connection(parser)
    parser.set_defaults(run=_list)


def _list(arguments: argparse.Namespace) -> int:
    from fnmatch import fnmatchcase

    from riverlog.client.admin import Admin

    with Admin(**connection(arguments)) as admin:
        names = [name for name in admin.topic_names() if fnmatchcase(name, arguments.pattern or "*")]
        topics = [topic for topic in admin.topics(names) if arguments.internal or not topic.is_internal]
    if arguments.json:
        for topic in topics:
            print_json(
                {
                    "name": topic.name,
                    "topic_id": topic.topic_id,
                    "partitions": len(topic.partitions),
                    "replication_factor": topic.replication_factor,
                    "is_internal": topic.is_internal,
                }
            )
    else:
        print_table(
            ["topic", "partitions", "replicas"],
            [[topic.name, len(topic.partitions), topic.replication_factor] for topic in topics],
        )
    return 0


# describe


def _add_describe(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "describe",
        "show partitions, offsets and settings of topics",
        "Leader, replicas and in-sync replicas are broker ids. Settings are those that differ from the\n"
        "broker's defaults; `riverlog config describe --topic TOPIC --all` shows every one.",
        "  riverlog topics describe orders",
    )
    parser.add_argument("topics", metavar="TOPIC", nargs="+", help="topics to describe")
    add_json(parser)
    add_connection(parser)
    parser.set_defaults(run=_describe, list_argument="topics")


def _describe(arguments: argparse.Namespace) -> int:
    from riverlog.client.admin import Admin

    with Admin(**connection(arguments)) as admin:
        topics = admin.topics(arguments.topics)
        for number, topic in enumerate(topics):
            bounds = admin.bounds(topic.name) if all(p.leader is not None for p in topic.partitions) else {}
            changed = [setting for setting in admin.topic_settings(topic.name) if setting.source == "topic"]
            if arguments.json:
                print_json(_as_object(topic, bounds, changed))
                continue
            if number:
                print()
            print(f"topic {topic.name}  id {topic.topic_id}{'  internal' if topic.is_internal else ''}")
            for setting in changed:
                print(f"  {setting.name}={setting.value}")
            print_table(
                ["partition", "leader", "replicas", "in sync", "earliest", "end"],
                [
                    [
                        part.partition,
                        part.leader,
                        part.replicas,
                        part.in_sync,
                        *bounds.get(part.partition, (None, None)),
                    ]
                    for part in topic.partitions
                ],
            )
    return 0


def _as_object(topic: Topic, bounds: dict[int, Any], changed: list[SettingValue]) -> dict[str, Any]:
    return {
        "name": topic.name,
        "topic_id": topic.topic_id,
        "is_internal": topic.is_internal,
        "settings": {setting.name: setting.value for setting in changed},
        "partitions": [
            {
                "partition": part.partition,
                "leader": part.leader,
                "replicas": part.replicas,
                "in_sync": part.in_sync,
                "earliest": bounds[part.partition].earliest if bounds else None,
                "end": bounds[part.partition].latest if bounds else None,
            }
            for part in topic.partitions
        ],
    }


# create


def _add_create(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "create",
        "create topics",
        "Returns once the topics can be used. Partitions can be added later, not taken away; adding\n"
        "some moves keys to other partitions, so choose enough at first.",
        "  riverlog topics create orders --partitions 6\n"
        "  riverlog topics create customers --set cleanup.policy=compact\n"
        "  riverlog topics create orders --if-not-exists",
    )
    parser.add_argument(
        "topics", metavar="TOPIC", nargs="+", help="names: letters, digits, . _ - (at most 249)"
    )
    parser.add_argument(
        "--partitions", metavar="N", type=count, default=-1, help="default: the broker's num.partitions"
    )
    parser.add_argument(
        "--replication-factor",
        metavar="N",
        type=count,
        default=-1,
        help="on how many brokers each partition lies; default: the broker's default.replication.factor",
    )
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="NAME=VALUE",
        type=name_value,
        action="append",
        default=[],
        help="a topic setting, such as retention.ms=86400000; may be repeated",
    )
    parser.add_argument("--if-not-exists", action="store_true", help="leave topics as they are that exist")
    add_dry_run(parser)
    add_connection(parser)
    parser.set_defaults(run=_create, list_argument="topics")


def _create(arguments: argparse.Namespace) -> int:
    from riverlog.client.admin import Admin
    from riverlog.client.refusals import TopicExists

    done = "could be created" if arguments.dry_run else "created"
    with Admin(**connection(arguments)) as admin:
        for name in arguments.topics:
            try:
                admin.create_topic(
                    name,
                    partitions=arguments.partitions,
                    replication_factor=arguments.replication_factor,
                    settings=dict(arguments.settings),
                    dry_run=arguments.dry_run,
                )
            except TopicExists:
                if not arguments.if_not_exists:
                    raise
                print(f"topic {name} exists")
            else:
                print(f"topic {name} {done}")
    return 0


# delete


def _add_delete(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "delete",
        "delete topics with all their records",
        "Returns once the topics are gone. There is no way back; --dry-run shows what would be lost.",
        "  riverlog topics delete orders --dry-run\n  riverlog topics delete orders --if-exists",
    )
    parser.add_argument("topics", metavar="TOPIC", nargs="+", help="topics to delete")
    parser.add_argument("--if-exists", action="store_true", help="pass over topics that do not exist")
    parser.add_argument("--dry-run", action="store_true", help="say what would be deleted, delete nothing")
    add_connection(parser)
    parser.set_defaults(run=_delete, list_argument="topics")


def _delete(arguments: argparse.Namespace) -> int:
    from riverlog.client.admin import Admin

    with Admin(**connection(arguments)) as admin:
        names = arguments.topics
        if arguments.if_exists:
            there = set(admin.topic_names())
            for name in names:
                if name not in there:
                    print(f"topic {name} does not exist")
            names = [name for name in names if name in there]
        for topic in admin.topics(names):
            if arguments.dry_run:
                bounds = admin.bounds(topic.name).values()
                records = quantity(sum(latest - earliest for earliest, latest in bounds), "record")
                parts = quantity(len(topic.partitions), "partition")
                print(f"topic {topic.name} would be deleted: {parts}, {records}")
            else:
                admin.delete_topic(topic.name)
                print(f"topic {topic.name} deleted")
    return 0


# alter


def _add_alter(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "alter",
        "add partitions to a topic, change its settings",
        "Settings that are not named stay as they are. After adding partitions a key may go to another\n"
        "partition than before: its old and new records are then in two places.",
        "  riverlog topics alter orders --partitions 12\n"
        "  riverlog topics alter orders --set retention.ms=3600000 --unset max.message.bytes",
    )
    parser.add_argument("topic", metavar="TOPIC", help="topic to change")
    parser.add_argument("--partitions", metavar="N", type=count, help="the new total, more than there are")
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="NAME=VALUE",
        type=name_value,
        action="append",
        default=[],
        help="change a setting; may be repeated",
    )
    parser.add_argument(
        "--unset",
        dest="unset",
        metavar="NAME",
        action="append",
        default=[],
        help="go back to the broker's value; may be repeated",
    )
    add_dry_run(parser)
    add_connection(parser)
    parser.set_defaults(run=_alter, refuse=parser.error)


def _alter(arguments: argparse.Namespace) -> int:
    from riverlog.client.admin import Admin

    changes: dict[str, str | None] = {**dict(arguments.settings), **dict.fromkeys(arguments.unset)}
    if arguments.partitions is None and not changes:
        arguments.refuse("nothing to change: give --partitions, --set or --unset")
    would = "would be " if arguments.dry_run else ""
    with Admin(**connection(arguments)) as admin:
        admin.topic(arguments.topic)  # a wrong name is best refused before anything is changed
        if changes:
            # Settings first: they are the part that can be wrong, and adding partitions cannot be undone.
            admin.change_topic_settings(arguments.topic, changes, dry_run=arguments.dry_run)
            for name, value in changes.items():
                what = f"{name} {would}unset" if value is None else f"{name}={value} {would}set"
                print(f"topic {arguments.topic}: {what}")
        if arguments.partitions is not None:
            admin.add_partitions(arguments.topic, arguments.partitions, dry_run=arguments.dry_run)
            print(f"topic {arguments.topic}: {would}grown to {quantity(arguments.partitions, 'partition')}")
    return 0
