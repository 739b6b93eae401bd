"""EndTxn (key 26), versions 0-5: commit or abort a transaction.

Answered once the outcome is decided and a crash cannot change it; the markers follow. From version 5 on
(KIP-890) the producer gets another epoch with every end: the same end again is then known for a retry and
succeeds, the opposite fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.apis.add_partitions_to_txn import NEWER, OLDER
from riverlog.broker.fencing import fencing_error
from riverlog.broker.handler import Handler
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from riverlog.shards import ProducerIdentity

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context

FIRST_VERSION_WITH_PRODUCER_FENCED = 2
FIRST_VERSION_WITH_NEW_EPOCH = 5


async def answer(
    broker: Broker, request: messages.EndTxnRequest, context: Context
) -> messages.EndTxnResponse:
    """Decide the outcome."""
    if not request.transactional_id:
        return messages.EndTxnResponse(error_code=ErrorCode.INVALID_REQUEST)
    version = context.api_version
    reply = await broker.transactions.end(
        request.transactional_id,
        ProducerIdentity(request.producer_id, request.producer_epoch),
        is_commit=request.committed,
        version=NEWER if version >= FIRST_VERSION_WITH_NEW_EPOCH else OLDER,
    )
    error_code = reply.error_code
    if version < FIRST_VERSION_WITH_PRODUCER_FENCED:
        error_code = fencing_error(error_code)
    if version < FIRST_VERSION_WITH_NEW_EPOCH:
        return messages.EndTxnResponse(error_code=error_code)
    return messages.EndTxnResponse(
        error_code=error_code, producer_id=reply.producer_id, producer_epoch=reply.epoch
    )


HANDLER = Handler(api_key=26, min_version=0, max_version=5, answer=answer)
