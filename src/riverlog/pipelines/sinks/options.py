"""The options of the topic sink, by the names of Spark's Kafka sink wherever it has one. Pure.

    kafka.bootstrap.servers   where the cluster is; also `bootstrap`
    topic                     where all rows go; without it each row says so in the column `topic`
    kafka.NAME                a property of the client library, as in `kafka.compression.type`
    includeHeaders            false leaves a column `headers` out
    sinkId                    the name that tells one sink from another; the id of the query unless given
    batchId                   the number of the batch, in a batch write that is to be there once
    markerTopic               the topic under whose name positions are kept
    failOnChangedBatch        false lets a batch stand as it was first written, though it is another one now

Whatever is not known here is refused by its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from riverlog.errors import ConfigError

MARKER_TOPIC = "riverlog-sinks"
TRANSACTION_MS = 900_000
"""As long as a cluster allows by default; a task keeps its transaction open for far less (transaction.py)."""
TRANSACTION_MS_MIN = 10_000

_SERVERS = "kafka.bootstrap.servers"
_TIMEOUT = "transaction.timeout.ms"
_KNOWN = ("topic", "includeHeaders", "sinkId", "markerTopic", "failOnChangedBatch", _SERVERS, "bootstrap")
_SPARKS = frozenset({"checkpointlocation", "queryname", "path"})
"""What Spark hands on of its own."""
_OURS = (
    "transactional.id",
    "enable.idempotence",
    "acks",
    "group.id",
    "enable.auto.commit",
    "isolation.level",
)
"""Properties that the promise rests on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicOptions:
    """Where to write, and under which name it is remembered."""

    bootstrap: str
    topic: str | None
    has_headers: bool
    sink_id: str | None
    batch: int | None
    marker_topic: str
    fails_on_change: bool
    transaction_ms: int
    properties: tuple[tuple[str, str], ...]
    """Of the client library; those of the user, by name."""


def topic_options(given: Mapping[str, str], *, is_stream: bool) -> TopicOptions:
    """Read the options of a query, whatever the case of their names. Raises ConfigError."""
    known = _KNOWN if is_stream else (*_KNOWN, "batchId")
    lowered = {name.lower(): value for name, value in given.items()}
    for name, value in given.items():
        own = name.lower()
        if not own.startswith("kafka.") and own not in {each.lower() for each in known} | _SPARKS:
            raise ConfigError(
                name, value, f"an option of the topic sink: one of {', '.join(known)}, or kafka.NAME"
            )
    properties = {
        name.removeprefix("kafka."): value
        for name, value in sorted(lowered.items())
        if name.startswith("kafka.") and name != _SERVERS
    }
    for name in _OURS:
        if name in properties and (name, properties[name]) != ("acks", "all"):
            raise ConfigError(f"kafka.{name}", properties[name], "nothing: the sink sets it itself")
    bootstrap = _one_of(lowered, _SERVERS, "bootstrap")
    batch = _number("batchId", lowered.get("batchid"), 0)
    sink_id = lowered.get("sinkid")
    if sink_id == "":
        raise ConfigError("sinkId", sink_id, "a name")
    if batch is not None and sink_id is None:
        raise ConfigError(
            "sinkId", "", "a name, since batchId is given: numbers of batches are counted by sink"
        )
    timeout = _number(f"kafka.{_TIMEOUT}", properties.pop(_TIMEOUT, None), TRANSACTION_MS_MIN)
    return TopicOptions(
        bootstrap=bootstrap,
        topic=lowered.get("topic"),
        has_headers=_flag("includeHeaders", lowered.get("includeheaders")),
        sink_id=sink_id,
        batch=batch,
        marker_topic=lowered.get("markertopic", MARKER_TOPIC),
        fails_on_change=_flag("failOnChangedBatch", lowered.get("failonchangedbatch")),
        transaction_ms=TRANSACTION_MS if timeout is None else timeout,
        properties=tuple(properties.items()),
    )


def _one_of(lowered: Mapping[str, str], name: str, short: str) -> str:
    texts = {lowered[key] for key in (name, short) if key in lowered}
    if len(texts) > 1:
        raise ConfigError(short, lowered[short], f"what {name} says, or nothing")
    if not any(texts):
        raise ConfigError(name, "", "HOST:PORT[,HOST:PORT]..., as in 127.0.0.1:9092")
    return texts.pop()


def _number(name: str, text: str | None, least: int) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and int(text) >= least):
        raise ConfigError(name, text, f"a whole number, {least} or more")
    return int(text)


def _flag(name: str, text: str | None) -> bool:
    word = "true" if text is None else text.strip().lower()
    if word not in ("true", "false"):
        raise ConfigError(name, text, "true or false")
    return word == "true"
