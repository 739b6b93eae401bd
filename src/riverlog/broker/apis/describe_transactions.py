"""DescribeTransactions (key 65), version 0: how far the transactions of some transactional ids have come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context


async def answer(
    broker: Broker, request: messages.DescribeTransactionsRequest, _context: Context
) -> messages.DescribeTransactionsResponse:
    """Tell the state of each id."""
    return messages.DescribeTransactionsResponse(
        transaction_states=[await _described(broker, each) for each in request.transactional_ids]
    )


async def _described(
    broker: Broker, transactional_id: str
) -> messages.DescribeTransactionsResponseTransactionState:
    if not transactional_id:
        return messages.DescribeTransactionsResponseTransactionState(error_code=ErrorCode.INVALID_REQUEST)
    return await broker.transactions.describe(transactional_id)


HANDLER = Handler(api_key=65, min_version=0, max_version=0, answer=answer)
