import pytest

from riverlog.protocol import messages, schema
from riverlog.protocol.message import Message, message_class


def test_a_message_starts_with_kafkas_defaults() -> None:
    request = messages.FetchRequest()

    assert request.max_bytes == 0x7FFFFFFF
    assert request.cluster_id is None
    assert request.rack_id == ""
    assert request.topics == []
    assert request.replica_state == messages.FetchRequestReplicaState(replica_id=-1, replica_epoch=-1)


def test_default_lists_and_structures_are_not_shared_between_messages() -> None:
    first, second = messages.FetchRequest(), messages.FetchRequest()

    first.topics.append(messages.FetchRequestFetchTopic())
    first.replica_state.replica_id = 7

    assert second.topics == []
    assert second.replica_state.replica_id == -1


def test_messages_are_equal_when_all_their_fields_are() -> None:
    def topic(name: str) -> messages.MetadataRequest:
        return messages.MetadataRequest(topics=[messages.MetadataRequestTopic(name=name)])

    assert topic("a") == topic("a")
    assert topic("a") != topic("b")
    assert topic("a") != "a"


def test_a_field_that_a_message_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError):
        messages.MetadataRequest(topic=[])  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        messages.MetadataRequest().topic = []  # type: ignore[attr-defined]


def test_a_message_shows_its_fields_but_never_its_bytes() -> None:
    request = messages.SaslAuthenticateRequest(auth_bytes=b"\0user\0secret")

    assert repr(request) == "SaslAuthenticateRequest(auth_bytes=<12 bytes>)"


def test_a_class_is_made_once_however_it_is_reached() -> None:
    assert messages.HeartbeatRequest is messages.HeartbeatRequest
    assert messages.HeartbeatRequest is message_class("HeartbeatRequest")


def test_an_unknown_message_is_an_unknown_attribute() -> None:
    with pytest.raises(AttributeError, match="HeartbeetRequest"):
        messages.HeartbeetRequest  # type: ignore[attr-defined]  # noqa: B018


def test_the_module_lists_every_message_and_structure() -> None:
    assert set(schema.index()) <= set(dir(messages))


@pytest.mark.parametrize("name", list(schema.index()))
def test_every_class_can_be_made_without_arguments(name: str) -> None:
    made = getattr(messages, name)()

    assert isinstance(made, Message)
    assert made == getattr(messages, name)()
