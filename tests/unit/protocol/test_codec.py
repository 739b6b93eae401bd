import subprocess
import sys

import pytest

from riverlog.errors import LocalProtocolError, RemoteProtocolError
from riverlog.protocol import codec, messages

HEARTBEAT_0 = b"\0\x01g" + b"\0\0\0\x05" + b"\0\x01m"
HEARTBEAT_3 = b"\0\x01g" + b"\0\0\0\x05" + b"\0\x01m" + b"\xff\xff"
HEARTBEAT_4 = b"\x02g" + b"\0\0\0\x05" + b"\x02m" + b"\0" + b"\0"

# As written by Apache Kafka 4.3.1's own classes.
MEMBER_WITHOUT_CLASSIC_METADATA = bytes.fromhex("01010263026802027401ffffffff0100")
MEMBER_WITH_NULL_CLASSIC_METADATA = bytes.fromhex("010101010101ffffffff0101000100")
MEMBER_WITH_CLASSIC_METADATA = bytes.fromhex("01010263026802027401ffffffff0101000d01000000070202700301020000")


def heartbeat() -> messages.HeartbeatRequest:
    return messages.HeartbeatRequest(group_id="g", generation_id=5, member_id="m")


@pytest.mark.parametrize(("version", "body"), [(0, HEARTBEAT_0), (3, HEARTBEAT_3), (4, HEARTBEAT_4)])
def test_one_message_is_written_and_read_in_each_version(version: int, body: bytes) -> None:
    assert codec.encode(heartbeat(), version) == body
    assert codec.decode("HeartbeatRequest", version, body) == heartbeat()


def test_a_field_that_a_version_lacks_is_left_out_and_read_as_its_default() -> None:
    request = heartbeat()
    request.group_instance_id = "i"

    body = codec.encode(request, 0)

    assert body == HEARTBEAT_0
    assert codec.decode("HeartbeatRequest", 0, body).group_instance_id is None


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_message_is_read_from_any_place_in_any_buffer(kind: type) -> None:
    buffer = kind(b"before" + HEARTBEAT_4 + b"after")

    assert codec.decode("HeartbeatRequest", 4, buffer, 6, 6 + len(HEARTBEAT_4)) == heartbeat()


def member(**fields: object) -> messages.ConsumerGroupMemberMetadataValue:
    # Kafka's defaults for a new record are empty strings where null would be allowed.
    return messages.ConsumerGroupMemberMetadataValue(**fields)  # type: ignore[arg-type]


def test_a_tagged_structure_at_its_default_is_not_sent() -> None:
    value = member(client_id="c", client_host="h", subscribed_topic_names=["t"])

    assert codec.encode(value, 0) == MEMBER_WITHOUT_CLASSIC_METADATA
    assert codec.decode("ConsumerGroupMemberMetadataValue", 0, MEMBER_WITHOUT_CLASSIC_METADATA) == value


def test_a_tagged_structure_is_sent_behind_its_tag_and_size() -> None:
    protocol = messages.ClassicProtocol(name="p", metadata=b"\x01\x02")
    classic = messages.ClassicMemberMetadata(session_timeout_ms=7, supported_protocols=[protocol])
    value = member(
        client_id="c", client_host="h", subscribed_topic_names=["t"], classic_member_metadata=classic
    )

    assert codec.encode(value, 0) == MEMBER_WITH_CLASSIC_METADATA
    assert codec.decode("ConsumerGroupMemberMetadataValue", 0, MEMBER_WITH_CLASSIC_METADATA) == value


def test_a_tagged_structure_that_is_null_is_sent_as_a_zero() -> None:
    value = member(classic_member_metadata=None)

    assert codec.encode(value, 0) == MEMBER_WITH_NULL_CLASSIC_METADATA
    assert codec.decode("ConsumerGroupMemberMetadataValue", 0, MEMBER_WITH_NULL_CLASSIC_METADATA) == value


def test_an_unknown_version_is_our_own_mistake() -> None:
    with pytest.raises(LocalProtocolError, match="HeartbeatRequest has no version 5, only 0 to 4"):
        codec.encode(heartbeat(), 5)
    with pytest.raises(LocalProtocolError):
        codec.decode("HeartbeatRequest", -1, b"")


def test_an_unknown_message_is_our_own_mistake() -> None:
    with pytest.raises(LocalProtocolError, match="HeartbeetRequest"):
        codec.decode("HeartbeetRequest", 0, b"")


def test_a_structure_within_a_message_cannot_be_sent_by_itself() -> None:
    with pytest.raises(LocalProtocolError, match="MetadataRequestTopic"):
        codec.encode(messages.MetadataRequestTopic(), 0)


@pytest.mark.parametrize(
    "fields",
    [
        {"generation_id": 1 << 31},
        {"generation_id": "5"},
        {"group_id": None},
        {"group_id": "x" * 40_000},
        {"group_id": "\ud800"},
    ],
    ids=["too large", "not a number", "null", "too long", "not unicode"],
)
def test_a_value_that_cannot_be_sent_is_our_own_mistake(fields: dict[str, object]) -> None:
    request = heartbeat()
    for name, value in fields.items():
        setattr(request, name, value)

    with pytest.raises(LocalProtocolError, match="HeartbeatRequest 0"):
        codec.encode(request, 0)


def test_what_is_malformed_is_the_peers_mistake() -> None:
    with pytest.raises(RemoteProtocolError, match="HeartbeatRequest 0 of 4 bytes"):
        codec.decode("HeartbeatRequest", 0, HEARTBEAT_0[:4])


@pytest.mark.parametrize(
    ("use", "definitions"), [("", "0"), ("codec.encode(messages.HeartbeatRequest(), 4)", "1")]
)
def test_a_definition_is_loaded_when_a_message_of_its_own_is_used(use: str, definitions: str) -> None:
    program = (
        "from riverlog.protocol import codec, error_codes, fetch, framing, messages, produce, schema, wire\n"
        f"{use}\n"
        "print(schema.load.cache_info().currsize)\n"
    )

    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )

    assert loaded.stdout.split() == [definitions]
