"""A reading of the clocks, taken by the shell once for each request."""

from __future__ import annotations

from typing import NamedTuple

NEVER = 1 << 62
"""A time on the steady clock that does not come."""


class Moment(NamedTuple):
    """One moment on two clocks: the one that people set, and the one that only ever rises.

    What is stored is dated by the first. Whether somebody is late is decided by the second alone, so that
    setting the clock throws nobody out of a group.
    """

    wall_ms: int
    """Milliseconds since 1970."""
    steady_ms: int
    """Milliseconds since some start."""
