"""Where reading begins and ends, as options say it: an end of the log, offsets, or times. Pure.

earliest | latest                          all partitions
{"clicks": {"0": 17, "1": -2, "2": -1}}    each by an offset; -2 is the earliest, -1 the latest
1767225600000                              the first record at or after a time, in ms since 1970
{"clicks": {"0": 1767225600000}}           each by a time
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from riverlog.errors import ConfigError
from riverlog.pipelines.source.offsets import Bounds
from riverlog.types import TopicPartition

EARLIEST, LATEST = -2, -1


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place in every partition; `option` is where it came from.

    `everywhere` holds for all partitions, or `places` has a number for each: offsets, or times in ms.
    """

    option: str
    everywhere: int | None = None
    places: Mapping[TopicPartition, int] | None = None
    is_time: bool = False

    def moments(self, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Give the times which the cluster has to turn into offsets. Raises ConfigError."""
        return self._numbers(places) if self.is_time else {}

    def offsets(
        self,
        bounds: Mapping[TopicPartition, Bounds],
        found: Mapping[TopicPartition, int | None],
        *,
        absent_is_latest: bool,
    ) -> dict[TopicPartition, int]:
        """Say which offset it is in each partition. `found`: what the cluster made of `moments`.

        Where no record is so young it is the latest, or refused. Raises ConfigError.
        """
        resolved = {}
        for place, number in self._numbers(bounds).items():
            earliest, latest = bounds[place]
            if self.is_time:
                offset = found[place]
                if offset is None and not absent_is_latest:
                    raise ConfigError(
                        self.option,
                        number,
                        f"a time that some record of {place} reaches, or "
                        "startingOffsetsByTimestampStrategy=latest",
                    )
                resolved[place] = latest if offset is None else offset
            else:
                resolved[place] = {EARLIEST: earliest, LATEST: latest}.get(number, number)
        return resolved

    def _numbers(self, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        if self.places is None:
            assert self.everywhere is not None
            return dict.fromkeys(places, self.everywhere)
        missing = sorted(set(places) - set(self.places))
        extra = sorted(set(self.places) - set(places))
        if missing or extra:
            told = ", ".join(map(str, missing or extra))
            raise ConfigError(
                self.option,
                told,
                "one number for each partition that is read: "
                + (f"{told} is not among them" if missing else f"{told} does not exist or is not read"),
            )
        return dict(self.places)


def offsets_anchor(option: str, text: str) -> Anchor:
    """Read `earliest`, `latest`, or offsets as JSON. Raises ConfigError."""
    word = text.strip().lower()
    if word in ("earliest", "latest"):
        return Anchor(option, EARLIEST if word == "earliest" else LATEST)
    places = _places(
        option, text, 'earliest, latest, or JSON such as {"clicks": {"0": 17, "1": -2}}', EARLIEST
    )
    return Anchor(option, places=places)


def moment_anchor(option: str, text: str) -> Anchor:
    """Read a time in ms for all partitions. Raises ConfigError."""
    if not (text.isascii() and text.isdigit()):
        raise ConfigError(option, text, "milliseconds since 1970")
    return Anchor(option, int(text), is_time=True)


def moments_anchor(option: str, text: str) -> Anchor:
    """Read times for each partition as JSON. Raises ConfigError."""
    places = _places(option, text, 'JSON such as {"clicks": {"0": 1767225600000}}', 0)
    return Anchor(option, places=places, is_time=True)


def _places(option: str, text: str, accepted: str, least: int) -> dict[TopicPartition, int]:
    try:
        document: Any = json.loads(text)
        places = {
            TopicPartition(topic, int(partition)): number
            for topic, numbers in document.items()
            for partition, number in numbers.items()
        }
    except (ValueError, AttributeError):
        raise ConfigError(option, text, accepted) from None
    if not places or any(type(number) is not int or number < least for number in places.values()):
        raise ConfigError(option, text, accepted)
    return places


def assigned(option: str, text: str) -> tuple[TopicPartition, ...]:
    """Read partitions as JSON: `{"clicks": [0, 1]}`. Raises ConfigError."""
    accepted = 'JSON such as {"clicks": [0, 1]}'
    try:
        document: Any = json.loads(text)
        places = [TopicPartition(topic, number) for topic, numbers in document.items() for number in numbers]
    except (ValueError, AttributeError, TypeError):
        raise ConfigError(option, text, accepted) from None
    if not places or any(type(place.partition) is not int or place.partition < 0 for place in places):
        raise ConfigError(option, text, accepted)
    return tuple(sorted(set(places)))
