"""CreatePartitions (key 37), versions 0-3: add partitions to topics, each topic for itself.

The count is that of all partitions afterwards, so it has to be more than there are. A topic that is named
twice is answered once and refused. With `validate_only` everything is decided and nothing changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.cluster import NewPartitions
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context


def answer(
    broker: Broker, request: messages.CreatePartitionsRequest, _context: Context
) -> messages.CreatePartitionsResponse:
    """Add the partitions, and tell what became of each topic."""
    asked = [asked_partitions(topic) for topic in request.topics]
    outcomes = broker.cluster.create_partitions(asked, validate_only=request.validate_only)
    results = [
        messages.CreatePartitionsTopicResult(
            name=name,
            error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
            error_message=None if refusal is None else refusal.message,
        )
        for name, refusal in outcomes.items()
    ]
    return messages.CreatePartitionsResponse(results=results)


def asked_partitions(topic: messages.CreatePartitionsTopic) -> NewPartitions:
    """Read what is asked for."""
    assignments = topic.assignments
    return NewPartitions(
        topic.name, topic.count, None if assignments is None else [each.broker_ids for each in assignments]
    )


HANDLER = Handler(api_key=37, min_version=0, max_version=3, answer=answer)
