"""AlterClientQuotas (key 49), versions 0-1: limit users, clients and addresses.

Each entity is answered for itself. Limits are kept and told; nobody is slowed down by them yet, which a
warning says each time one is set.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.cluster import QuotaEdit, QuotaEdits
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context
    from riverlog.cluster import Refusal

_log = logging.getLogger(__name__)


def answer(
    broker: Broker, request: messages.AlterClientQuotasRequest, _context: Context
) -> messages.AlterClientQuotasResponse:
    """Change the limits, and tell what became of each entity."""
    edits = [read_edits(entry) for entry in request.entries]
    refusals = broker.cluster.change_quotas(edits, validate_only=request.validate_only)
    if not request.validate_only:
        _warn(edits, refusals)
    return messages.AlterClientQuotasResponse(
        entries=[
            messages.AlterClientQuotasResponseEntryData(
                error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
                error_message=None if refusal is None else refusal.message,
                entity=[
                    messages.AlterClientQuotasResponseEntityData(entity_type=entity_type, entity_name=name)
                    for entity_type, name in each.entity
                ],
            )
            for each, refusal in zip(edits, refusals, strict=True)
        ]
    )


def read_edits(entry: messages.AlterClientQuotasRequestEntryData) -> QuotaEdits:
    """Read what is asked for one entity."""
    return QuotaEdits(
        entity=[(part.entity_type, part.entity_name) for part in entry.entity],
        edits=[QuotaEdit(op.key, None if op.remove else op.value) for op in entry.ops],
    )


def _warn(edits: list[QuotaEdits], refusals: list[Refusal | None]) -> None:
    for each, refusal in zip(edits, refusals, strict=True):
        if refusal is None and any(edit.value is not None for edit in each.edits):
            _log.warning("limits of %s are kept, but clients are not slowed down yet", each.entity)


HANDLER = Handler(api_key=49, min_version=0, max_version=1, answer=answer)
