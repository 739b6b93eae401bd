"""What a broker without authentication says to those who ask for it, and of levels that stay as they are."""

from __future__ import annotations

from typing import Any

import pytest

from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.process.raw_client import API_VERSIONS, RawClient

SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
UPDATE_FEATURES = 57
TOKEN_REQUESTS = {
    38: messages.CreateDelegationTokenRequest(),
    39: messages.RenewDelegationTokenRequest(hmac=b"token"),
    40: messages.ExpireDelegationTokenRequest(hmac=b"token"),
    41: messages.DescribeDelegationTokenRequest(owners=None),
}
TRANSACTIONS = "transaction.version"
UPGRADE = 1


def update(client: RawClient, version: int, *updates: tuple[str, int, int]) -> Any:
    """Ask for levels of features, by name, level and kind of upgrade."""
    request = messages.UpdateFeaturesRequest(
        timeout_ms=30_000,
        feature_updates=[
            messages.FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=kind)
            for feature, level, kind in updates
        ],
    )
    return client.call(UPDATE_FEATURES, version, request)


def levels(client: RawClient) -> dict[str, int]:
    request = messages.ApiVersionsRequest(client_software_name="semantics", client_software_version="1.0")
    reply = client.call(API_VERSIONS, 4, request)
    return {each.name: each.max_version_level for each in reply.finalized_features}


@pytest.mark.parametrize("version", [0, 1])
def test_a_handshake_where_nobody_is_authenticated_comes_at_the_wrong_time(
    client: RawClient, version: int
) -> None:
    """Row 81."""
    reply = client.call(SASL_HANDSHAKE, version, messages.SaslHandshakeRequest(mechanism="PLAIN"))

    assert (reply.error_code, reply.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])


@pytest.mark.parametrize("version", [0, 1, 2])
def test_authentication_where_nobody_is_authenticated_comes_at_the_wrong_time(
    client: RawClient, version: int
) -> None:
    """Row 81."""
    reply = client.call(SASL_AUTHENTICATE, version, messages.SaslAuthenticateRequest(auth_bytes=b"\0a\0b"))

    assert reply.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert reply.error_message


@pytest.mark.parametrize("api_key", TOKEN_REQUESTS)
def test_tokens_are_for_those_who_are_authenticated(client: RawClient, api_key: int) -> None:
    """Row 81: Kafka's delegation tokens."""
    reply = client.call(api_key, 2, TOKEN_REQUESTS[api_key])

    assert reply.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


@pytest.mark.parametrize("version", [1, 2])
def test_a_feature_may_be_updated_to_the_level_that_it_has(client: RawClient, version: int) -> None:
    """Row 6."""
    reply = update(client, version, (TRANSACTIONS, levels(client)[TRANSACTIONS], UPGRADE))

    told = [(each.feature, each.error_code) for each in reply.results]
    assert reply.error_code == ErrorCode.NONE
    assert told == ([(TRANSACTIONS, 0)] if version == 1 else [])


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "refused", [("nope", 1, UPGRADE), (TRANSACTIONS, 99, UPGRADE), (TRANSACTIONS, 1, UPGRADE)]
)
def test_one_update_that_cannot_be_refuses_all(
    client: RawClient, version: int, refused: tuple[str, int, int]
) -> None:
    """Row 6."""
    before = levels(client)

    reply = update(client, version, (TRANSACTIONS, before[TRANSACTIONS], UPGRADE), refused)

    assert (reply.error_code, reply.results) == (ErrorCode.INVALID_UPDATE_VERSION, [])
    assert reply.error_message
    assert levels(client) == before
