"""A record as a JSON object, the same one out of `consume --json` and into `produce --json`.

    {"topic": "orders", "partition": 0, "offset": 17,
     "timestamp": 1735689600000, "timestamp_type": "CreateTime",
     "key": "customer-7", "value": "{\\"total\\": 12}", "headers": [{"name": "trace", "value": "a1"}]}

- Kafka's keys, values and header values are bytes. Bytes that are UTF-8 appear as a string, others as
  base64 under `key_base64` / `value_base64`, so that nothing is lost on the way out and in again.
- Into `produce`, all fields may be left out; topic, offset and timestamp_type are ignored. A key or value
  that is neither string nor null is sent as its own JSON text. Headers may also be an object of names and
  strings.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from riverlog.client.consume import ConsumedRecord

Headers = list[tuple[str, bytes | None]]

_FIELDS = frozenset(
    {
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestamp_type",
        "key",
        "key_base64",
        "value",
        "value_base64",
        "headers",
    }
)
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


class JsonRecord(NamedTuple):
    """What one object asks to be sent; partition -1 and timestamp 0 leave the choice to the client."""

    key: bytes | None
    value: bytes | None
    headers: Headers
    partition: int
    timestamp_ms: int


def write(record: ConsumedRecord) -> bytes:
    """Make one line of a record read from a topic."""
    fields: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": None if record.timestamp_ms < 0 else record.timestamp_ms,
        "timestamp_type": "LogAppendTime" if record.is_log_append_time else "CreateTime",
    }
    put_bytes(fields, "key", record.key)
    put_bytes(fields, "value", record.value)
    fields["headers"] = [_header(name, value) for name, value in record.headers]
    return _encode(fields).encode() + b"\n"


def read(line: bytes) -> JsonRecord:
    """Read one line into a record to send; raise `ValueError` naming the field that is wrong."""
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise ValueError('not a JSON object: expected {"key": ..., "value": ...}')
    if unknown := sorted(fields.keys() - _FIELDS):
        raise ValueError(f"unknown field {unknown[0]!r}: known are {', '.join(sorted(_FIELDS))}")
    return JsonRecord(
        _take_bytes(fields, "key"),
        _take_bytes(fields, "value"),
        _take_headers(fields.get("headers")),
        _take_number(fields, "partition", -1),
        _take_number(fields, "timestamp", 0),
    )


def put_bytes(fields: dict[str, Any], name: str, data: bytes | None) -> None:
    """Add bytes to an object: as a string where they are UTF-8, else as base64 under another name."""
    if data is None:
        fields[name] = None
        return
    try:
        fields[name] = data.decode()
    except UnicodeDecodeError:
        fields[f"{name}_base64"] = b64encode(data).decode()


def _header(name: str, value: bytes | None) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": name}
    put_bytes(fields, "value", value)
    return fields


def _take_bytes(fields: Mapping[str, Any], name: str) -> bytes | None:
    encoded = fields.get(f"{name}_base64")
    if encoded is not None:
        if fields.get(name) is not None:
            raise ValueError(f"both {name!r} and '{name}_base64' are given")
        try:
            return b64decode(encoded, validate=True)
        except (ValueError, TypeError):
            raise ValueError(f"'{name}_base64' is not base64") from None
    value = fields.get(name)
    if value is None:
        return None
    try:
        return (value if isinstance(value, str) else _encode(value)).encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name!r} holds half a surrogate pair, which has no UTF-8 form") from None


def _take_headers(given: object) -> Headers:
    if given is None:
        return []
    if isinstance(given, dict):
        return [(name, _take_bytes(given, name)) for name in given]
    if not isinstance(given, list):
        raise ValueError("'headers' is neither an object nor a list")
    headers: Headers = []
    for entry in given:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise ValueError('a header is not {"name": ..., "value": ...}')
        headers.append((entry["name"], _take_bytes(entry, "value")))
    return headers


def _take_number(fields: Mapping[str, Any], name: str, absent: int) -> int:
    value = fields.get(name)
    if value is None:
        return absent
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise ValueError(f"{name!r} is not a whole number of 0 or more")
    return value
