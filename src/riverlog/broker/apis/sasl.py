"""SaslHandshake (key 17), versions 0-1, and SaslAuthenticate (key 36), versions 0-2: who the client is.

No listener asks for that, and on one that does not, either request comes at the wrong time, as in Kafka. A
client that was set up for SASL by mistake reads why it is refused, in place of a closed connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context


def answer_handshake(
    _broker: Broker, _request: messages.SaslHandshakeRequest, _context: Context
) -> messages.SaslHandshakeResponse:
    """Refuse; there are no mechanisms to offer."""
    return messages.SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)


def answer_authenticate(
    _broker: Broker, _request: messages.SaslAuthenticateRequest, context: Context
) -> messages.SaslAuthenticateResponse:
    """Refuse."""
    return messages.SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message=f"the listener {context.connection.listener_name} does not authenticate its clients",
    )


HANDSHAKE = Handler(api_key=17, min_version=0, max_version=1, answer=answer_handshake)
AUTHENTICATE = Handler(api_key=36, min_version=0, max_version=2, answer=answer_authenticate)
