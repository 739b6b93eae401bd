"""broker: connections, dispatch, and one file for each API.

    listening ─▶ connection ─▶ dispatch ─▶ apis/<name>.py ─▶ broker (cluster, logs, partitions)
                     ▲                          │
                     └── replies in order ◀─────┴─ at once, or parked: waiting (fetches), commit (acks=all)

One event loop owns everything here and every log. Only fsync, recovery and large re-compressions
run in threads. `Server` is a broker inside a running loop; `run` is the whole process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from riverlog.broker.server import Server, run

__all__ = ["Server", "run"]


def __getattr__(name: str) -> object:
    # Loaded on first use: a command that only wants this room's errors should not pay for its event loop.
    if name in __all__:
        from riverlog.broker import server

        return getattr(server, name)
    raise AttributeError(name)
