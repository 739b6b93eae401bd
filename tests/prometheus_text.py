"""A strict reader of Prometheus' text format, version 0.0.4: what it does not know, it refuses.

Stricter than collectors are: each metric is announced once, with HELP and TYPE, before its samples, all of
which follow each other; names fit their types; no sample comes twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_HELP = re.compile(r"# HELP (\S+) (.*)")
_TYPE = re.compile(r"# TYPE (\S+) (counter|gauge|histogram)")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,(?=[a-zA-Z_])|$)')
_NUMBER = re.compile(r"[+-]?(\d+(\.\d+)?([eE][+-]?\d+)?|Inf)|NaN")
_UNESCAPED = {'\\"': '"', "\\\\": "\\", "\\n": "\n"}

Labels = frozenset[tuple[str, str]]


@dataclass
class ParsedFamily:
    """A metric as it was read; samples by name and labels."""

    name: str
    meaning: str
    kind: str = ""
    samples: dict[tuple[str, Labels], float] = field(default_factory=dict)


class Metrics(dict[str, ParsedFamily]):
    """All metrics of an answer."""

    def value(self, name: str, **labels: object) -> float | None:
        """Give the one sample with this name and exactly these labels, None if it is not there."""
        found = self.get(_family_of(name, self))
        wanted = frozenset((label, str(value)) for label, value in labels.items())
        return None if found is None else found.samples.get((name, wanted))


def parse(text: str) -> Metrics:
    """Read an answer; raise ValueError naming the line that is not as it should be."""
    metrics = Metrics()
    if text and not text.endswith("\n"):
        raise ValueError("the last line does not end")
    current: ParsedFamily | None = None
    for line in text.split("\n")[:-1]:
        if help_line := _HELP.fullmatch(line):
            name, meaning = help_line.groups()
            if name in metrics or not _NAME.fullmatch(name):
                raise ValueError(f"a name that comes twice, or is none: {line!r}")
            current = metrics[name] = ParsedFamily(name, meaning)
        elif type_line := _TYPE.fullmatch(line):
            if current is None or type_line[1] != current.name or current.kind or current.samples:
                raise ValueError(f"a type without its metric: {line!r}")
            current.kind = type_line[2]
        elif current is None or not current.kind:
            raise ValueError(f"a sample without its metric: {line!r}")
        else:
            _add_sample(current, line)
    for metric in metrics.values():
        _check(metric)
    return metrics


def _add_sample(metric: ParsedFamily, line: str) -> None:
    head, space, value = line.rpartition(" ")
    if not space or not _NUMBER.fullmatch(value):
        raise ValueError(f"no number: {line!r}")
    name, brace, rest = head.partition("{")
    labels: dict[str, str] = {}
    if brace:
        if not rest.endswith("}"):
            raise ValueError(f"labels do not end: {line!r}")
        labels = _labels(rest[:-1], line)
    suffixes = ("_bucket", "_sum", "_count") if metric.kind == "histogram" else ("",)
    if name not in [metric.name + suffix for suffix in suffixes]:
        raise ValueError(f"a sample of another metric than {metric.name}: {line!r}")
    key = (name, frozenset(labels.items()))
    if key in metric.samples:
        raise ValueError(f"a sample that comes twice: {line!r}")
    metric.samples[key] = float(value)


def _labels(text: str, line: str) -> dict[str, str]:
    labels: dict[str, str] = {}
    position = 0
    while position < len(text):
        found = _LABEL.match(text, position)
        if found is None or found[1] in labels:
            raise ValueError(f"no label at {text[position:]!r}: {line!r}")
        labels[found[1]] = re.sub(r"\\.", lambda escape: _UNESCAPED[escape[0]], found[2])
        position = found.end()
    return labels


def _check(metric: ParsedFamily) -> None:
    if not metric.samples:
        raise ValueError(f"{metric.name} has no samples")
    if (metric.kind == "counter") != metric.name.endswith("_total"):
        raise ValueError(f"{metric.name} is a {metric.kind}")
    if metric.kind == "counter" and min(metric.samples.values()) < 0:
        raise ValueError(f"{metric.name} is below 0")
    if metric.kind == "histogram":
        _check_histogram(metric)


def _check_histogram(metric: ParsedFamily) -> None:
    """Buckets grow up to +Inf, which is the count."""
    buckets: dict[Labels, dict[float, float]] = {}
    for (name, labels), value in metric.samples.items():
        if name.endswith("_bucket"):
            ends = [float(text) for label, text in labels if label == "le"]
            others = frozenset(pair for pair in labels if pair[0] != "le")
            buckets.setdefault(others, {})[ends[0]] = value
    for labels, counts in buckets.items():
        ordered = [counts[end] for end in sorted(counts)]
        count = metric.samples.get((f"{metric.name}_count", labels))
        total = metric.samples.get((f"{metric.name}_sum", labels))
        if ordered != sorted(ordered) or max(counts) != float("inf") or ordered[-1] != count or total is None:
            raise ValueError(f"{metric.name} {dict(labels)} is no histogram")


def _family_of(name: str, metrics: Metrics) -> str:
    for suffix in ("_bucket", "_sum", "_count"):
        base = name.removesuffix(suffix)
        if base != name and base in metrics:
            return base
    return name
