"""The outputs of two versions, compared by key: pure.

What counts is the last value of each key. Of records without keys it is how often each value is there. JSON
is compared by what it means, not by how it is written. Keys are remembered with digests of their values;
the values of the few that are shown are looked up by reading once more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

EXAMPLES_MAX = 5
SHOWN_CHARACTERS_MAX = 300

Record = tuple[bytes | None, bytes | None]
"""Key and value."""
Reading = Callable[[], Iterable[Record]]
"""Gives the records of an output from its start, each time it is called."""


@dataclass(frozen=True, slots=True)
class Example:
    """A key whose values differ, or that one of the two has not (None)."""

    key: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class OutputComparison:
    """What two outputs have in common, and what not."""

    old_records: int
    new_records: int
    same: int
    differing: int
    only_old: int
    only_new: int
    examples: tuple[Example, ...]

    @property
    def are_equal(self) -> bool:
        """Whether readers would find the same in both."""
        return not (self.differing or self.only_old or self.only_new)

    def to_json(self) -> dict[str, Any]:
        """Give it as programs read it."""
        return {
            "old_records": self.old_records,
            "new_records": self.new_records,
            "same": self.same,
            "differing": self.differing,
            "only_old": self.only_old,
            "only_new": self.only_new,
            "examples": [{"key": each.key, "old": each.old, "new": each.new} for each in self.examples],
        }


def compare_outputs(old: Reading, new: Reading) -> OutputComparison:
    """Compare two outputs."""
    before, old_records = _table(old())
    after, new_records = _table(new())
    differing = [key for key in before.keys() & after.keys() if before[key] != after[key]]
    only_old, only_new = before.keys() - after.keys(), after.keys() - before.keys()
    shown = [key for keys in (differing, only_old, only_new) for key in sorted(keys)[:EXAMPLES_MAX]]
    return OutputComparison(
        old_records,
        new_records,
        len(before.keys() & after.keys()) - len(differing),
        len(differing),
        len(only_old),
        len(only_new),
        _examples(shown, old, new),
    )


def _table(records: Iterable[Record]) -> tuple[dict[bytes, bytes], int]:
    table: dict[bytes, bytes] = {}
    count = 0
    for key, value in records:
        count += 1
        if key is None:
            alone = _NO_KEY + _meaning(value)
            table[alone] = str(int(table.get(alone, b"0")) + 1).encode()
        elif value is None:
            table.pop(key, None)  # deleted
        else:
            table[key] = blake2b(_meaning(value), digest_size=16).digest()
    return table, count


_NO_KEY = b"\x00no key\x00"


def _meaning(value: bytes | None) -> bytes:
    if value is None:
        return b""
    try:
        return json.dumps(json.loads(value), sort_keys=True).encode()
    except ValueError:
        return value


def _examples(keys: list[bytes], old: Reading, new: Reading) -> tuple[Example, ...]:
    if not keys:
        return ()
    before, after = _values(keys, old()), _values(keys, new())
    return tuple(
        Example(_text(key.removeprefix(_NO_KEY)), _shown(before.get(key)), _shown(after.get(key)))
        for key in keys
    )


def _values(keys: list[bytes], records: Iterable[Record]) -> Mapping[bytes, bytes]:
    wanted = set(keys)
    found: dict[bytes, bytes] = {}
    for key, value in records:
        name = key if key is not None else _NO_KEY + _meaning(value)
        if name in wanted:
            if key is None:
                found[name] = f"{int(found.get(name, b'0 times').split()[0]) + 1} times".encode()
            elif value is None:
                found.pop(name, None)
            else:
                found[name] = value
    return found


def _shown(value: bytes | None) -> str | None:
    return None if value is None else _text(value)


def _text(value: bytes) -> str:
    text = value.decode(errors="backslashreplace")
    return text if len(text) <= SHOWN_CHARACTERS_MAX else f"{text[:SHOWN_CHARACTERS_MAX]}…"
