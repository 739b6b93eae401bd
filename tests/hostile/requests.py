"""Requests of every API in every version, filled at random from the protocol's own definitions.

Well-formed, mostly meaningless, often near a border. The names, ids and numbers are few, so that requests
meet each other: a topic that one creates is written, altered and deleted by others.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from riverlog.protocol import messages, schema, versions, wire
from riverlog.protocol.compression import Compression
from riverlog.protocol.message import Message
from tests.batch_builders import batch

TOPICS = tuple(f"hostile-{number}" for number in range(8))

_TEXTS = (
    *TOPICS,
    *("", "a", ".", "..", "__consumer_offsets", "__cluster_metadata", "no/such/name", "x" * 249, "x" * 300),
    *("PLAINTEXT", "range", "consumer", "1", "0", "-1", "2147483648", "Ωμέγα", "\U0001f98e", "\x00", "%s{0}"),
    *(
        "retention.ms",
        "segment.bytes",
        "cleanup.policy",
        "compression.type",
        "max.message.bytes",
        "durability",
    ),
    *("compact", "delete", "compact,delete", "zstd", "1048576", "9223372036854775807", "nonsense"),
)
_NUMBERS = {
    "int8": (0, 1, 2, 3, 4, 8, 16, -1, 127, -128),
    "int16": (0, 1, 1, 1, -1, 2, 3, 32767, -32768),
    "uint16": (0, 1, 9092, 65535),
    "int32": (0, 0, 1, 2, 3, -1, -2, 100, 1 << 20, 2**31 - 1, -(2**31)),
    "int64": (0, 0, 1, 2, -1, -2, -3, -4, -5, 1000, 1_700_000_000_000, 2**63 - 1, -(2**63)),
    "float64": (0.0, 1.0, -1.0, 1e300, float("inf"), float("nan")),
    "bool": (False, True),
}
_SMALL_COUNTS = (0, 1, 1, 1, 2, 3)
_BATCHES = (
    *(bytes(batch(3, compression=codec)) for codec in Compression),
    bytes(batch(2, producer_id=1, producer_epoch=0, base_sequence=0)),
    bytes(batch(1, producer_id=1, producer_epoch=0, base_sequence=2)),
    bytes(batch(1, producer_id=2, producer_epoch=0, base_sequence=0, is_transactional=True)),
    b"",
    bytes(61),
)

PRODUCE = 0


class RequestMaker:
    """Makes requests; `topic_ids` are ids that exist."""

    def __init__(self, chance: random.Random, topic_ids: Sequence[bytes] = ()) -> None:
        self._chance = chance
        self.topic_ids = list(topic_ids)
        self._apis = list(versions.APIS.values())

    def request(self, served: Sequence[int] = ()) -> bytes:
        """Make one whole frame; nine in ten are of a `served` API."""
        chance = self._chance
        api = chance.choice(self._apis)
        if served and chance.random() < 0.9:
            api = versions.APIS[chance.choice(served)]
        version = chance.randint(api.min_version, api.max_version)
        name = f"{api.name}Request"
        client = chance.choice((None, "", "hostile", "c" * 1000))
        return wire.write_request(
            api.key, version, chance.getrandbits(31), client, self.message(name, version)
        )

    def message(self, name: str, version: int) -> Message:
        """Fill a message's fields."""
        definition = schema.load(schema.index()[name])
        return self._structure(definition, name, version, depth=0)

    def _structure(self, definition: schema.Definition, name: str, version: int, depth: int) -> Message:
        values: dict[str, Any] = {}
        for field in definition.structs[name]:
            if not field.versions.include(version):
                continue
            if field.tag is not None and self._chance.random() < 0.5:
                continue
            values[field.name] = self._value(definition, field, version, depth)
        made: Message = getattr(messages, name)(**values)
        return made

    def _value(self, definition: schema.Definition, field: schema.Field, version: int, depth: int) -> Any:
        chance = self._chance
        if field.null_versions.include(version) and chance.random() < 0.15:
            return None
        if field.is_list:
            count = chance.choice(_SMALL_COUNTS)
            if depth < 2 and chance.random() < 0.01:
                count = chance.randrange(200)
            return [self._one(definition, field, version, depth) for _ in range(count)]
        return self._one(definition, field, version, depth)

    def _one(self, definition: schema.Definition, field: schema.Field, version: int, depth: int) -> Any:
        chance = self._chance
        if field.is_struct:
            owner = definition
            if field.kind not in owner.structs:
                owner = schema.load(schema.index()[field.kind])
            return self._structure(owner, field.kind, version, depth + 1)
        match field.kind:
            case "string":
                return chance.choice(TOPICS) if chance.random() < 0.6 else chance.choice(_TEXTS)
            case "uuid":
                if self.topic_ids and chance.random() < 0.7:
                    return chance.choice(self.topic_ids)
                return chance.choice((bytes(16), chance.randbytes(16)))
            case "bytes":
                return chance.randbytes(chance.choice((0, 1, 16, 300)))
            case "records":
                return chance.choice(_BATCHES)
            case "bool" | "float64":
                return chance.choice(_NUMBERS[field.kind])
            case kind:
                # Most numbers are small, or nothing would be found, and nothing happen.
                return chance.choice(_NUMBERS[kind][:4] if chance.random() < 0.7 else _NUMBERS[kind])
