"""Big messages: near the limit they pass, above it they are refused once and for all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from .conftest import DRIVERS
from .drivers import Driver, Message, Reader, Refused
from .drivers.librdkafka import Librdkafka
from .faults import PRODUCE, LossyProxy
from .wire import stored_batches

MESSAGE_TOO_LARGE = 10
DEFAULT_LIMIT = 1_048_588
BATCH_OVERHEAD_MAX = 100
"""More than what the batch's header and one record's fields add to a value."""


@pytest.fixture(params=DRIVERS)
def behind_proxy(
    request: pytest.FixtureRequest, lossy: LossyProxy, open_driver: Callable[..., Driver]
) -> Iterator[Driver]:
    """Each client in turn, its requests counted."""
    return open_driver(request.param, lossy.bootstrap)


def noise(size: int) -> bytes:
    """Bytes that no codec makes smaller."""
    return os.urandom(size)


def test_a_message_just_below_the_default_limit_passes(
    client: Driver, new_topic: Callable[..., str], bootstrap: str, witness: Librdkafka
) -> None:
    topic = new_topic()
    value = noise(DEFAULT_LIMIT - BATCH_OVERHEAD_MAX)

    client.produce(topic, [Message(value=value)], partition=0, request_bytes_max=2_000_000)
    (read,) = witness.consume(topic, 0, 1)

    assert read.value == value
    assert DEFAULT_LIMIT - BATCH_OVERHEAD_MAX < stored_batches(bootstrap, topic)[0].length <= DEFAULT_LIMIT


def test_a_message_above_the_default_limit_is_refused(
    client: Driver, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()

    with pytest.raises(Refused) as refusal:
        client.produce(topic, [Message(value=noise(DEFAULT_LIMIT))], partition=0, request_bytes_max=2_000_000)

    assert refusal.value.code == MESSAGE_TOO_LARGE
    assert witness.offset_range(topic, 0) == (0, 0)


def test_too_large_is_final_and_not_tried_again(
    behind_proxy: Driver, lossy: LossyProxy, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(max_message_bytes="10000")

    with pytest.raises(Refused) as refusal:
        behind_proxy.produce(topic, [Message(value=noise(10_000))], partition=0)

    assert refusal.value.code == MESSAGE_TOO_LARGE
    assert not refusal.value.retriable
    assert lossy.requests[PRODUCE] == 1


def test_the_limit_counts_compressed_bytes(
    client: Driver, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic(max_message_bytes="10000")

    client.produce(topic, [Message(value=b"a" * 100_000)], partition=0, codec="gzip")
    (read,) = witness.consume(topic, 0, 1)

    assert read.value == b"a" * 100_000


def test_a_producer_goes_on_after_a_refusal(
    client: Driver, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic(max_message_bytes="10000")

    with pytest.raises(Refused):
        client.produce(topic, [Message(value=noise(20_000))], partition=0, idempotent=True)
    (place,) = client.produce(topic, [Message(value=b"small")], partition=0, idempotent=True)

    assert place.offset == 0


def test_a_raised_limit_lets_eight_megabytes_through(reader: Reader, new_topic: Callable[..., str]) -> None:
    topic = new_topic(max_message_bytes="10000000")
    value = noise(8_000_000)

    reader.produce(topic, [Message(value=value)], partition=0, request_bytes_max=9_000_000)
    (read,) = reader.consume(topic, 0, 1)

    assert read.value == value
