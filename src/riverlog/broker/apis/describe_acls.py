"""DescribeAcls (key 29), versions 1-3: permissions. Without an authorizer there are none to describe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from riverlog.broker.handler import Handler
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context

NO_AUTHORIZER: Final = "this broker has no authorizer: everybody may do everything"


def answer(
    _broker: Broker, _request: messages.DescribeAclsRequest, _context: Context
) -> messages.DescribeAclsResponse:
    """Say that permissions are not checked, which is not the same as that there are none."""
    return messages.DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)


HANDLER = Handler(api_key=29, min_version=1, max_version=3, answer=answer)
