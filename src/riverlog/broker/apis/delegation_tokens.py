"""Create-, Renew-, Expire- and DescribeDelegationToken (keys 38-41): short-lived credentials (KIP-48).

A token speaks for whoever asked for it, so only an authenticated connection may ask, and no listener
authenticates its clients. Each request is refused with the error that Kafka has for that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context

NOT_ALLOWED = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def answer_create(
    _broker: Broker, _request: messages.CreateDelegationTokenRequest, _context: Context
) -> messages.CreateDelegationTokenResponse:
    """Refuse to make one."""
    return messages.CreateDelegationTokenResponse(error_code=NOT_ALLOWED)


def answer_renew(
    _broker: Broker, _request: messages.RenewDelegationTokenRequest, _context: Context
) -> messages.RenewDelegationTokenResponse:
    """Refuse to let one live longer."""
    return messages.RenewDelegationTokenResponse(error_code=NOT_ALLOWED)


def answer_expire(
    _broker: Broker, _request: messages.ExpireDelegationTokenRequest, _context: Context
) -> messages.ExpireDelegationTokenResponse:
    """Refuse to end one."""
    return messages.ExpireDelegationTokenResponse(error_code=NOT_ALLOWED)


def answer_describe(
    _broker: Broker, _request: messages.DescribeDelegationTokenRequest, _context: Context
) -> messages.DescribeDelegationTokenResponse:
    """Refuse to list them, which is not the same as that there are none."""
    return messages.DescribeDelegationTokenResponse(error_code=NOT_ALLOWED)


CREATE = Handler(api_key=38, min_version=1, max_version=3, answer=answer_create)
RENEW = Handler(api_key=39, min_version=1, max_version=2, answer=answer_renew)
EXPIRE = Handler(api_key=40, min_version=1, max_version=2, answer=answer_expire)
DESCRIBE = Handler(api_key=41, min_version=1, max_version=3, answer=answer_describe)
