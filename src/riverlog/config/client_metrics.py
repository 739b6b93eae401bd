"""Subscriptions to the metrics that clients have about themselves (KIP-714), and their settings.

    interval.ms    how often a client is to push, in milliseconds
    match          which clients: `client_id=...` and such, each a regular expression; empty means all
    metrics        which metrics, by the beginnings of their names; empty means none

No client is asked for its metrics yet: subscriptions are kept for when that is so. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from riverlog.config.dynamic import Change, Operation
from riverlog.config.kinds import Integer, Kind, TextList, split_list
from riverlog.config.problems import unknown_setting
from riverlog.errors import ConfigError

INTERVAL, MATCH, METRICS = "interval.ms", "match", "metrics"

KINDS: Final[dict[str, Kind[Any]]] = {
    INTERVAL: Integer(lowest=100, highest=3_600_000),
    MATCH: TextList(),
    METRICS: TextList(),
}
DEFAULTS: Final = {INTERVAL: "300000", MATCH: "", METRICS: ""}
DOCUMENTATION: Final = {
    INTERVAL: "How often clients push their metrics. No client is asked to yet.",
    MATCH: "Which clients push: names of what a client tells of itself, each with a regular expression.",
    METRICS: "Which metrics are pushed: the beginnings of their names.",
}

SELECTORS: Final = (
    "client_instance_id",
    "client_id",
    "client_software_name",
    "client_software_version",
    "client_source_address",
    "client_source_port",
)
"""What a client can be chosen by."""


def alter_client_metrics(overrides: Mapping[str, str], changes: Iterable[Change]) -> dict[str, str]:
    """Work out a subscription's settings after some changes; raises ConfigError where one cannot be."""
    altered = dict(overrides)
    for name, operation, value in changes:
        if name not in KINDS:
            raise unknown_setting(name, value, KINDS, what="setting of client metrics")
        if operation is Operation.DELETE:
            altered.pop(name, None)
        elif operation is not Operation.SET:
            raise ConfigError(name, value, f"SET or DELETE, as in Kafka, not {operation.name}")
        else:
            altered[name] = _canonical(name, value)
    return altered


def _canonical(name: str, value: str | None) -> str:
    kind = KINDS[name]
    try:
        text = kind.canonical(value or "") or ""
    except ValueError:
        raise ConfigError(name, value, kind.accepted) from None
    if name == MATCH and not all(_is_match(item) for item in split_list(text)):
        accepted = f"regular expressions, each after one of {', '.join(SELECTORS)} and an equals sign"
        raise ConfigError(name, value, accepted)
    return text


def _is_match(item: str) -> bool:
    selector, equals, pattern = item.partition("=")
    try:
        re.compile(pattern)
    except re.error:
        return False
    return bool(equals) and selector.strip() in SELECTORS
