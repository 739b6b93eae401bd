"""From positions as people give them to offsets of each partition, which the cluster is asked for."""

from __future__ import annotations

import argparse
import sys

from riverlog.cli.arguments import connection
from riverlog.client.admin import Admin
from riverlog.client.positions import Bounds, Kind, Position, Span, span, times_in


def spans(arguments: argparse.Namespace, begin: Position, until: Position | None) -> dict[int, Span]:
    """Ask what the positions mean in each partition that the command is to read."""
    with Admin(**connection(arguments)) as admin:
        bounds = admin.bounds(
            arguments.topic, arguments.partitions, read_committed=not arguments.read_uncommitted
        )
        found = {at: admin.offsets_at(arguments.topic, at, list(bounds)) for at in times_in(begin, until)}
    _warn_of_missing(begin, bounds)
    return {
        index: span(begin, until, bounds[index], {at: offsets[index] for at, offsets in found.items()})
        for index in bounds
    }


def _warn_of_missing(begin: Position, bounds: dict[int, Bounds]) -> None:
    """Say it where an offset was asked for that is not there: printing nothing would look like no data."""
    if begin.kind is not Kind.OFFSET:
        return
    for index, (earliest, _) in bounds.items():
        if begin.number < earliest:
            print(
                f"riverlog: partition {index} keeps nothing before offset {earliest:,}: starting there",
                file=sys.stderr,
            )
    if all(begin.number > latest for _, latest in bounds.values()):
        newest = max(latest for _, latest in bounds.values())
        print(
            f"riverlog: offset {begin.number:,} is past the end, {newest:,} (a time is written "
            f"@{begin.number})",
            file=sys.stderr,
        )
