"""Wait for what another program does: look again and again, up to a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS_MAX = 30.0
_BETWEEN_LOOKS_SECONDS = 0.02


def eventually(is_so: Callable[[], bool], claim: str, seconds_max: float = SECONDS_MAX) -> None:
    """Return once it is so; fail with the claim if that does not come about."""
    deadline = time.monotonic() + seconds_max
    while not is_so():
        assert time.monotonic() < deadline, f"not within {seconds_max:g} s: {claim}"
        time.sleep(_BETWEEN_LOOKS_SECONDS)
