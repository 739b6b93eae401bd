"""Metrics as text: Prometheus' exposition format, version 0.0.4.

    # HELP riverlog_connections Connections that are open.
    # TYPE riverlog_connections gauge
    riverlog_connections 12

Pure. All samples of a metric follow each other; a counter's name ends in `_total`.
https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple, TypeAlias

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

SAMPLES_PER_PIECE = 64
"""How many samples are written between two chances to do something else."""

Sample: TypeAlias = tuple[str, float]
"""Suffix of the name with labels, as `labels` or `bucket` wrote them, and value."""


class Kind(StrEnum):
    """What may be done with a metric's numbers."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Family(NamedTuple):
    """A metric: all samples that have its name."""

    name: str
    kind: Kind
    meaning: str
    label_names: tuple[str, ...] = ()


def labels(**values: object) -> str:
    """Write labels in the order in which they are given."""
    return "{" + _pairs(values) + "}"


def histogram(
    label: str, value: object, ends: Iterable[float], counts: list[int], total: float
) -> list[Sample]:
    """Write a histogram's samples; `counts` are of each bucket alone, the last of what is above them all."""
    shown = _pairs({label: value})
    samples: list[Sample] = []
    below = 0
    for end, count in zip((*map(number, ends), "+Inf"), counts, strict=True):
        below += count
        samples.append((f'_bucket{{{shown},le="{end}"}}', below))
    return [*samples, (f"_sum{{{shown}}}", total), (f"_count{{{shown}}}", below)]


def write(family: Family, samples: Iterable[Sample]) -> Iterator[str]:
    """Write a metric in pieces, each of whole lines. Without samples it is not mentioned."""
    name = family.name
    lines: list[str] = []
    is_begun = False
    for suffix, value in samples:
        if not is_begun:
            is_begun = True
            lines += [f"# HELP {name} {_escaped_help(family.meaning)}\n", f"# TYPE {name} {family.kind}\n"]
        lines.append(f"{name}{suffix} {number(value)}\n")
        if len(lines) >= SAMPLES_PER_PIECE:
            yield "".join(lines)
            lines.clear()
    if lines:
        yield "".join(lines)


def number(value: float) -> str:
    """Write a number: whole ones without a point, others so that they read back the same."""
    if isinstance(value, int):
        return str(int(value))
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)


def _pairs(values: dict[str, object]) -> str:
    return ",".join(f'{name}="{_escaped(str(value))}"' for name, value in values.items())


def _escaped(text: str) -> str:
    if "\\" in text or '"' in text or "\n" in text:
        text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return text


def _escaped_help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")
