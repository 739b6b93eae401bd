"""Queries stopped by asking, from any machine, with the confirmation that they are."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from riverlog.errors import RiverlogError
from riverlog.pipelines.jobs.app_run import STOP, now_ms
from riverlog.pipelines.jobs.board import Board
from riverlog.pipelines.jobs.records import ALIVE, Command, Known, Status


class NotConfirmed(RiverlogError):
    """Who was asked to stop did not say in time that it has."""


def stop(board: Board, name: str, alive: Sequence[Status], seconds: float) -> list[Status]:
    """Ask an app, or APP/QUERY, to stop, and return what its queries said when they had.

    Raises `NotConfirmed` naming those that did not.
    """
    app, _, query = name.partition("/")
    command = Command(uuid.uuid4().hex, app, query, STOP, now_ms())
    board.publish(command)

    def those(known: Known) -> list[Status]:
        return [known.statuses[each.key] for each in alive if each.key in known.statuses]

    def have_stopped(known: Known) -> bool:
        return all(each.state not in ALIVE for each in those(known))

    if not board.wait_for(have_stopped, seconds):
        left = [
            f"{each.name} v{each.version} on {each.host}"
            for each in those(board.known)
            if each.state in ALIVE
        ]
        raise NotConfirmed(
            f"not stopped within {seconds:g} s: {', '.join(left)}. Does that process still run?"
        )
    return those(board.known)
