"""The options of the source, by the names of Spark's Kafka source wherever it has one. Pure.

Whatever is not known here, or does not go together, is refused by its name: an option that is misspelt must
not pass for one that was heeded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from riverlog.columnar.fetching.requests import addresses
from riverlog.columnar.options import READ_COMMITTED, is_read_committed
from riverlog.errors import ConfigError
from riverlog.pipelines.decoding.declared import declared_fields
from riverlog.pipelines.source import anchors
from riverlog.pipelines.source.anchors import EARLIEST, LATEST, Anchor
from riverlog.pipelines.source.rows import BAD, COLUMNS, HEADERS, RAW
from riverlog.types import TopicPartition

TIMEOUT_SECONDS = 60.0
"""How long reading goes on trying while a cluster answers nothing: so long may a broker take to come back."""

_BOTH = (
    "kafka.bootstrap.servers",
    "bootstrap",
    "subscribe",
    "subscribePattern",
    "assign",
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "failOnDataLoss",
    "includeHeaders",
    "minPartitions",
    "maxRecordsPerPartition",
    "kafka.isolation.level",
    "isolation",
    "columns",
    "valueFormat",
    "valueSchema",
    "includeRaw",
    "directory",
    "timeoutSeconds",
)
_BATCH_ONLY = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
_STREAM_ONLY = ("maxOffsetsPerTrigger", "group")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """What to read, from where to where, and how."""

    bootstrap: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assigned: tuple[TopicPartition, ...] = ()
    start: Anchor
    end: Anchor
    absent_is_latest: bool
    offsets_per_trigger_max: int | None
    fails_on_loss: bool
    tasks_min: int | None
    offsets_per_task_max: int | None
    isolation: str
    group: str | None
    """Which group shows how far a query has come."""
    timeout_seconds: float
    directories: tuple[str, ...]
    """Log directories of a broker that tasks may have on their own disks."""
    value_fields: pa.Schema | None
    """What values are decoded to; None: they stay bytes."""

    @property
    def is_committed(self) -> bool:
        """Whether records of open and aborted transactions are left out."""
        return self.isolation == READ_COMMITTED


def source_options(given: Mapping[str, str], *, is_stream: bool) -> SourceOptions:
    """Read the options of a query, whatever the case of their names. Raises ConfigError."""
    options = _Given(given, (*_BOTH, *(_STREAM_ONLY if is_stream else _BATCH_ONLY)))
    bootstrap = options.one_of("kafka.bootstrap.servers", "bootstrap")
    if bootstrap is None:
        raise ConfigError("kafka.bootstrap.servers", "", "HOST:PORT[,HOST:PORT]..., as in 127.0.0.1:9092")
    topics, pattern, assigned = _what(options)
    isolation = options.one_of("kafka.isolation.level", "isolation") or READ_COMMITTED
    timeout = options.number("timeoutSeconds")
    addresses(bootstrap)
    is_read_committed(isolation)
    return SourceOptions(
        bootstrap=bootstrap,
        topics=topics,
        pattern=pattern,
        assigned=assigned,
        start=_start(options, is_stream=is_stream),
        end=_end(options),
        absent_is_latest=options.choice("startingOffsetsByTimestampStrategy", "error", "latest") == "latest",
        offsets_per_trigger_max=options.number("maxOffsetsPerTrigger"),
        fails_on_loss=options.flag("failOnDataLoss", default=True),
        tasks_min=options.number("minPartitions"),
        offsets_per_task_max=options.number("maxRecordsPerPartition"),
        isolation=isolation,
        group=_group(options),
        timeout_seconds=TIMEOUT_SECONDS if timeout is None else float(timeout),
        directories=_directories(options),
        value_fields=_value_fields(options),
    )


def _what(options: _Given) -> tuple[tuple[str, ...], str | None, tuple[TopicPartition, ...]]:
    ways = ("subscribe", "subscribePattern", "assign")
    chosen = [way for way in ways if options.get(way) is not None]
    if len(chosen) != 1:
        raise ConfigError(" and ".join(chosen) or "subscribe", "", f"exactly one of {', '.join(ways)}")
    text = options.get(chosen[0]) or ""
    match chosen[0]:
        case "assign":
            return (), None, anchors.assigned("assign", text)
        case "subscribe":
            topics = tuple(sorted({topic.strip() for topic in text.split(",")} - {""}))
            if not topics:
                raise ConfigError("subscribe", text, "names of topics: clicks,orders")
            return topics, None, ()
    try:
        re.compile(text)
    except re.error as error:
        raise ConfigError("subscribePattern", text, f"a regular expression ({error})") from None
    return (), text, ()


def _start(options: _Given, *, is_stream: bool) -> Anchor:
    for name, read in (
        ("startingTimestamp", anchors.moment_anchor),
        ("startingOffsetsByTimestamp", anchors.moments_anchor),
        ("startingOffsets", anchors.offsets_anchor),
    ):
        text = options.get(name)
        if text is not None:
            anchor = read(name, text)
            if not is_stream and anchor.everywhere == LATEST:
                raise ConfigError(name, text, "a beginning with something behind it: latest is for streams")
            return anchor
    return Anchor("startingOffsets", LATEST if is_stream else EARLIEST)


def _group(options: _Given) -> str | None:
    text = options.get("group")
    if text == "":
        raise ConfigError("group", text, "the name of a consumer group")
    return text


def _directories(options: _Given) -> tuple[str, ...]:
    text = options.get("directory")
    found = tuple(filter(None, (path.strip() for path in (text or "").split(","))))
    if text is not None and (not found or not all(path.startswith("/") for path in found)):
        raise ConfigError("directory", text, "a broker's log directories, by absolute paths: /data/riverlog")
    return found


def _end(options: _Given) -> Anchor:
    for name, read in (
        ("endingTimestamp", anchors.moment_anchor),
        ("endingOffsetsByTimestamp", anchors.moments_anchor),
        ("endingOffsets", anchors.offsets_anchor),
    ):
        text = options.get(name)
        if text is not None:
            anchor = read(name, text)
            if EARLIEST in (anchor.everywhere, *(anchor.places or {}).values()):
                raise ConfigError(name, text, "an end with something before it: not the earliest")
            return anchor
    return Anchor("endingOffsets", LATEST)


def chosen_columns(given: Mapping[str, str]) -> tuple[str, ...]:
    """Read which columns the options ask for. Raises ConfigError, also for an option that nobody knows."""
    options = _Given(given, (*_BOTH, *_STREAM_ONLY, *_BATCH_ONLY))
    text = options.get("columns")
    known = COLUMNS if _value_fields(options) is None else (*COLUMNS, BAD, RAW)
    asked = {
        HEADERS: options.flag("includeHeaders", default=False),
        RAW: options.flag("includeRaw", default=False),
    }
    if text is None:
        return tuple(name for name in known if asked.get(name, True))
    names = tuple(name.strip() for name in text.split(","))
    if len(set(names)) != len(names) or not set(names) <= set(known):
        raise ConfigError("columns", text, f"some of {', '.join(known)}, each once")
    for name, is_asked in asked.items():
        if is_asked and name not in names:
            raise ConfigError("columns", text, f"{name} among them, since include{name.title()} is set")
    return names


def value_fields(given: Mapping[str, str]) -> pa.Schema | None:
    """Read what values are decoded to; None where they stay bytes. Raises ConfigError."""
    return _value_fields(_Given(given, (*_BOTH, *_STREAM_ONLY, *_BATCH_ONLY)))


def _value_fields(options: _Given) -> pa.Schema | None:
    form, text = options.get("valueFormat"), options.get("valueSchema")
    if form is None:
        for name in ("valueSchema", "includeRaw"):
            if options.get(name) is not None:
                raise ConfigError(name, options.get(name), "valueFormat=json with it, or nothing")
        return None
    if form.strip().lower() != "json":
        raise ConfigError("valueFormat", form, "json; riverlog.pipelines.decode knows others")
    if text is None:
        raise ConfigError("valueSchema", "", "columns in SQL's words: key string NOT NULL, at timestamp")
    return declared_fields("valueSchema", text)


class _Given:
    """Options as they were given, by names whose case does not matter."""

    def __init__(self, given: Mapping[str, str], known: Sequence[str]) -> None:
        lowered = {name.lower() for name in known}
        for name, value in given.items():
            if name.lower() not in lowered:
                raise ConfigError(name, value, f"an option that riverlog has here: {', '.join(known)}")
        self._given = {name.lower(): value for name, value in given.items()}

    def get(self, name: str) -> str | None:
        return self._given.get(name.lower())

    def one_of(self, name: str, short: str) -> str | None:
        """Give what has two names; both may be there if they say the same."""
        texts = {text for text in (self.get(name), self.get(short)) if text is not None}
        if len(texts) > 1:
            raise ConfigError(short, self.get(short), f"what {name} says, or nothing")
        return texts.pop() if texts else None

    def number(self, name: str) -> int | None:
        text = self.get(name)
        if text is None:
            return None
        if not (text.isascii() and text.isdigit() and int(text) > 0):
            raise ConfigError(name, text, "a whole number above 0")
        return int(text)

    def flag(self, name: str, *, default: bool) -> bool:
        return self.choice(name, str(default).lower(), "true", "false") == "true"

    def choice(self, name: str, default: str, *others: str) -> str:
        text = self.get(name)
        if text is None:
            return default
        word = text.strip().lower()
        if word not in (default, *others):
            raise ConfigError(name, text, " or ".join(dict.fromkeys((default, *others))))
        return word
