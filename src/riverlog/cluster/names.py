"""What a topic may be called.

A name becomes part of a directory name and, with `.` read as `_`, of metric names: so its characters
and length are limited, and two names that differ only in `.` against `_` may not live side by side.
"""

from __future__ import annotations

import re

NAME_LENGTH_MAX = 249
"""A directory is called NAME-PARTITION.ID-delete while it is removed, and file names end at 255."""

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})
"""Topics in which the coordinators keep their state: hidden from subscriptions by pattern."""

METADATA_TOPIC = "__cluster_metadata"
"""Where Apache Kafka keeps its own cluster state; here it is only a name that stays reserved."""

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+\Z")


def illegality(name: str) -> str | None:
    """Say why a topic cannot be called this, or None."""
    if not name:
        return "the topic name is empty"
    if name in (".", ".."):
        return f"the topic name cannot be {name!r}"
    if len(name) > NAME_LENGTH_MAX:
        return f"the topic name has {len(name)} characters, more than {NAME_LENGTH_MAX}"
    if not _LEGAL.match(name):
        return (
            f"the topic name {name!r} contains other characters than ASCII letters, digits, '.', '_' and '-'"
        )
    return None


def collision_key(name: str) -> str:
    """Two names with the same key cannot both be topics: `a.b` and `a_b`."""
    return name.replace(".", "_")


def may_collide(name: str) -> bool:
    """Say whether a name has a character that another one could replace."""
    return "." in name or "_" in name
