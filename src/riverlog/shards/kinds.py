"""A record of a kind that a machine has no use for."""

from __future__ import annotations

from typing import NamedTuple


class OtherKind(NamedTuple):
    """It is passed over; the number tells which kind it is."""

    kind: int
