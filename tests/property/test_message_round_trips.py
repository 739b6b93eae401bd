"""Every message in every version: what is written is read back, whatever kind of buffer it lies in."""

import pytest

from riverlog.protocol import codec
from tests.property.random_messages import MessageBuilder, all_messages, versions_of

EXAMPLES_PER_VERSION = 4


@pytest.mark.parametrize("name", all_messages())
def test_a_message_survives_writing_and_reading(name: str) -> None:
    for version in versions_of(name):
        for seed in range(EXAMPLES_PER_VERSION):
            message = MessageBuilder(name, version, seed).message()

            encoded = codec.encode(message, version)

            assert codec.decode(name, version, encoded) == message, f"version {version}, seed {seed}"


@pytest.mark.parametrize("name", all_messages())
@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_message_is_read_from_the_middle_of_any_buffer(kind: type, name: str) -> None:
    version = versions_of(name)[-1]
    message = MessageBuilder(name, version, seed=0).message()
    encoded = codec.encode(message, version)
    buffer = kind(b"\xff" * 7 + encoded + b"\xff" * 9)

    decoded = codec.decode(name, version, buffer, 7, 7 + len(encoded))

    assert decoded == message


@pytest.mark.parametrize("name", all_messages())
def test_bytes_that_are_read_keep_nothing_of_the_buffer(name: str) -> None:
    version = versions_of(name)[-1]
    message = MessageBuilder(name, version, seed=1).message()
    buffer = bytearray(codec.encode(message, version))

    decoded = codec.decode(name, version, buffer)
    buffer.clear()  # BufferError while anything still refers to it

    assert decoded == message
