"""`riverlog groups`: list, describe, reset, delete."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from riverlog.cli.arguments import (
    Subparsers,
    add_command,
    add_connection,
    add_json,
    add_subcommands,
    connection,
    offset_distance,
    position,
    whole_number,
)
from riverlog.cli.table import print_json, print_table, quantity
from riverlog.errors import RiverlogError

if TYPE_CHECKING:
    from riverlog.client.groups import Group, GroupAdmin, Member, Place
    from riverlog.client.positions import Bounds, Position

_TEXT = """\
The members of a group share the partitions of what they read, and the group commits how far it has
come in each. How far that is behind the end is its lag. A group that falls behind the start of a
partition, where old records are deleted, has lost what it had not read."""

_EXAMPLES = """\
  riverlog groups list
  riverlog groups describe billing
  riverlog groups reset billing --topic orders --to-datetime 2h --dry-run"""


class Standing(NamedTuple):
    """How a group stands in one partition; what nobody knows is None."""

    topic: str
    partition: int
    member: Member | None
    committed: int | None
    start: int | None
    end: int | None

    @property
    def lag(self) -> int | None:
        """How far it is behind the end."""
        if self.committed is None or self.end is None:
            return None
        return max(0, self.end - self.committed)

    @property
    def lost(self) -> int | None:
        """How many offsets were deleted before it read them."""
        if self.committed is None or self.start is None:
            return None
        return max(0, self.start - self.committed)


class Move(NamedTuple):
    """Where a group would go on in one partition."""

    topic: str
    partition: int
    committed: int | None
    start: int
    end: int
    new: int


def add_to(commands: Subparsers) -> None:
    """Add the command and its subcommands to the command line."""
    parser = add_command(
        commands, "groups", "list, describe, reset and delete consumer groups", _TEXT, _EXAMPLES
    )
    subcommands = add_subcommands(parser)
    _add_list(subcommands)
    _add_describe(subcommands)
    _add_reset(subcommands)
    _add_delete(subcommands)


# list


def _add_list(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "list",
        "list groups",
        "A group is Stable while its members read, Empty when all have left; what it has committed is\n"
        "kept for a while then (the broker's offsets.retention.minutes).",
        "  riverlog groups list\n  riverlog groups list 'billing-*' --json | jq -r .group",
    )
    parser.add_argument(
        "pattern", metavar="PATTERN", nargs="?", help="only these: * and ? stand for characters"
    )
    add_json(parser)
    add_connection(parser)
    parser.set_defaults(run=_list)


def _list(arguments: argparse.Namespace) -> int:
    from fnmatch import fnmatchcase

    from riverlog.client.groups import GroupAdmin

    with GroupAdmin(**connection(arguments)) as admin:
        groups = [group for group in admin.groups() if fnmatchcase(group.name, arguments.pattern or "*")]
    if arguments.json:
        for group in groups:
            print_json({"group": group.name, "type": group.kind, "state": group.state})
    else:
        print_table(["group", "type", "state"], [[group.name, group.kind, group.state] for group in groups])
    return 0


# describe


def _add_describe(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "describe",
        "show members, offsets and lag of groups",
        "For each partition: who reads it, the offset committed, the end, and the lag between the two;\n"
        "then the start, and how many offsets below it were deleted before the group had read them\n"
        "(lost). The lag counts offsets: records, unless compaction or transactions left gaps.",
        "  riverlog groups describe billing\n"
        "  riverlog groups describe billing --json | jq 'select(.lag > 1000)'",
    )
    parser.add_argument("groups", metavar="GROUP", nargs="+", help="groups to describe")
    add_json(parser)
    add_connection(parser)
    parser.set_defaults(run=_describe, list_argument="groups")


def _describe(arguments: argparse.Namespace) -> int:
    from riverlog.client.groups import GroupAdmin

    with GroupAdmin(**connection(arguments)) as admin:
        for number, name in enumerate(dict.fromkeys(arguments.groups)):
            group = admin.group(name)
            standings = _standings(admin, group)
            if arguments.json:
                for standing in standings:
                    print_json(_as_object(group, standing))
                continue
            if number:
                print()
            print(_heading(group, standings))
            print_table(
                ["topic", "partition", "member", "committed", "end", "lag", "start", "lost"],
                [
                    [
                        standing.topic,
                        standing.partition,
                        standing.member and f"{standing.member.client_id}@{standing.member.host}",
                        standing.committed,
                        standing.end,
                        standing.lag,
                        standing.start,
                        standing.lost,
                    ]
                    for standing in standings
                ],
            )
    return 0


def _standings(admin: GroupAdmin, group: Group) -> list[Standing]:
    """Put together what the group has committed, who reads, and what the partitions hold."""
    committed = admin.committed(group.name)
    readers = {place: member for member in group.members for place in member.places}
    places = sorted({*committed, *readers})
    bounds = _bounds(admin, places)
    return [
        Standing(
            *place,
            readers.get(place),
            committed.get(place),
            *bounds.get(place, (None, None)),
        )
        for place in places
    ]


def _bounds(admin: GroupAdmin, places: Iterable[Place]) -> dict[Place, Bounds]:
    """Where partitions begin and end; those that are gone are left out."""
    by_topic: dict[str, list[int]] = {}
    for topic, index in places:
        by_topic.setdefault(topic, []).append(index)
    there = set(admin.topic_names())
    found = {}
    for topic, indexes in by_topic.items():
        if topic in there:
            existing = {each.partition for each in admin.topic(topic).partitions}
            wanted = [index for index in indexes if index in existing]
            # What a group has not read counts whether or not its transaction is decided, as for the broker.
            for index, bounds in admin.bounds(topic, wanted, read_committed=False).items():
                found[topic, index] = bounds
    return found


def _heading(group: Group, standings: list[Standing]) -> str:
    idle = sum(not member.places for member in group.members)
    lag = sum(standing.lag or 0 for standing in standings)
    lost = sum(standing.lost or 0 for standing in standings)
    parts = [
        f"group {group.name}",
        f"type {group.kind}",
        f"state {group.state}",
        quantity(len(group.members), "member") + (f" ({idle} without partitions)" if idle else ""),
        f"lag {lag:,}",
    ]
    return "  ".join([*parts, f"LOST {lost:,}"] if lost else parts)


def _as_object(group: Group, standing: Standing) -> dict[str, object]:
    member = standing.member
    return {
        "group": group.name,
        "type": group.kind,
        "state": group.state,
        "topic": standing.topic,
        "partition": standing.partition,
        "member": member and member.member_id,
        "client": member and member.client_id,
        "host": member and member.host,
        "committed": standing.committed,
        "end": standing.end,
        "lag": standing.lag,
        "start": standing.start,
        "lost": standing.lost,
    }


# reset


def _add_reset(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "reset",
        "move a group to other offsets",
        "Prints the old and the new offset of each partition. The group must have no members: stop its\n"
        "consumers first. Without --topic, everything is moved for which the group has committed; with\n"
        "it, those topics, whether or not the group has read them yet. A group that does not exist is\n"
        "made. Offsets outside of a partition are moved to its start or end.",
        "  riverlog groups reset billing --to-earliest --dry-run\n"
        "  riverlog groups reset billing --topic orders -p 0 --to-offset 1234\n"
        "  riverlog groups reset billing --to-datetime 2025-01-31T12:00:00Z\n"
        "  riverlog groups reset billing --shift-by -100",
    )
    parser.add_argument("group", metavar="GROUP", help="group to move")
    to = parser.add_mutually_exclusive_group(required=True)
    to.add_argument("--to-earliest", action="store_true", help="to the oldest records kept: read all again")
    to.add_argument("--to-latest", action="store_true", help="to the end: skip what was not read")
    to.add_argument("--to-offset", metavar="N", type=whole_number, help="to this offset in each partition")
    to.add_argument(
        "--to-datetime",
        metavar="TIME",
        type=position,
        help="to the first records not older than a time (2025-01-31T12:00:00Z, @MILLISECONDS) or an age "
        "(30s, 15m, 2h, 7d)",
    )
    to.add_argument(
        "--shift-by", metavar="N", type=offset_distance, help="by N offsets: on, or back if N is negative"
    )
    parser.add_argument(
        "--topic",
        dest="topics",
        metavar="TOPIC",
        action="append",
        default=[],
        help="only in this topic; may be repeated; default: all for which the group has committed",
    )
    parser.add_argument(
        "-p",
        "--partition",
        dest="partitions",
        metavar="N",
        type=whole_number,
        action="append",
        help="only in this partition of the topics; may be repeated",
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would be moved, move nothing")
    add_json(parser)
    add_connection(parser)
    parser.set_defaults(run=_reset, refuse=parser.error)


def _reset(arguments: argparse.Namespace) -> int:
    from riverlog.client.groups import GroupAdmin
    from riverlog.client.positions import Kind

    if arguments.to_datetime is not None and arguments.to_datetime.kind is not Kind.TIME:
        arguments.refuse(
            "--to-datetime expects a time (2025-01-31T12:00:00Z, @MILLISECONDS) or an age (30s, 15m, 2h, 7d)"
        )
    with GroupAdmin(**connection(arguments)) as admin:
        _check_is_unused(admin, arguments.group)
        committed = admin.committed(arguments.group)
        places = _chosen(admin, arguments.group, committed, arguments.topics, arguments.partitions)
        moves = _moves(admin, arguments, committed, places)
        if not arguments.dry_run:
            admin.commit(arguments.group, {(move.topic, move.partition): move.new for move in moves})
    if arguments.json:
        for move in moves:
            print_json({"group": arguments.group, **move._asdict(), "is_moved": not arguments.dry_run})
        return 0
    print_table(
        ["topic", "partition", "committed", "new", "start", "end", "left to read"],
        [[*move[:3], move.new, move.start, move.end, move.end - move.new] for move in moves],
    )
    would = "would be moved" if arguments.dry_run else "moved"
    print(f"group {arguments.group} {would} in {quantity(len(moves), 'partition')}")
    return 0


def _check_is_unused(admin: GroupAdmin, name: str) -> None:
    """Refuse a group that somebody is in; the broker would as well, in fewer words."""
    from riverlog.client.groups import UnknownGroup

    try:
        group = admin.group(name)
    except UnknownGroup:
        return
    if group.members:
        raise _in_use(group)


def _in_use(group: Group) -> RiverlogError:
    who = ", ".join(f"{member.client_id}@{member.host}" for member in group.members[:3])
    more = f" and {len(group.members) - 3} more" if len(group.members) > 3 else ""
    return RiverlogError(
        f"group {group.name!r} has {quantity(len(group.members), 'member')} ({who}{more}): "
        "stop its consumers first"
    )


def _chosen(
    admin: GroupAdmin,
    group: str,
    committed: dict[Place, int],
    topics: list[str],
    partitions: list[int] | None,
) -> list[Place]:
    """The partitions to move: of the topics named, or all for which the group has committed."""
    if topics:
        places = []
        for topic in admin.topics(topics):
            there = [each.partition for each in topic.partitions]
            wanted = there if partitions is None else sorted(set(partitions))
            for index in wanted:
                if index not in there:
                    raise RiverlogError(
                        f"topic {topic.name!r} has no partition {index}: it has {len(there)}, numbered from 0"
                    )
                places.append((topic.name, index))
        return places
    existing = set(admin.topic_names())
    for name in dict.fromkeys(topic for topic, _ in committed if topic not in existing):
        print(f"riverlog: topic {name!r} does not exist any more: passed over", file=sys.stderr)
    places = [
        (name, index)
        for name, index in committed
        if name in existing and (partitions is None or index in partitions)
    ]
    if not places:
        raise RiverlogError(f"group {group!r} has committed nothing to move: name the topic with --topic")
    return places


def _moves(
    admin: GroupAdmin, arguments: argparse.Namespace, committed: dict[Place, int], places: list[Place]
) -> list[Move]:
    bounds = _bounds(admin, places)
    target = _target(arguments)
    found: dict[Place, int | None] = {}
    if target is not None and arguments.to_datetime is not None:
        for topic in dict.fromkeys(topic for topic, _ in places):
            indexes = [index for name, index in places if name == topic]
            for index, offset in admin.offsets_at(topic, target.number, indexes).items():
                found[topic, index] = offset
    moves = []
    for place in places:
        before = committed.get(place)
        if target is None and before is None:
            raise RiverlogError(
                f"group {arguments.group!r} has committed nothing for {place[0]}-{place[1]}: "
                "--shift-by has nothing to count from"
            )
        if target is None:
            assert before is not None
            new = shifted(before, arguments.shift_by, bounds[place])
        else:
            new = offset_of(target, bounds[place], found.get(place))
        moves.append(Move(*place, before, *bounds[place], new))
    return moves


def _target(arguments: argparse.Namespace) -> Position | None:
    """Where to, None for a distance from where the group is."""
    from riverlog.client.positions import END, START, Kind, Position

    if arguments.to_earliest:
        return START
    if arguments.to_latest:
        return END
    if arguments.to_offset is not None:
        return Position(Kind.OFFSET, arguments.to_offset)
    at: Position | None = arguments.to_datetime
    return at


def offset_of(target: Position, bounds: Bounds, found: int | None) -> int:
    """Give the offset of a position in one partition; `found` is what a look-up by its time gave."""
    from riverlog.client.positions import span

    return span(target, None, bounds, {target.number: found}).start


def shifted(committed: int, distance: int, bounds: Bounds) -> int:
    """Go on or back from an offset, no further than the partition reaches."""
    return min(max(committed + distance, bounds.earliest), bounds.latest)


# delete


def _add_delete(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "delete",
        "delete groups with all they have committed",
        "A group in use is refused: stop its consumers first. Consumers that come back begin anew,\n"
        "where their own setting says (auto.offset.reset). --dry-run shows what would be forgotten.",
        "  riverlog groups delete billing --dry-run\n  riverlog groups delete billing --if-exists",
    )
    parser.add_argument("groups", metavar="GROUP", nargs="+", help="groups to delete")
    parser.add_argument("--if-exists", action="store_true", help="pass over groups that do not exist")
    parser.add_argument("--dry-run", action="store_true", help="say what would be deleted, delete nothing")
    add_connection(parser)
    parser.set_defaults(run=_delete, list_argument="groups")


def _delete(arguments: argparse.Namespace) -> int:
    from riverlog.client.groups import GroupAdmin, UnknownGroup

    with GroupAdmin(**connection(arguments)) as admin:
        for name in dict.fromkeys(arguments.groups):
            try:
                group = admin.group(name)
            except UnknownGroup:
                if not arguments.if_exists:
                    raise
                print(f"group {name} does not exist")
                continue
            if group.members:
                raise _in_use(group)
            if arguments.dry_run:
                places = quantity(len(admin.committed(name)), "partition")
                print(f"group {name} would be deleted, with what it has committed for {places}")
            else:
                admin.delete_group(name)
                print(f"group {name} deleted")
    return 0
