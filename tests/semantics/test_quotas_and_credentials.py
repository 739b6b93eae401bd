"""Limits of clients and credentials of users: changed and described like settings, row 77."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.process.raw_client import RawClient

from .asking import eventually

TopicName = Callable[[], str]
Entity = Sequence[tuple[str, str | None]]
Filter = Sequence[tuple[str, int, str | None]]

DESCRIBE_CLIENT_QUOTAS, ALTER_CLIENT_QUOTAS = 48, 49
DESCRIBE_CREDENTIALS, ALTER_CREDENTIALS = 50, 51
EXACT, DEFAULT, ANY = 0, 1, 2
SHA_256, SHA_512 = 1, 2
SALTED = b"p" * 32


def limit(client: RawClient, entity: Entity, *validate_only: bool, **limits: float | None) -> int:
    """Set limits of an entity, or with None remove them; give the error."""
    asked = messages.AlterClientQuotasRequestEntryData(
        entity=[
            messages.AlterClientQuotasRequestEntityData(entity_type=kind, entity_name=name)
            for kind, name in entity
        ],
        ops=[
            messages.OpData(key=key, value=value or 0, remove=value is None) for key, value in limits.items()
        ],
    )
    request = messages.AlterClientQuotasRequest(entries=[asked], validate_only=any(validate_only))
    (reply,) = client.call(ALTER_CLIENT_QUOTAS, 1, request).entries
    assert {(part.entity_type, part.entity_name) for part in reply.entity} == set(entity)
    return int(reply.error_code)


def limits_of(client: RawClient, *components: tuple[str, int, str | None], strict: bool = False) -> object:
    """Describe limits: by entity, or the error."""
    request = messages.DescribeClientQuotasRequest(
        components=[
            messages.ComponentData(entity_type=kind, match_type=match, match=name)
            for kind, match, name in components
        ],
        strict=strict,
    )
    reply = client.call(DESCRIBE_CLIENT_QUOTAS, 1, request)
    if reply.error_code:
        return reply.error_code
    return {
        frozenset((part.entity_type, part.entity_name) for part in entry.entity): {
            value.key: value.value for value in entry.values
        }
        for entry in reply.entries
    }


def upsertion(
    user: str, mechanism: int = SHA_256, iterations: int = 4096, salted_password: bytes = SALTED
) -> messages.ScramCredentialUpsertion:
    return messages.ScramCredentialUpsertion(
        name=user,
        mechanism=mechanism,
        iterations=iterations,
        salt=b"salt",
        salted_password=salted_password,
    )


def deletion(user: str, mechanism: int = SHA_256) -> messages.ScramCredentialDeletion:
    return messages.ScramCredentialDeletion(name=user, mechanism=mechanism)


def alter(
    client: RawClient, *edits: messages.ScramCredentialUpsertion | messages.ScramCredentialDeletion
) -> dict[str, int]:
    """Change credentials; give the error by user."""
    request = messages.AlterUserScramCredentialsRequest(
        deletions=[each for each in edits if isinstance(each, messages.ScramCredentialDeletion)],
        upsertions=[each for each in edits if isinstance(each, messages.ScramCredentialUpsertion)],
    )
    return {each.user: each.error_code for each in client.call(ALTER_CREDENTIALS, 0, request).results}


def credentials_of(client: RawClient, *users: str) -> dict[str, list[tuple[int, int]] | int]:
    """Describe credentials: mechanism and iterations by user, or the error."""
    request = messages.DescribeUserScramCredentialsRequest(
        users=[messages.UserName(name=user) for user in users]
    )
    reply = client.call(DESCRIBE_CREDENTIALS, 0, request)
    assert reply.error_code == 0
    return {
        each.user: each.error_code or [(info.mechanism, info.iterations) for info in each.credential_infos]
        for each in reply.results
    }


def test_limits_are_described_as_they_were_set_and_gone_once_removed(
    client: RawClient, topic_name: TopicName
) -> None:
    """Row 77."""
    user = topic_name()
    entity = [("user", user), ("client-id", None)]

    assert limit(client, entity, producer_byte_rate=1000, request_percentage=12.5) == 0
    expected = {frozenset(entity): {"producer_byte_rate": 1000.0, "request_percentage": 12.5}}
    eventually(lambda: limits_of(client, ("user", EXACT, user)) == expected, f"{user} has limits")

    assert limit(client, entity, producer_byte_rate=None) == 0
    expected = {frozenset(entity): {"request_percentage": 12.5}}
    eventually(lambda: limits_of(client, ("user", EXACT, user)) == expected, f"{user} has one limit")

    assert limit(client, entity, request_percentage=None) == 0
    eventually(lambda: limits_of(client, ("user", EXACT, user)) == {}, f"{user} has no limits")


def test_a_filter_asks_for_names_for_the_default_and_strictly(
    client: RawClient, topic_name: TopicName
) -> None:
    """Row 77."""
    user = topic_name()
    of_user, of_client = [("user", user)], [("user", user), ("client-id", "c")]
    of_default = [("user", user), ("client-id", None)]
    for entity in (of_user, of_client, of_default):
        assert limit(client, entity, consumer_byte_rate=5) == 0

    def found(*components: tuple[str, int, str | None], strict: bool = False) -> object:
        described = limits_of(client, ("user", EXACT, user), *components, strict=strict)
        return described.keys() if isinstance(described, dict) else described

    everything = {frozenset(of_user), frozenset(of_client), frozenset(of_default)}
    eventually(lambda: found() == everything, f"{user} has its limits")
    assert found(strict=True) == {frozenset(of_user)}
    assert found(("client-id", ANY, None)) == {frozenset(of_client), frozenset(of_default)}
    assert found(("client-id", DEFAULT, None)) == {frozenset(of_default)}
    assert found(("client-id", EXACT, "c"), strict=True) == {frozenset(of_client)}
    assert found(("ip", ANY, None)) == ErrorCode.INVALID_REQUEST

    for entity in (of_user, of_client, of_default):
        assert limit(client, entity, consumer_byte_rate=None) == 0


def test_limits_that_are_only_validated_are_not_set(client: RawClient, topic_name: TopicName) -> None:
    """Row 77."""
    user, other = topic_name(), topic_name()

    assert limit(client, [("user", user)], True, producer_byte_rate=1000) == 0
    assert limit(client, [("user", other)], producer_byte_rate=1000) == 0

    eventually(lambda: limits_of(client, ("user", EXACT, other)) != {}, f"{other} has limits")
    assert limits_of(client, ("user", EXACT, user)) == {}
    assert limit(client, [("user", other)], producer_byte_rate=None) == 0


@pytest.mark.parametrize(
    ("entity", "limits"),
    [
        ([], {"producer_byte_rate": 1}),
        ([("nope", "a")], {"producer_byte_rate": 1}),
        ([("user", "")], {"producer_byte_rate": 1}),
        ([("user", "a"), ("ip", "1.2.3.4")], {"producer_byte_rate": 1}),
        ([("ip", "no address")], {"connection_creation_rate": 1}),
        ([("ip", "1.2.3.4")], {"producer_byte_rate": 1}),
        ([("ip", "1.2.3.4")], {"connection_creation_rate": 1.5}),
        ([("user", "a")], {"connection_creation_rate": 1}),
        ([("user", "a")], {"nope": 1}),
        ([("user", "a")], {"producer_byte_rate": -1}),
        ([("user", "a")], {"producer_byte_rate": 1.5}),
        ([("user", "a")], {"producer_byte_rate": 0.00001}),
    ],
)
def test_a_limit_that_cannot_be_is_refused(
    client: RawClient, entity: Entity, limits: dict[str, float]
) -> None:
    """Row 77."""
    assert limit(client, entity, **limits) == ErrorCode.INVALID_REQUEST


def test_credentials_are_described_without_their_keys_and_gone_once_deleted(
    client: RawClient, topic_name: TopicName
) -> None:
    """Row 77."""
    user = topic_name()

    assert alter(client, upsertion(user)) == {user: 0}
    assert alter(client, upsertion(user, SHA_512, 8192)) == {user: 0}
    both = {user: [(SHA_256, 4096), (SHA_512, 8192)]}
    eventually(lambda: credentials_of(client, user) == both, f"{user} has two credentials")
    assert credentials_of(client)[user] == both[user]

    assert alter(client, deletion(user)) == {user: 0}
    eventually(
        lambda: credentials_of(client, user) == {user: [(SHA_512, 8192)]}, f"{user} has one credential"
    )
    assert alter(client, deletion(user, SHA_512)) == {user: 0}
    eventually(
        lambda: credentials_of(client, user) == {user: ErrorCode.RESOURCE_NOT_FOUND}, f"{user} has none"
    )


@pytest.mark.parametrize(
    ("edits", "code"),
    [
        ([upsertion("")], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([upsertion("u", 0)], ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ([upsertion("u", iterations=4095)], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([upsertion("u", iterations=16385)], ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ([deletion("nobody")], ErrorCode.RESOURCE_NOT_FOUND),
        ([deletion("nobody", 7)], ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ([upsertion("u"), upsertion("u", SHA_512)], ErrorCode.DUPLICATE_RESOURCE),
        ([deletion("nobody"), upsertion("nobody")], ErrorCode.RESOURCE_NOT_FOUND),
    ],
)
def test_a_credential_that_cannot_be_is_refused(
    client: RawClient,
    edits: list[messages.ScramCredentialUpsertion | messages.ScramCredentialDeletion],
    code: ErrorCode,
) -> None:
    """Row 77."""
    assert list(alter(client, *edits).values()) == [code]


def test_each_user_of_a_request_is_answered_for_itself(client: RawClient, topic_name: TopicName) -> None:
    """Row 77."""
    good, bad = topic_name(), topic_name()

    outcome = alter(client, upsertion(good), upsertion(bad, iterations=1))

    assert outcome == {good: 0, bad: ErrorCode.UNACCEPTABLE_CREDENTIAL}
    eventually(lambda: credentials_of(client, good) == {good: [(SHA_256, 4096)]}, f"{good} has a credential")
    assert credentials_of(client, bad, good, bad) == {
        bad: ErrorCode.DUPLICATE_RESOURCE,
        good: [(SHA_256, 4096)],
    }
    assert alter(client, deletion(good)) == {good: 0}
