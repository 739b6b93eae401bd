"""Kinds of values: how a setting's text becomes a value, and what is accepted.

A setting is text wherever people and the protocol see it (a file, a flag, DescribeConfigs) and a
typed value where our code reads it. A `Kind` is the bridge:

    parse("168")  -> 168           raises ValueError for anything outside `accepted`
    format(168)   -> "168"         None stands for "not set" and has no text
    canonical(" delete , compact") -> "delete,compact"    the text to show, order kept

Numbers follow Java's spelling, since operators compare our answers with those of Apache Kafka:
booleans are `true` and `false`, and a large double reads `1.7976931348623157E308`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import IntEnum
from typing import Generic, TypeVar

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
SHORT_MAX = 2**15 - 1
DOUBLE_MAX = 1.7976931348623157e308

T = TypeVar("T")


class ConfigType(IntEnum):
    """The number by which DescribeConfigs names the type of a setting."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


_WIDEST = {ConfigType.SHORT: SHORT_MAX, ConfigType.INT: INT_MAX, ConfigType.LONG: LONG_MAX}
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,30}")
_DECIMAL_NUMBER = re.compile(r"[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,3})?")


class Kind(ABC, Generic[T]):
    """What values a setting takes. `type` and `unit` describe them, `accepted` says them in words."""

    type: ConfigType
    unit: str = ""

    @property
    @abstractmethod
    def accepted(self) -> str:
        """Say which values are accepted, to complete the sentence "expected ..."."""

    @abstractmethod
    def parse(self, text: str) -> T:
        """Read a value; raise ValueError when the text is not accepted."""

    def format(self, value: T) -> str | None:
        """Write a value as the text that `parse` reads."""
        return str(value)

    def canonical(self, text: str) -> str | None:
        """Write the value of `text` the way it is shown to people."""
        return self.format(self.parse(text))


class Boolean(Kind[bool]):
    """`true` or `false`, in any case."""

    type = ConfigType.BOOLEAN
    accepted = "true or false"

    def parse(self, text: str) -> bool:
        word = text.strip().lower()
        if word not in ("true", "false"):
            raise ValueError(text)
        return word == "true"

    def format(self, value: bool) -> str:
        return "true" if value else "false"


class Integer(Kind[int]):
    """A whole number between `lowest` and `highest`, or one of a few `also` accepted ones."""

    def __init__(
        self,
        width: ConfigType = ConfigType.INT,
        *,
        lowest: int | None = None,
        highest: int | None = None,
        also: tuple[int, ...] = (),
        unit: str = "",
    ) -> None:
        widest = _WIDEST[width]
        self.type = width
        self.unit = unit
        self.lowest = -widest - 1 if lowest is None else lowest
        self.highest = widest if highest is None else highest
        self.also = also

    @property
    def accepted(self) -> str:
        extra = "".join(f", or {value}" for value in self.also)
        if self.lowest == self.highest:
            return f"only {self.lowest}{extra}"
        return f"a whole number from {self.lowest} to {self.highest}{extra}"

    def parse(self, text: str) -> int:
        digits = text.strip()
        if not _WHOLE_NUMBER.fullmatch(digits):
            raise ValueError(text)
        value = int(digits)
        if not self.lowest <= value <= self.highest and value not in self.also:
            raise ValueError(text)
        return value


class Decimal(Kind[float]):
    """A decimal number between `lowest` and `highest`."""

    type = ConfigType.DOUBLE

    def __init__(self, *, lowest: float = 0.0, highest: float = DOUBLE_MAX, unit: str = "") -> None:
        self.lowest = lowest
        self.highest = highest
        self.unit = unit

    @property
    def accepted(self) -> str:
        if self.highest == DOUBLE_MAX:
            return f"a number of at least {self.lowest:g}"
        return f"a number from {self.lowest:g} to {self.highest:g}"

    def parse(self, text: str) -> float:
        digits = text.strip()
        if not _DECIMAL_NUMBER.fullmatch(digits):
            raise ValueError(text)
        value = float(digits)
        if not self.lowest <= value <= self.highest:
            raise ValueError(text)
        return value

    def format(self, value: float) -> str:
        if value == 0 or 1e-3 <= abs(value) < 1e7:
            return repr(float(value))
        spellings = (f"{value:.{digits}e}" for digits in range(1, 18))
        shortest = next(spelling for spelling in spellings if float(spelling) == value)
        mantissa, exponent = shortest.split("e")
        return f"{mantissa}E{int(exponent)}"


class Text(Kind[str]):
    """Any text, shown as it was given."""

    type = ConfigType.STRING
    accepted = "a text"

    def parse(self, text: str) -> str:
        return text.strip()


class Choice(Kind[str]):
    """One of a few words."""

    type = ConfigType.STRING

    def __init__(self, *choices: str) -> None:
        self.choices = choices

    @property
    def accepted(self) -> str:
        return ("one of " if len(self.choices) > 1 else "only ") + ", ".join(self.choices)

    def parse(self, text: str) -> str:
        word = text.strip()
        if word not in self.choices:
            raise ValueError(text)
        return word


class AnyCaseChoice(Choice):
    """One of a few lower-case words, accepted in any case."""

    def parse(self, text: str) -> str:
        return super().parse(text.lower())


class ListKind(Kind[T]):
    """A list separated by commas: the only kind of value that can be appended to and subtracted from."""

    type = ConfigType.LIST

    def canonical(self, text: str) -> str:
        self.parse(text)
        return ",".join(split_list(text))


class TextList(ListKind[tuple[str, ...]]):
    """A list of texts, in order; of some `choices` where they are named."""

    def __init__(self, *choices: str, is_empty_accepted: bool = True) -> None:
        self.choices = choices
        self.is_empty_accepted = is_empty_accepted

    @property
    def accepted(self) -> str:
        what = f"{', '.join(self.choices)}" if self.choices else "texts"
        return f"a list of {what}, separated by commas" + ("" if self.is_empty_accepted else ", not empty")

    def parse(self, text: str) -> tuple[str, ...]:
        items = tuple(split_list(text))
        if self.choices and not set(items) <= set(self.choices):
            raise ValueError(text)
        if not items and not self.is_empty_accepted:
            raise ValueError(text)
        return items

    def format(self, value: Sequence[str]) -> str:
        return ",".join(value)


class TextSet(ListKind[frozenset[str]]):
    """A list of some `choices` whose order has no meaning; it may be empty."""

    def __init__(self, *choices: str) -> None:
        self.choices = choices

    @property
    def accepted(self) -> str:
        return f"a list of {', '.join(self.choices)}, separated by commas"

    def parse(self, text: str) -> frozenset[str]:
        items = frozenset(split_list(text))
        if not items <= set(self.choices):
            raise ValueError(text)
        return items

    def format(self, value: frozenset[str]) -> str:
        return ",".join(choice for choice in self.choices if choice in value)


class ReplicaList(ListKind[tuple[str, ...]]):
    """`PARTITION:BROKER,...`, or `*` for every replica of the topic."""

    accepted = "* or a list of PARTITION:BROKER, separated by commas"

    def parse(self, text: str) -> tuple[str, ...]:
        items = tuple(split_list(text))
        if items != ("*",) and not all(re.fullmatch(r"[0-9]{1,9}:[0-9]{1,9}", item) for item in items):
            raise ValueError(text)
        return items

    def format(self, value: Sequence[str]) -> str:
        return ",".join(value)


class HostLimits(Kind[tuple[tuple[str, int], ...]]):
    """`HOST:COUNT,...`: a limit for each of some hosts."""

    type = ConfigType.STRING
    accepted = "a list of HOST:COUNT, separated by commas"

    def parse(self, text: str) -> tuple[tuple[str, int], ...]:
        limits: dict[str, int] = {}
        for item in split_list(text):
            host, colon, count = item.rpartition(":")
            if not colon or not host or not re.fullmatch(r"[0-9]{1,9}", count):
                raise ValueError(text)
            limits[host.strip("[]")] = int(count)
        return tuple(limits.items())

    def format(self, value: Sequence[tuple[str, int]]) -> str:
        return ",".join(f"[{host}]:{count}" if ":" in host else f"{host}:{count}" for host, count in value)


class Maybe(Kind[T | None]):
    """A value of another kind, or none at all (an empty text)."""

    def __init__(self, kind: Kind[T]) -> None:
        self.kind = kind
        self.type = kind.type
        self.unit = kind.unit

    @property
    def accepted(self) -> str:
        return f"{self.kind.accepted}, or nothing"

    def parse(self, text: str) -> T | None:
        return self.kind.parse(text) if text.strip() else None

    def format(self, value: T | None) -> str | None:
        return None if value is None else self.kind.format(value)

    def canonical(self, text: str) -> str | None:
        return self.kind.canonical(text) if text.strip() else ""


def split_list(text: str) -> list[str]:
    """Cut a list at its commas: no blanks around items, no empty items, none twice."""
    return list(dict.fromkeys(item for item in (part.strip() for part in text.split(",")) if item))


def milliseconds(
    width: ConfigType = ConfigType.LONG,
    lowest: int = 0,
    highest: int | None = None,
    also: tuple[int, ...] = (),
) -> Integer:
    """A duration or a point in time, in milliseconds."""
    return Integer(width, lowest=lowest, highest=highest, also=also, unit="ms")


def byte_count(
    width: ConfigType = ConfigType.INT,
    lowest: int = 0,
    highest: int | None = None,
    also: tuple[int, ...] = (),
) -> Integer:
    """A size in bytes."""
    return Integer(width, lowest=lowest, highest=highest, also=also, unit="bytes")


def count(width: ConfigType = ConfigType.INT, lowest: int = 0, highest: int | None = None) -> Integer:
    """A number of things."""
    return Integer(width, lowest=lowest, highest=highest)
