"""What to do about a program that this machine lacks."""

from __future__ import annotations

import os

import pytest


def stand_down(reason: str) -> None:
    """Skip by name; fail where CI is set, since all is there: nothing passes by not being run."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
