"""`riverlog pipelines`: list, status, stop, diff, replay, switch, retire."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from riverlog.cli.arguments import (
    Subparsers,
    add_command,
    add_connection,
    add_json,
    add_subcommands,
    connection,
    count,
    positive_number,
)
from riverlog.cli.run import add_app, add_state, cluster_of
from riverlog.cli.table import print_json, print_table, quantity, show_time
from riverlog.errors import RiverlogError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from riverlog.pipelines.jobs.app import App
    from riverlog.pipelines.jobs.board import Board
    from riverlog.pipelines.jobs.measuring import Tally
    from riverlog.pipelines.jobs.pointers import Pointer
    from riverlog.pipelines.jobs.records import Known, Status

STOP_SECONDS_MAX = 90.0

_TEXT = """\
An app publishes how its queries are in the topic riverlog-pipelines, so that these commands work from
any machine that reaches the cluster. A changed query gets a new version: `diff` says whether it needs
one, `replay` runs it beside the old, `switch` brings readers over, `retire` removes the old one."""

_EXAMPLES = """\
  riverlog pipelines list
  riverlog pipelines stop shop/clicks-per-minute
  riverlog pipelines diff app.py"""


def add_to(commands: Subparsers) -> None:
    """Add the command and its subcommands to the command line."""
    parser = add_command(
        commands, "pipelines", "watch, stop and upgrade the queries of apps", _TEXT, _EXAMPLES
    )
    subcommands = add_subcommands(parser)
    _add_list(subcommands)
    _add_status(subcommands)
    _add_stop(subcommands)
    _add_diff(subcommands)
    _add_replay(subcommands)
    _add_switch(subcommands)
    _add_retire(subcommands)


def as_object(status: Status, now_ms: int) -> dict[str, Any]:
    """Give a status as programs read it."""
    from dataclasses import asdict

    return {**asdict(status), "state": status.shown_state(now_ms), "lag_total": sum(status.lag.values())}


def told_as_line(status: Status) -> str:
    """Tell a status in one line."""
    parts = [f"{show_time(status.updated_ms)[11:19]} {status.query} v{status.version} {status.state}"]
    if status.batch >= 0:
        parts += [
            f"batch {status.batch}",
            f"{status.rows_in_per_second:,.0f} rows/s",
            f"lag {sum(status.lag.values()):,}",
            *([f"watermark {status.watermark}"] if status.watermark else []),
            f"late {status.late_rows:,}",
            *([f"bad {status.bad_rows:,}"] if status.bad_rows else []),
            f"{status.batch_ms:,} ms",
        ]
    if status.error:
        parts.append(status.error)
    return "  ".join(parts)


# list


def _add_list(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "list",
        "list queries and how they are",
        "A query is lost when it has stopped saying that it runs. Current is the version that readers\n"
        "of the output follow.",
        "  riverlog pipelines list\n  riverlog pipelines list --json | jq 'select(.lag_total > 1000)'",
    )
    add_json(parser)
    add_connection(parser)
    parser.set_defaults(run=_list)


def _list(arguments: argparse.Namespace) -> int:
    known, now_ms = _known(arguments)
    statuses = sorted(known.statuses.values(), key=lambda each: (each.app, each.query, each.version))
    if arguments.json:
        for status in statuses:
            print_json({**as_object(status, now_ms), "is_current": _is_current(known, status)})
        return 0
    print_table(
        ["query", "version", "current", "state", "rows/s", "lag", "late", "updated"],
        [
            [
                status.name,
                status.version,
                _is_current(known, status),
                status.shown_state(now_ms),
                round(status.rows_in_per_second),
                sum(status.lag.values()),
                status.late_rows,
                show_time(status.updated_ms),
            ]
            for status in statuses
        ],
    )
    return 0


# status


def _add_status(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "status",
        "show all that is known of queries",
        "Of an app, or of one of its queries in all versions.",
        "  riverlog pipelines status shop\n  riverlog pipelines status shop/clicks-per-minute --json",
    )
    _add_name(parser)
    add_json(parser)
    add_connection(parser)
    parser.set_defaults(run=_status)


def _status(arguments: argparse.Namespace) -> int:
    known, now_ms = _known(arguments)
    for number, status in enumerate(_named(known, arguments.name)):
        if arguments.json:
            print_json({**as_object(status, now_ms), "is_current": _is_current(known, status)})
            continue
        if number:
            print()
        print(f"{status.name}  version {status.version}  {status.shown_state(now_ms)}")
        for title, value in _details(known, status):
            print(f"  {title:<10} {value}")
    return 0


def _details(known: Known, status: Status) -> list[tuple[str, str]]:
    pointer = _pointer_of(known, status)
    readers = "" if pointer is None else ", where readers are" if pointer.version == status.version else ""
    told = [
        ("output", status.output and f"{status.output}{readers}"),
        ("rows in", f"{status.rows_in:,}, {status.rows_in_per_second:,.1f}/s"),
        (
            "rows out",
            ""
            if status.rows_out is None
            else f"{status.rows_out:,}, {status.rows_out_per_second or 0:,.1f}/s",
        ),
        ("lag", ", ".join(f"{topic} {lag:,}" for topic, lag in sorted(status.lag.items()))),
        ("batch", f"{status.batch}, in {status.batch_ms:,} ms" if status.batch >= 0 else ""),
        ("watermark", status.watermark),
        ("late rows", f"{status.late_rows:,}"),
        ("bad rows", f"{status.bad_rows:,}"),
        ("where", f"process {status.process} on {status.host}"),
        ("started", show_time(status.started_ms)),
        ("updated", show_time(status.updated_ms)),
        ("error", status.error),
    ]
    return [(title, value) for title, value in told if value]


# stop


def _add_stop(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "stop",
        "stop an app, or one of its queries, wherever it runs",
        "The app that runs them reads the request, ends each query at the end of its batch and says so;\n"
        "the command returns when it has.",
        "  riverlog pipelines stop shop\n  riverlog pipelines stop shop/clicks-per-minute",
    )
    _add_name(parser)
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=positive_number,
        default=STOP_SECONDS_MAX,
        help=f"how long to wait for the confirmation; default: {STOP_SECONDS_MAX:g}",
    )
    add_json(parser)
    add_connection(parser)
    parser.set_defaults(run=_stop)


def _stop(arguments: argparse.Namespace) -> int:
    from riverlog.pipelines.jobs.app_run import now_ms
    from riverlog.pipelines.jobs.board import Board
    from riverlog.pipelines.jobs.stopping import stop

    with Board(**connection(arguments)) as board:
        known = board.refresh()
        alive = [each for each in _named(known, arguments.name) if each.shown_state(now_ms()) in _ALIVE]
        if not alive:
            print(f"riverlog: nothing of {arguments.name} runs", file=sys.stderr)
            return 0
        for status in stop(board, arguments.name, alive, arguments.wait):
            if arguments.json:
                print_json(as_object(status, now_ms()))
            else:
                print(f"{status.name} v{status.version} {status.state}, after batch {status.batch}")
    return 0


_ALIVE = ("starting", "running")

# diff


def _add_diff(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "diff",
        "say whether changed code fits the checkpoints that are there",
        "Compares each query of the file with what its checkpoint was made by: its sources, what keeps\n"
        "state and under which keys, and the output. Nothing runs, and no cluster is needed.\n\n"
        "  unchanged         start it\n"
        "  safe              start it; what is said holds from now on\n"
        "  needs migration   state fits, but readers of the output must be prepared\n"
        "  needs replay      state or positions cannot be used: a new version, from the beginning\n\n"
        "What a Python function does inside is not looked at. Exit code 1 if a query needs migration or\n"
        "replay.",
        "  riverlog pipelines diff app.py\n  riverlog pipelines diff app.py --json | jq -r .verdict",
    )
    add_app(parser)
    add_json(parser)
    add_connection(parser)
    parser.set_defaults(run=_diff)


def _diff(arguments: argparse.Namespace) -> int:
    from riverlog.pipelines.jobs.differences import differences
    from riverlog.pipelines.jobs.loading import load, locate
    from riverlog.pipelines.jobs.preparing import spark_for

    file = locate(arguments.file)
    with spark_for(file.stem, master=arguments.master, settings=dict(arguments.settings)) as spark:
        found = differences(spark, load(file), arguments.state, cluster_of(arguments))
    for each in found:
        if arguments.json:
            print_json(each.to_json())
        else:
            print(f"{each.query} v{each.version}: {each.words}")
            for difference in each.differences:
                print(f"  {difference.level.words}: {difference.reason}")
    return 1 if any(each.is_unsafe for each in found) else 0


# replay


def _add_replay(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "replay",
        "run a new version of a query from the beginning, beside the old",
        "The new version reads up to where the one is that readers are on, into a topic and with a\n"
        "checkpoint of its own; the old one may go on meanwhile. Then the last value of each key in the\n"
        "two outputs is compared. A replay that was interrupted is gone on with.",
        "  riverlog pipelines replay app.py clicks-per-minute\n"
        "  riverlog pipelines replay app.py clicks-per-minute --version 3 --json",
    )
    add_app(parser)
    _add_query(parser)
    parser.add_argument(
        "--version", metavar="N", type=count, help="the version to run; default: the newest in the file"
    )
    add_json(parser)
    add_connection(parser)
    parser.set_defaults(run=_replay)


def _replay(arguments: argparse.Namespace) -> int:
    from riverlog.pipelines.jobs.replaying import replay

    with _running(arguments) as (spark, app, board):
        done = replay(
            spark,
            app,
            arguments.query,
            arguments.version,
            root=arguments.state,
            cluster=cluster_of(arguments),
            board=board,
            report=_tell,
        )
    if arguments.json:
        print_json(
            {
                "query": done.query.name,
                "version": done.query.version,
                "beside": done.old_version,
                "has_caught_up": done.has_caught_up,
                **done.comparison.to_json(),
            }
        )
        return 0
    found = done.comparison
    reached = "has read as far as" if done.has_caught_up else "is still behind"
    print(f"version {done.query.version} of {done.query.name} {reached} version {done.old_version}")
    print(f"  records    {found.old_records:,} of the old, {found.new_records:,} of the new")
    print(
        f"  keys       {found.same:,} alike, {found.differing:,} differ, {found.only_old:,} only in the old, "
        f"{found.only_new:,} only in the new"
    )
    for example in found.examples:
        print(f"  {example.key}\n    old {example.old or 'has none'}\n    new {example.new or 'has none'}")
    return 0


# switch


def _add_switch(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "switch",
        "bring the readers of a query's output to another version",
        "Stops the version that readers are on, at the end of a batch; runs the other up to the same\n"
        "position; and says in one record up to where readers read the old output and from where the\n"
        "new: nothing is missed, nothing comes twice. `riverlog run` then runs the new version.\n\n"
        "The way back is the same, as long as the file has the older version too.",
        "  riverlog pipelines switch app.py clicks-per-minute --to 2 --dry-run\n"
        "  riverlog pipelines switch app.py clicks-per-minute --to 2",
    )
    add_app(parser)
    _add_query(parser)
    parser.add_argument("--to", metavar="N", type=count, required=True, help="the version to go over to")
    parser.add_argument(
        "--wait",
        metavar="SECONDS",
        type=positive_number,
        default=STOP_SECONDS_MAX,
        help=f"how long the old version may take to stop; default: {STOP_SECONDS_MAX:g}",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be done, do nothing")
    add_json(parser)
    add_connection(parser)
    parser.set_defaults(run=_switch)


def _switch(arguments: argparse.Namespace) -> int:
    from riverlog.pipelines.jobs.switching import switch

    with _running(arguments) as (spark, app, board):
        done = switch(
            spark,
            app,
            arguments.query,
            arguments.to,
            root=arguments.state,
            cluster=cluster_of(arguments),
            board=board,
            stop_seconds=arguments.wait,
            dry_run=arguments.dry_run,
            report=_tell,
        )
    old, new = done.old_version, done.query.version
    if arguments.json:
        print_json(
            {
                "query": done.query.name,
                "from": old,
                "to": new,
                "was_running": done.is_old_running,
                "records_behind": done.behind,
                "pointer": done.pointer and done.pointer.to_json(),
            }
        )
    elif done.pointer is None:
        stopped = f"version {old}, which runs, would be stopped; " if done.is_old_running else ""
        print(f"{stopped}version {new} would read {done.behind:,} records more; then readers would go over")
    else:
        print(f"readers of {done.pointer.output} go on with version {new}, in {done.pointer.topic}")
    return 0


# retire


def _add_retire(subcommands: Subparsers) -> None:
    parser = add_command(
        subcommands,
        "retire",
        "delete the output and the state of a version that readers have left",
        "There is no way back to that version then. Readers who are still on their way through its\n"
        "output miss the rest: see to it first that they have come over.",
        "  riverlog pipelines retire shop/clicks-per-minute --version 1 --dry-run\n"
        "  riverlog pipelines retire shop/clicks-per-minute --version 1",
    )
    parser.add_argument("name", metavar="APP/QUERY", help="the query")
    parser.add_argument("--version", metavar="N", type=count, required=True, help="the version to delete")
    add_state(parser)
    parser.add_argument("--dry-run", action="store_true", help="say what would be deleted, delete nothing")
    add_connection(parser)
    parser.set_defaults(run=_retire, refuse=parser.error)


def _retire(arguments: argparse.Namespace) -> int:
    from riverlog.pipelines.jobs.board import Board
    from riverlog.pipelines.jobs.switching import retire

    app, slash, query = arguments.name.partition("/")
    if not slash or not query:
        arguments.refuse("name a query: APP/QUERY")
    with Board(**connection(arguments)) as board:
        done = retire(board, app, query, arguments.version, root=arguments.state, dry_run=arguments.dry_run)
    would = "would be deleted" if arguments.dry_run else "deleted"
    output = f"topic {done.topic} with {quantity(done.records, 'record')}, " if done.topic else ""
    print(f"{done.name} v{done.version}: {output}state in {done.directory} {would}")
    return 0


# What they share


def _add_query(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", help="a query of the app")


@contextmanager
def _running(arguments: argparse.Namespace) -> Iterator[tuple[SparkSession, App, Board]]:
    """Find the file, reach the cluster, start Spark and load the app, in this order."""
    from riverlog.pipelines.jobs.board import Board
    from riverlog.pipelines.jobs.loading import load, locate
    from riverlog.pipelines.jobs.preparing import spark_for

    file = locate(arguments.file)
    with Board(**connection(arguments)) as board:
        board.refresh()
        with spark_for(file.stem, master=arguments.master, settings=dict(arguments.settings)) as spark:
            yield spark, load(file), board


def _tell(tally: Tally) -> None:
    if tally.batch >= 0:
        print(f"riverlog: batch {tally.batch}, {tally.rows_in:,} rows read", file=sys.stderr)


def _add_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="APP[/QUERY]", help="an app, or one query of it")


def _known(arguments: argparse.Namespace) -> tuple[Known, int]:
    from riverlog.pipelines.jobs.app_run import now_ms
    from riverlog.pipelines.jobs.board import Board

    with Board(**connection(arguments)) as board:
        return board.refresh(), now_ms()


def _named(known: Known, name: str) -> list[Status]:
    app, _, query = name.partition("/")
    found = known.of_app(app, query)
    if not found:
        raise RiverlogError(f"nothing is known of {name}: `riverlog pipelines list` shows what is")
    return found


def _pointer_of(known: Known, status: Status) -> Pointer | None:
    output = status.output.rpartition(".v")[0]
    return known.pointer(output) if output else None


def _is_current(known: Known, status: Status) -> bool | None:
    pointer = _pointer_of(known, status)
    return None if pointer is None else pointer.version == status.version
