"""A million hostile frames against the real dispatcher and a real broker, in one process.

A frame has two legal outcomes: a reply that the client can read, or RemoteProtocolError, which ends the
connection it came in on. Anything else is a bug, however strange the frame.
"""

from __future__ import annotations

import asyncio
import random
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from riverlog.broker.apis import HANDLERS
from riverlog.broker.broker import Broker
from riverlog.broker.dispatch import Dispatcher
from riverlog.broker.handler import Parked
from riverlog.cluster import NewTopic
from riverlog.config import load_config
from riverlog.errors import RemoteProtocolError
from riverlog.protocol import wire
from riverlog.protocol.versions import API_VERSIONS, is_supported
from tests.hostile.mutations import mutate
from tests.hostile.requests import PRODUCE, TOPICS, RequestMaker

SMALLEST_FRAME = 8
STALL_SECONDS_MAX = 10.0
"""Loose, for a busy machine: a frame of a few kilobytes takes well below a millisecond."""
GROWTH_BYTES_MAX = 150 << 20
FRAMES_BETWEEN_CLEANUPS = 2000
TOPICS_MAX = 300


class Peer:
    """Stands for the connection that frames come in on."""

    peer_host = "127.0.0.1"
    peer_name = "127.0.0.1:1"
    local_host, local_port = "127.0.0.1", 9092
    listener_name = "PLAINTEXT"
    software_name = ""
    software_version = ""
    produce_shape = None

    def __init__(self) -> None:
        self.closed_because = ""

    def close(self, reason: str, *, level: int = 0) -> None:
        self.closed_because = reason


class Target:
    """A broker without sockets, and the dispatcher in front of it."""

    def __init__(self, data: Path) -> None:
        self.loop = asyncio.new_event_loop()
        settings = ["auto.create.topics.enable=false", "log.segment.delete.delay.ms=0"]
        self.broker = Broker(load_config(data=str(data), port=0, flags=settings, environment={}), self.loop)
        self.dispatcher = Dispatcher(self.broker, HANDLERS)
        self.broker.advertised_versions = self.dispatcher.advertised_versions()
        self.loop.run_until_complete(self.broker.open([("PLAINTEXT", "127.0.0.1", 9092)]))
        self.served = [key for key, _first, _last in self.broker.advertised_versions]
        self.peer: Any = Peer()
        self.parked: list[Parked] = []
        self.longest = 0.0, b""
        self.replies = self.refusals = 0

    def close(self) -> None:
        self.loop.run_until_complete(self.broker.close(clean=True))
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()

    def feed(self, frame: bytes) -> None:
        """Hand over one frame, as a connection would."""
        (size,) = struct.unpack_from(">i", frame)
        if size != len(frame) - 4 or size < SMALLEST_FRAME:
            return  # framing refuses it before the dispatcher sees it; sockets test that
        began = time.perf_counter()
        try:
            reply = self.dispatcher(self.peer, bytearray(frame), 4, len(frame))
        except RemoteProtocolError:
            self.refusals += 1
            reply = None
        took = time.perf_counter() - began
        if took > self.longest[0]:
            self.longest = took, frame
        if isinstance(reply, Parked):
            self.parked.append(reply)
        elif reply is not None:
            self.replies += 1
            check_reply(frame, reply)

    def settle(self) -> None:
        """Let the loop finish what was begun; give up what would wait for long."""

        async def turns() -> None:
            for _ in range(3):
                await asyncio.sleep(0)
            deadline = self.loop.time() + 10
            while self.loop.time() < deadline and any(
                not parked.is_resolved for parked in self.parked if not parked.blocking
            ):
                await asyncio.sleep(0.001)

        self.loop.run_until_complete(turns())
        for parked in self.parked:
            assert parked.is_resolved or parked.blocking, "a produce was never answered"
            if not parked.is_resolved and parked.on_abandoned is not None:
                parked.on_abandoned()
        self.parked.clear()
        assert not self.peer.closed_because, self.peer.closed_because

    def clean_up(self) -> None:
        """Topics may be made without end by flipped bits in names: that is no leak."""
        image = self.broker.cluster.image
        if len(image.topics) > TOPICS_MAX:
            self.broker.cluster.delete_topics(list(image.topics))
        self.broker.cluster.create_topics([NewTopic(name, 2) for name in TOPICS])
        for _step in self.broker.logs.housekeeping(self.broker.now_ms()):
            pass
        self.settle()


def check_reply(frame: bytes, reply: Any) -> None:
    """See that a reply is one frame, with the right correlation id, that can be read."""
    api_key, version, correlation_id = struct.unpack_from(">hhi", frame, 4)
    chunks = [reply] if isinstance(reply, bytes) else reply
    data = b"".join(chunk if isinstance(chunk, bytes) else chunk.read() for chunk in chunks)
    (size,) = struct.unpack_from(">i", data)
    assert size == len(data) - 4, (api_key, version, size, len(data))
    if api_key == API_VERSIONS and not is_supported(api_key, version):
        version = 0  # an unknown version of ApiVersions is answered in version 0
    assert wire.read_response(api_key, version, data, 4, len(data))[0] == correlation_id


def memory() -> int:
    """Give this process's resident memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    target = Target(tmp_path / "data")
    yield target
    target.close()


def bombard(target: Target, frames: int, seed: int) -> None:
    """Feed so many frames: one in ten is left as it was made, the others are spoiled."""
    chance = random.Random(seed)
    maker = RequestMaker(chance)
    target.clean_up()
    warm, began = 0, time.perf_counter()
    for number in range(frames):
        if number % FRAMES_BETWEEN_CLEANUPS == 0:
            target.clean_up()
            image = target.broker.cluster.image
            maker.topic_ids = [image.topics[name].topic_id for name in TOPICS if name in image.topics]
        if number == frames // 4:
            warm = memory()
        frame = maker.request(target.served)
        if chance.random() > 0.1:
            frame = mutate(frame, chance)
        try:
            target.feed(frame)
        except Exception as error:
            raise AssertionError(f"seed {seed}, frame {number}, {frame[:200].hex()}: {error!r}") from error
        if number % 50 == 0:
            target.settle()
    target.clean_up()
    growth = memory() - warm
    print(
        f"seed {seed}: {frames} frames in {time.perf_counter() - began:.0f} s, {target.replies} replies, "
        f"{target.refusals} refusals, longest {target.longest[0] * 1000:.0f} ms for "
        f"{target.longest[1][:30].hex()}, memory +{growth >> 20} MiB since the first quarter"
    )
    assert target.longest[0] < STALL_SECONDS_MAX
    assert growth < GROWTH_BYTES_MAX
    assert target.replies > frames // 100
    assert target.refusals > frames // 100


@pytest.mark.parametrize("api_key", [handler.api_key for handler in HANDLERS])
def test_every_well_formed_request_of_an_api_gets_a_reply(target: Target, api_key: int) -> None:
    chance = random.Random(api_key)
    maker = RequestMaker(chance)
    target.clean_up()

    for _ in range(100):
        target.feed(maker.request([api_key]))
    target.settle()

    assert target.replies > 0 or api_key == PRODUCE


def test_twenty_thousand_spoiled_frames_end_in_a_reply_or_a_closed_connection(
    target: Target, seed: int
) -> None:
    bombard(target, 20_000, seed)


@pytest.mark.slow
def test_a_million_spoiled_frames_end_in_a_reply_or_a_closed_connection(target: Target, seed: int) -> None:
    bombard(target, 1_000_000, seed)
