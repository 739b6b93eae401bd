"""Our compiled codecs against kio, an independent implementation, in every version of every message."""

import pytest

from riverlog.protocol import codec
from tests.property.kio_oracle import KioMessageBuilder, entity_class, kio_bytes
from tests.property.random_messages import all_messages, versions_of

EXAMPLES_PER_VERSION = 4

MESSAGES = [name for name in all_messages() if entity_class(name, versions_of(name)[0])]


def test_kio_knows_every_message_but_the_records_of_internal_topics() -> None:
    unknown = set(all_messages()) - set(MESSAGES)

    assert {name for name in unknown if not name.endswith(("Key", "Value"))} == set()


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_is_encoded_as_kio_encodes_it(name: str) -> None:
    for version in versions_of(name):
        for seed in range(EXAMPLES_PER_VERSION):
            message = KioMessageBuilder(name, version, seed).message()

            encoded = codec.encode(message, version)

            assert encoded == kio_bytes(name, version, message), f"version {version}, seed {seed}"


@pytest.mark.parametrize("name", MESSAGES)
def test_what_kio_encodes_is_read_as_the_same_message(name: str) -> None:
    for version in versions_of(name):
        for seed in range(EXAMPLES_PER_VERSION):
            message = KioMessageBuilder(name, version, seed).message()
            encoded = kio_bytes(name, version, message)

            decoded = codec.decode(name, version, bytearray(encoded))

            assert decoded == message, f"version {version}, seed {seed}"
