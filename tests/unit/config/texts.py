"""Asking a kind of values about a text."""

from __future__ import annotations

from typing import Any

from riverlog.config.kinds import Kind


def is_accepted(kind: Kind[Any], text: str) -> bool:
    """Tell whether the text is a value of that kind."""
    try:
        kind.parse(text)
    except ValueError:
        return False
    return True
