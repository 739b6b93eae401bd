"""Hostile frames over real sockets against the real executable, beside a client that behaves."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from riverlog.broker.apis import HANDLERS
from tests.hostile.mutations import mutate
from tests.hostile.polite_client import TOPIC, PoliteClient
from tests.hostile.requests import TOPICS, RequestMaker
from tests.hostile.sender import HostileSender
from tests.live_broker import LiveBroker
from tests.process.raw_client import RawClient

GROWTH_BYTES_MAX = 100 << 20
SETTINGS = {"auto.create.topics.enable": "false", "log.segment.delete.delay.ms": "0"}
FRAMES_PER_ROUND = 10_000


def frames(seed: int, count: int, topic_ids: list[bytes]) -> Iterator[bytes]:
    chance = random.Random(seed)
    maker = RequestMaker(chance, topic_ids)
    served = [handler.api_key for handler in HANDLERS]
    for _ in range(count):
        frame = maker.request(served)
        yield frame if chance.random() < 0.1 else mutate(frame, chance)


def tidy(bootstrap: str) -> list[bytes]:
    """Make the topics that frames name, drop those that flipped bits made; give the ids."""
    with RawClient(bootstrap) as client:
        known = client.topics()
        for name in known.keys() - {TOPIC, *TOPICS}:
            client.delete_topic(name)
        return [known[name] if name in known else client.create_topic(name, 2) for name in TOPICS]


def bombard(data: Path, seed: int, count: int) -> None:
    """Send so many frames; the polite client must not notice."""
    with LiveBroker(data, settings=SETTINGS) as broker, PoliteClient(broker.bootstrap) as polite:
        sent = cut_off = 0
        before = 0
        while sent < count:
            topic_ids = tidy(broker.bootstrap)
            number = min(FRAMES_PER_ROUND, count - sent)
            sender = HostileSender(broker.bootstrap, frames(seed + sent, number, topic_ids))
            sender.send_all()
            sent += sender.sent
            cut_off += sender.cut_off
            before = before or broker.memory()
        polite.wait_for_rounds(5)
        growth = broker.memory() - before
        print(
            f"seed {seed}: {sent} frames, cut off {cut_off} times, polite client served {polite.rounds} times"
            f", slowest {polite.longest * 1000:.0f} ms, memory {before >> 20} MiB +{growth >> 20} MiB, "
            f"peak {broker.memory_peak() >> 20} MiB"
        )
    said = broker.output(10**9)
    assert "Traceback" not in said, said[said.index("Traceback") - 500 :][:3000]
    assert sent >= count
    assert cut_off > count // 10
    assert growth < GROWTH_BYTES_MAX


def test_three_thousand_hostile_frames_disturb_nobody(tmp_path: Path, seed: int) -> None:
    bombard(tmp_path / "data", seed, 3_000)


@pytest.mark.slow
def test_two_hundred_thousand_hostile_frames_disturb_nobody(tmp_path: Path, seed: int) -> None:
    bombard(tmp_path / "data", seed, 200_000)
