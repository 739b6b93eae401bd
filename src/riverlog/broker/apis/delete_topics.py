"""DeleteTopics (key 20), versions 1-6: delete topics, each for itself, by name or (version 6) by id.

The topic is gone for everybody when the answer leaves; its files follow within `file.delete.delay.ms`.
With `delete.topic.enable=false` every topic is refused. A topic that is named twice, by whatever means,
is answered once and refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from riverlog.broker.handler import Handler
from riverlog.cluster import NO_TOPIC_ID, Refusal
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context
    from riverlog.cluster import MetadataImage, Topic

FIRST_VERSION_WITH_DELETION_DISABLED = 3


class Asked(NamedTuple):
    """A topic to delete: a name, an id, or by mistake both or neither."""

    name: str | None
    topic_id: bytes


def answer(
    broker: Broker, request: messages.DeleteTopicsRequest, context: Context
) -> messages.DeleteTopicsResponse:
    """Delete the topics, and tell what became of each."""
    asked = [Asked(name, NO_TOPIC_ID) for name in request.topic_names]
    asked += [Asked(topic.name, topic.topic_id) for topic in request.topics]
    refusals: dict[Asked, Refusal | None] = {}
    if broker.settings.admin.delete_topic_enable:
        found, faults = find_topics(broker.cluster.image, asked)
        outcomes = broker.cluster.delete_topics([topic.name for topic in found])
        refusals.update(faults)
        refusals.update({Asked(topic.name, topic.topic_id): outcomes[topic.name] for topic in found})
    else:
        refusals.update(dict.fromkeys(asked, disabled(context.api_version)))
    return messages.DeleteTopicsResponse(
        responses=[
            messages.DeletableTopicResult(
                name=each.name,
                topic_id=each.topic_id,
                error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
                error_message=None if refusal is None else refusal.message,
            )
            for each, refusal in refusals.items()
        ]
    )


def disabled(version: int) -> Refusal:
    """Refuse because no topic may be deleted; older versions have no number for that."""
    is_known = version >= FIRST_VERSION_WITH_DELETION_DISABLED
    code = ErrorCode.TOPIC_DELETION_DISABLED if is_known else ErrorCode.INVALID_REQUEST
    return Refusal(code, "deleting topics is switched off by delete.topic.enable")


def find_topics(image: MetadataImage, asked: Sequence[Asked]) -> tuple[list[Topic], dict[Asked, Refusal]]:
    """Find each topic asked for, or say why there is none; each is answered once."""
    topics = [_topic_of(image, each) for each in asked]
    keys = [each if topic is None else topic.name for each, topic in zip(asked, topics, strict=True)]
    times_named = Counter(keys)
    found: list[Topic] = []
    faults: dict[Asked, Refusal] = {}
    for each, topic, key in zip(asked, topics, keys, strict=True):
        if times_named[key] > 1:
            text = "the topic is named twice in this request"
            told = each if topic is None else Asked(topic.name, topic.topic_id)
            faults[told] = Refusal(ErrorCode.INVALID_REQUEST, text)
        elif topic is None:
            faults[each] = _fault(each)
        else:
            found.append(topic)
    return found, faults


def _topic_of(image: MetadataImage, asked: Asked) -> Topic | None:
    if asked.name is None:
        return image.topic(asked.topic_id)
    return image.topic(asked.name) if asked.topic_id == NO_TOPIC_ID else None


def _fault(asked: Asked) -> Refusal:
    """Say why a topic asked for was not found."""
    if asked.name is None and asked.topic_id == NO_TOPIC_ID:
        return Refusal(ErrorCode.INVALID_REQUEST, "neither the topic's name nor its id is given")
    if asked.name is None:
        return Refusal(ErrorCode.UNKNOWN_TOPIC_ID, "there is no topic with this id")
    if asked.topic_id != NO_TOPIC_ID:
        return Refusal(ErrorCode.INVALID_REQUEST, "a topic is named by its name or by its id, not by both")
    return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {asked.name!r}")


HANDLER = Handler(api_key=20, min_version=1, max_version=6, answer=answer)
