"""DeleteAcls (key 31), versions 1-3: take permissions back. Without an authorizer each filter is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.apis.describe_acls import NO_AUTHORIZER
from riverlog.broker.handler import Handler
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context


def answer(
    _broker: Broker, request: messages.DeleteAclsRequest, _context: Context
) -> messages.DeleteAclsResponse:
    """Refuse each filter."""
    refused = messages.DeleteAclsFilterResult(
        error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER
    )
    return messages.DeleteAclsResponse(filter_results=[refused] * len(request.filters))


HANDLER = Handler(api_key=31, min_version=1, max_version=3, answer=answer)
