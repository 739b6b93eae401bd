"""InitProducerId (key 22), versions 0-5: a producer's number, for sending without duplicates.

A producer without a transactional id gets a new number and epoch 0 each time, also when it names the one
it had: what a partition remembers of a number must never be continued by somebody else. There is no
transaction coordinator, so a transactional id is told to come back when there is one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from riverlog.broker.fencing import fencing_error
from riverlog.broker.handler import Handler
from riverlog.errors import StorageError
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from riverlog.shards import ProducerIdentity

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
FIRST_VERSION_WITH_PRODUCER_FENCED = 4

_log = logging.getLogger(__name__)


async def answer(
    broker: Broker, request: messages.InitProducerIdRequest, context: Context
) -> messages.InitProducerIdResponse:
    """Hand out a producer id, or what a transactional id stands for."""
    error_code = fault(request)
    if error_code:
        return refused(error_code)
    if request.transactional_id is None:
        return allotted(broker.cluster.next_producer_id)
    expected = None
    if request.producer_id != NO_PRODUCER_ID:
        expected = ProducerIdentity(request.producer_id, request.producer_epoch)
    reply = await broker.transactions.init_producer(
        request.transactional_id, request.transaction_timeout_ms, expected
    )
    if reply.error_code:
        is_older = context.api_version < FIRST_VERSION_WITH_PRODUCER_FENCED
        return refused(fencing_error(reply.error_code) if is_older else reply.error_code)
    return messages.InitProducerIdResponse(producer_id=reply.producer_id, producer_epoch=reply.epoch)


def fault(request: messages.InitProducerIdRequest) -> ErrorCode:
    """Say what is wrong with the request; NONE where it can be granted."""
    has_id = request.producer_id != NO_PRODUCER_ID
    has_epoch = request.producer_epoch != NO_PRODUCER_EPOCH
    if request.transactional_id == "" or has_id != has_epoch:
        return ErrorCode.INVALID_REQUEST
    return ErrorCode.NONE


def allotted(next_producer_id: Callable[[], int]) -> messages.InitProducerIdResponse:
    """Give the next id, or where the disk refuses to remember that, an error that clients retry."""
    try:
        producer_id = next_producer_id()
    except StorageError:
        _log.exception("cannot reserve producer ids")
        return refused(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return messages.InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def refused(error_code: int) -> messages.InitProducerIdResponse:
    """Give no id."""
    return messages.InitProducerIdResponse(
        error_code=error_code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH
    )


HANDLER = Handler(api_key=22, min_version=0, max_version=5, answer=answer)
