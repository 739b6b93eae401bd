"""`riverlog log dump`: look into the files of a log directory, without a broker."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from riverlog.cli.arguments import Subparsers, add_command, add_json, add_subcommands
from riverlog.cli.table import print_json, quantity, show_time, size

if TYPE_CHECKING:
    from riverlog.cli.dump import Finding

SHOWN_CHARACTERS_MAX = 200
"""A longer key or value is cut in the text form; --json has all of it."""

_TEXT = """\
A partition is a directory TOPIC-N of segments: a .log of record batches, named by its first
offset, with indexes beside it. riverlog and Apache Kafka share these formats."""

_DUMP_TEXT = """\
Reads segments, indexes, producer snapshots and checkpoints, written by riverlog or by Apache Kafka.
A directory stands for the files in it, a data directory for its partitions too.

Every batch's CRC is checked. Where a segment is torn or damaged, the place and the reason are
named, and how much before it is sound: after a crash a broker cuts the file there. Index entries
are compared with the segment beside them. The exit code is 1 if anything is damaged.

The files are only read. A broker may be running: what it is just writing may then look torn."""

_DUMP_EXAMPLES = """\
  riverlog log dump riverlog-data/orders-0
  riverlog log dump riverlog-data/orders-0/00000000000000000000.log --records
  riverlog log dump riverlog-data --summary                 is everything sound?
  riverlog log dump orders-0 --records --json | jq 'select(.kind == "record") | .value'"""


def add_to(commands: Subparsers) -> None:
    """Add the command and its subcommand to the command line."""
    parser = add_command(commands, "log", "look into log files without a broker", _TEXT, "")
    dump = add_command(
        add_subcommands(parser),
        "dump",
        "decode segments, indexes, snapshots and checkpoints",
        _DUMP_TEXT,
        _DUMP_EXAMPLES,
    )
    dump.add_argument("paths", metavar="PATH", nargs="+", help="files or directories")
    detail = dump.add_mutually_exclusive_group()
    detail.add_argument("--records", action="store_true", help="show every record, not only batches")
    detail.add_argument("--summary", action="store_true", help="show one line per file, and damage")
    add_json(dump)
    dump.set_defaults(run=run, list_argument="paths")


def run(arguments: argparse.Namespace) -> int:
    """Decode and print; the exit code tells of damage."""
    from riverlog.cli import dump
    from riverlog.cli.progress import Progress
    from riverlog.errors import StorageError

    progress = Progress("records checked", is_shown=arguments.summary or not sys.stdout.isatty())
    file_count = damaged = 0
    try:
        for path in (path for argument in arguments.paths for path in dump.files_of(argument)):
            file_count += 1
            is_sound = True
            if not arguments.json and not arguments.summary:
                print(path)
            try:
                for finding in dump.decode(path, is_deep=arguments.records):
                    is_sound &= not finding.is_damage
                    if finding.kind == "batch":
                        progress.advance(finding.fields["records"], finding.fields["bytes"])
                    if not arguments.summary or finding.is_damage or _is_filled_segment(finding):
                        progress.clear()
                        _show(path, finding, arguments)
            except StorageError as error:
                is_sound = False
                progress.clear()
                print(f"riverlog: {error}", file=sys.stderr)
            damaged += not is_sound
    finally:
        progress.clear()
    if arguments.summary and not arguments.json:
        verdict = f"{damaged:,} damaged" if damaged else "all sound"
        print(f"{quantity(file_count, 'file')}, {quantity(progress.count, 'record')}: {verdict}")
    return 1 if damaged else 0


def _is_filled_segment(finding: Finding) -> bool:
    return finding.kind == "segment" and finding.fields["bytes"] > 0


def _show(path: str, finding: Finding, arguments: argparse.Namespace) -> None:
    if arguments.json:
        _print_json(path, finding)
    else:
        _print_text(f"{path}: " if arguments.summary else "  ", finding)


def _print_json(path: str, finding: Finding) -> None:
    from riverlog.cli.record_json import put_bytes

    fields: dict[str, Any] = {"file": path, "kind": finding.kind, "is_damage": finding.is_damage}
    for name, value in finding.fields.items():
        if name == "headers":
            fields[name] = []
            for header, content in value:
                entry: dict[str, Any] = {"name": header}
                put_bytes(entry, "value", content)
                fields[name].append(entry)
        elif name in ("key", "value"):
            put_bytes(fields, name, value)
        else:
            fields[name] = value
    print_json(fields)


def _print_text(lead: str, finding: Finding) -> None:
    kind, fields = finding.kind, finding.fields
    match kind:
        case "batch":
            text = _batch(fields)
        case "record":
            text = f"    {_record(fields)}"
        case "segment":
            text = _segment(fields)
        case "damage":
            text = f"DAMAGED at byte {fields['position']:,}: {fields['problem']}"
        case "index":
            text = _entries(fields["entries"]) + (
                ", compared with the segment" if fields["is_compared"] else ""
            )
        case _:
            shown = (f"{name} {_value(name, value)}" for name, value in fields.items() if value is not None)
            text = f"{kind}: {'  '.join(shown)}"
    print(lead + text)


def _batch(fields: dict[str, Any]) -> str:
    parts = [
        f"at {fields['position']:,}",
        f"offsets {fields['base_offset']}..{fields['last_offset']}",
        quantity(fields["records"], "record"),
        f"{fields['timestamp_type']} {show_time(fields['max_timestamp'])}",
        f"{fields['bytes']:,} bytes",
        f"epoch {fields['leader_epoch']}",
    ]
    if fields["compression"] != "none":
        parts.append(fields["compression"])
    if fields["producer_id"] is not None:
        parts.append(f"producer {fields['producer_id']} epoch {fields['producer_epoch']}")
        if fields["base_sequence"] >= 0:
            parts.append(f"sequence {fields['base_sequence']}..{fields['last_sequence']}")
    if fields["is_transactional"]:
        parts.append("transactional")
    if fields["is_control"]:
        parts.append("control")
    return "  ".join(parts)


def _record(fields: dict[str, Any]) -> str:
    parts = [
        f"offset {fields['offset']}",
        show_time(fields["timestamp"]),
        f"key {_bytes(fields['key'])}",
        f"value {_bytes(fields['value'])}",
    ]
    parts += [f"{name}={_bytes(value)}" for name, value in fields["headers"]]
    return "  ".join(parts)


def _segment(fields: dict[str, Any]) -> str:
    batches = "1 batch" if fields["batches"] == 1 else f"{fields['batches']:,} batches"
    records = quantity(fields["records"], "record")
    whole = f"{batches}, {records}, next offset {fields['next_offset']}, {size(fields['bytes'])}"
    if fields["problem"] is None:
        return f"{whole}: sound"
    rest = fields["bytes"] - fields["valid_bytes"]
    return (
        f"{whole}: DAMAGED at byte {fields['valid_bytes']:,}: {fields['problem']}; "
        f"all before it is sound, the last {quantity(rest, 'byte')} would be cut"
    )


def _entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count:,} entries"


def _value(name: str, value: Any) -> str:
    return show_time(value) if name == "timestamp" else str(value)


def _bytes(data: bytes | None) -> str:
    if data is None:
        return "null"
    try:
        shown = repr(data.decode())
    except UnicodeDecodeError:
        shown = repr(data)
    if len(shown) <= SHOWN_CHARACTERS_MAX:
        return shown
    return f"{shown[:SHOWN_CHARACTERS_MAX]}... ({quantity(len(data), 'byte')})"
