"""What one setting is: its names, kind, default, scope and text, said once on its field.

    segment_bytes: int = setting("log.segment.bytes", byte_count(lowest=1 << 20), 1 << 30,
                                 topic="segment.bytes", dynamic=CLUSTER_WIDE, doc="...")

`setting()` makes a dataclass field that carries its `Setting`; `table.py` collects them all, and
everything that concerns settings (files, flags, environment, DescribeConfigs, the reference page)
is derived from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, TypeVar

from riverlog.config.kinds import Kind

T = TypeVar("T")


class Dynamic(Enum):
    """Whether a broker's setting may change while it runs.

    Kafka's third mode, per broker only, is for addresses and TLS material; none of that changes live
    here.
    """

    READ_ONLY = "read-only"
    CLUSTER_WIDE = "cluster-wide"
    """For all brokers at once, or for one of them, which counts more."""


READ_ONLY: Final = Dynamic.READ_ONLY
CLUSTER_WIDE: Final = Dynamic.CLUSTER_WIDE


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another name for a setting, in its own unit. It counts only where the names before it are silent."""

    name: str
    kind: Kind[Any]
    convert: Callable[[Any], Any]
    """From a value of this name to a value of the setting."""
    default_text: str | None = None
    is_same: bool = False
    """The two names mean the same thing: shown with one value, refused when given different ones."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as its field declares it."""

    name: str | None
    """The broker's name for it; None for what only a topic has."""
    kind: Kind[Any]
    default: Any
    doc: str
    topic_name: str | None
    topic_kind: Kind[Any]
    dynamic: Dynamic
    alternatives: tuple[Alternative, ...]
    is_ours: bool
    """A setting that Apache Kafka does not have."""
    kafka_default: str | None
    """Apache Kafka's default, where we chose another."""


def setting(
    name: str | None,
    kind: Kind[T],
    default: T,
    *,
    doc: str,
    topic: str | None = None,
    topic_kind: Kind[T] | None = None,
    dynamic: Dynamic = READ_ONLY,
    alternatives: tuple[Alternative, ...] = (),
    is_ours: bool = False,
    kafka_default: str | None = None,
) -> T:
    """Declare a dataclass field that is a setting."""
    declared = Setting(
        name=name,
        kind=kind,
        default=default,
        doc=" ".join(doc.split()),
        topic_name=topic,
        topic_kind=topic_kind or kind,
        dynamic=dynamic,
        alternatives=alternatives,
        is_ours=is_ours,
        kafka_default=kafka_default,
    )
    return field(default=default, metadata={"setting": declared})


def from_minutes(minutes: int) -> int:
    """Convert to milliseconds; -1 stays -1, "no limit"."""
    return -1 if minutes < 0 else minutes * 60_000


def from_hours(hours: int) -> int:
    """Convert to milliseconds; -1 stays -1, "no limit"."""
    return -1 if hours < 0 else hours * 3_600_000
