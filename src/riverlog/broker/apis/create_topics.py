"""CreateTopics (key 19), versions 2-7: create topics, each for itself.

-1 for the partition count or the replication factor means the broker's default. With `validate_only`
everything is decided and nothing created. The answer shows what the topic has become: size, id, and
from version 5 on all its settings. It leaves when the topics can be used, whatever the time-out says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.broker.handler import Handler
from riverlog.cluster import NO_TOPIC_ID, NewTopic, Refusal, Topic
from riverlog.config import ConfigEntry, describe_topic
from riverlog.protocol import messages

if TYPE_CHECKING:
    from riverlog.broker.broker import Broker
    from riverlog.broker.handler import Context


def answer(
    broker: Broker, request: messages.CreateTopicsRequest, _context: Context
) -> messages.CreateTopicsResponse:
    """Create the topics, and tell what became of each."""
    asked = [asked_topic(topic) for topic in request.topics]
    outcomes = broker.cluster.create_topics(asked, validate_only=request.validate_only)
    overrides = {topic.name: {name: value or "" for name, value in topic.overrides} for topic in asked}
    results = []
    for name, outcome in outcomes.items():
        if isinstance(outcome, Refusal):
            results.append(refused(name, outcome))
        else:
            settings = describe_topic(broker.config, overrides[name])
            results.append(created(outcome, settings, is_real=not request.validate_only))
    return messages.CreateTopicsResponse(topics=results)


def asked_topic(topic: messages.CreatableTopic) -> NewTopic:
    """Read what is asked for."""
    return NewTopic(
        name=topic.name,
        partition_count=topic.num_partitions,
        replication_factor=topic.replication_factor,
        assignments=[(each.partition_index, each.broker_ids) for each in topic.assignments],
        overrides=[(each.name, each.value) for each in topic.configs],
    )


def refused(name: str, refusal: Refusal) -> messages.CreatableTopicResult:
    """Tell why a topic is not created."""
    return messages.CreatableTopicResult(
        name=name,
        error_code=refusal.error_code,
        error_message=refusal.message,
        num_partitions=-1,
        replication_factor=-1,
        configs=[],
    )


def created(topic: Topic, settings: list[ConfigEntry], *, is_real: bool) -> messages.CreatableTopicResult:
    """Tell what a topic has become, or with `is_real=False` what it would have."""
    return messages.CreatableTopicResult(
        name=topic.name,
        topic_id=topic.topic_id if is_real else NO_TOPIC_ID,
        error_message=None,
        num_partitions=len(topic.partitions),
        replication_factor=topic.replication_factor,
        configs=[
            messages.CreatableTopicConfigs(
                name=entry.name,
                value=entry.value,
                read_only=entry.is_read_only,
                config_source=entry.source,
                is_sensitive=entry.is_sensitive,
            )
            for entry in settings
        ],
    )


HANDLER = Handler(api_key=19, min_version=2, max_version=7, answer=answer)
