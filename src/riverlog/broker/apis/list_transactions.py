"""ListTransactions (key 66), versions 0-2: the transactional ids that this broker coordinates.

Filtered by state, by producer id, from version 1 on by how long ago they began, from 2 on by a pattern.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context
    from riverlog.protocol import messages


def answer(
    broker: Broker, request: messages.ListTransactionsRequest, _context: Context
) -> messages.ListTransactionsResponse:
    """List them."""
    return broker.transactions.list_transactions(request)


HANDLER = Handler(api_key=66, min_version=0, max_version=2, answer=answer)
