"""AddOffsetsToTxn (key 25), versions 0-4: a transaction is about to commit offsets of a group.

The group's partition of the offsets topic becomes part of the transaction, as any other would. Newer clients
leave this to TxnOffsetCommit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.apis.add_partitions_to_txn import OLDER
from riverlog.broker.fencing import fencing_error
from riverlog.broker.handler import Handler
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from riverlog.shards import ProducerIdentity

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context

FIRST_VERSION_WITH_PRODUCER_FENCED = 2


async def answer(
    broker: Broker, request: messages.AddOffsetsToTxnRequest, context: Context
) -> messages.AddOffsetsToTxnResponse:
    """Add the partition in which the group's offsets are."""
    if not request.transactional_id:
        return messages.AddOffsetsToTxnResponse(error_code=ErrorCode.INVALID_REQUEST)
    partition = broker.groups.offsets_partition_of(request.group_id)
    if isinstance(partition, ErrorCode):
        return messages.AddOffsetsToTxnResponse(error_code=partition)
    producer = ProducerIdentity(request.producer_id, request.producer_epoch)
    reply = await broker.transactions.add_partitions_after_end(
        request.transactional_id, producer, (partition,), OLDER
    )
    error_code = reply.error_code
    if context.api_version < FIRST_VERSION_WITH_PRODUCER_FENCED:
        error_code = fencing_error(error_code)
    return messages.AddOffsetsToTxnResponse(error_code=error_code)


HANDLER = Handler(api_key=25, min_version=0, max_version=4, answer=answer)
