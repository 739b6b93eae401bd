"""DescribeUserScramCredentials (key 50), version 0: who has a SCRAM credential, and of how many iterations.

No users named means all that have one. Neither salts nor keys are ever told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context
    from riverlog.cluster import ScramCredential


def answer(
    broker: Broker, request: messages.DescribeUserScramCredentialsRequest, _context: Context
) -> messages.DescribeUserScramCredentialsResponse:
    """Describe the users asked for, each once."""
    credentials = broker.cluster.image.credentials
    asked = Counter(user.name for user in request.users or ()) or Counter(credentials.keys())
    return messages.DescribeUserScramCredentialsResponse(
        error_message=None,
        results=[describe(user, count, credentials.get(user)) for user, count in asked.items()],
    )


def describe(
    user: str, times_named: int, credentials: Mapping[int, ScramCredential] | None
) -> messages.DescribeUserScramCredentialsResult:
    """Describe a user, or say why not."""
    if times_named > 1:
        return messages.DescribeUserScramCredentialsResult(
            user=user,
            error_code=ErrorCode.DUPLICATE_RESOURCE,
            error_message=f"the user {user!r} is named twice in this request",
        )
    if credentials is None:
        return messages.DescribeUserScramCredentialsResult(
            user=user,
            error_code=ErrorCode.RESOURCE_NOT_FOUND,
            error_message=f"the user {user!r} has no credentials",
        )
    return messages.DescribeUserScramCredentialsResult(
        user=user,
        error_message=None,
        credential_infos=[
            messages.CredentialInfo(mechanism=mechanism, iterations=credential.iterations)
            for mechanism, credential in sorted(credentials.items())
        ],
    )


HANDLER = Handler(api_key=50, min_version=0, max_version=0, answer=answer)
