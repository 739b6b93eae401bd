"""CreateAcls (key 30), versions 1-3: grant and deny permissions. Without an authorizer each is refused."""

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
    _broker: Broker, request: messages.CreateAclsRequest, _context: Context
) -> messages.CreateAclsResponse:
    """Refuse each permission, so that nobody believes that it protects anything."""
    refused = messages.AclCreationResult(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
    return messages.CreateAclsResponse(results=[refused] * len(request.creations))


HANDLER = Handler(api_key=30, min_version=1, max_version=3, answer=answer)
