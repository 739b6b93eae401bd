"""Whatever bytes come in, they parse or raise RemoteProtocolError, and nothing else.

Frames lie in buffers with other frames around them, so what is read here lies in the middle of one too.
"""

import random
from collections.abc import Callable
from functools import partial

import pytest

from riverlog.errors import RemoteProtocolError
from riverlog.protocol import codec, fetch, headers, produce
from tests.property.mutations import spoil
from tests.property.random_messages import MessageBuilder, all_messages, versions_of

MUTANTS_PER_VERSION = 40
RANDOM_PER_VERSION = 10
BEFORE, AFTER = b"\xff\x7f" * 8, b"\x01" * 64


def hostile_bodies(name: str, version: int) -> list[bytes]:
    generator = random.Random(f"hostile {name} {version}")
    bodies = [generator.randbytes(generator.randrange(60)) for _ in range(RANDOM_PER_VERSION)]
    for seed in range(MUTANTS_PER_VERSION):
        body = codec.encode(MessageBuilder(name, version, seed).message(), version)
        for _ in range(generator.randrange(1, 4)):
            body = spoil(body, generator)
        bodies.append(body)
    return bodies


def outcome(read: Callable[[bytes, int, int], object], body: bytes) -> object:
    """Read a body from the middle of a buffer; give what it holds, or None when it is refused."""
    try:
        return read(BEFORE + body + AFTER, len(BEFORE), len(BEFORE) + len(body))
    except RemoteProtocolError:
        return None


@pytest.mark.parametrize("name", all_messages())
def test_a_hostile_body_is_refused_or_read_as_something_that_can_be_written(name: str) -> None:
    for version in versions_of(name):
        for body in hostile_bodies(name, version):
            read = outcome(partial(codec.decode, name, version), body)

            if read is not None:
                written = codec.encode(read, version)  # type: ignore[arg-type]
                assert codec.encode(codec.decode(name, version, written), version) == written, (version, body)


@pytest.mark.parametrize("name", all_messages())
def test_a_truncated_body_is_refused(name: str) -> None:
    for version in versions_of(name):
        body = codec.encode(MessageBuilder(name, version, seed=1).message(), version)

        for length in range(0, len(body), max(1, len(body) // 50)):
            with pytest.raises(RemoteProtocolError):
                codec.decode(name, version, body[:length])


@pytest.mark.parametrize("version", versions_of("ProduceRequest"))
def test_the_produce_codec_refuses_exactly_what_the_compiled_one_refuses(version: int) -> None:
    for body in hostile_bodies("ProduceRequest", version):
        by_hand = outcome(partial(produce.read_produce, version), body)
        compiled = outcome(partial(codec.decode, "ProduceRequest", version), body)

        assert (by_hand is None) == (compiled is None), body


@pytest.mark.parametrize("version", versions_of("FetchRequest"))
def test_the_fetch_codec_refuses_exactly_what_the_compiled_one_refuses(version: int) -> None:
    for body in hostile_bodies("FetchRequest", version):
        by_hand = outcome(partial(fetch.read_fetch, version), body)
        compiled = outcome(partial(codec.decode, "FetchRequest", version), body)

        assert (by_hand is None) == (compiled is None), body


def test_a_hostile_request_header_is_refused_or_ends_within_the_request() -> None:
    generator = random.Random("hostile headers")
    for key in range(-2, 100):
        for version in range(-1, 20):
            header = headers.request_header(key, version, generator.randrange(1 << 31), "a client")
            request = spoil(header + generator.randbytes(generator.randrange(20)), generator)

            read = outcome(headers.read_request_header, request)

            if read is not None:
                assert isinstance(read, headers.RequestHeader)
                assert len(BEFORE) + 10 <= read.body_start <= len(BEFORE) + len(request)
