"""AlterUserScramCredentials (key 51), version 0: give users SCRAM credentials, or remove them.

Each user is answered for itself. Credentials are kept, though no listener asks for them yet, which a
warning says each time one is given.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.cluster import Deletion, Upsertion
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context

_log = logging.getLogger(__name__)


def answer(
    broker: Broker, request: messages.AlterUserScramCredentialsRequest, _context: Context
) -> messages.AlterUserScramCredentialsResponse:
    """Change the credentials, and tell what became of each user."""
    outcomes = broker.cluster.change_credentials(read_edits(request))
    for given in dict.fromkeys(upsertion.name for upsertion in request.upsertions):
        if outcomes[given] is None:
            _log.warning("a credential of %r is kept, but no listener asks for it yet", given)
    return messages.AlterUserScramCredentialsResponse(
        results=[
            messages.AlterUserScramCredentialsResult(
                user=user,
                error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
                error_message=None if refusal is None else refusal.message,
            )
            for user, refusal in outcomes.items()
        ]
    )


def read_edits(request: messages.AlterUserScramCredentialsRequest) -> list[Deletion | Upsertion]:
    """Read what is asked, deletions first."""
    deletions = [Deletion(each.name, each.mechanism) for each in request.deletions]
    upsertions = [
        Upsertion(each.name, each.mechanism, each.iterations, each.salt, each.salted_password)
        for each in request.upsertions
    ]
    return [*deletions, *upsertions]


HANDLER = Handler(api_key=51, min_version=0, max_version=0, answer=answer)
