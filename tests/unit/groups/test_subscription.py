"""Subscriptions: topics are found in every version, and nothing is believed of what is not one."""

from __future__ import annotations

import pytest

from riverlog.groups.subscription import subscribed_topics
from riverlog.protocol import codec, messages


@pytest.mark.parametrize("version", range(4))
def test_the_topics_are_found_in_every_version(version: int) -> None:
    message = messages.ConsumerProtocolSubscription(
        topics=["a", "\u00e9t\u00e9"],
        user_data=b"more",
        owned_partitions=[messages.ConsumerProtocolSubscriptionTopicPartition(topic="other", partitions=[1])],
        rack_id="r",
    )
    subscription = version.to_bytes(2, "big") + codec.encode(message, version)

    assert subscribed_topics(subscription) == ["a", "\u00e9t\u00e9"]


def test_a_subscription_may_be_to_nothing() -> None:
    assert subscribed_topics(bytes.fromhex("0000 00000000 ffffffff")) == []


@pytest.mark.parametrize(
    "subscription",
    [
        "",
        "0000 0000",
        "0000 ffffffff",
        "0000 7fffffff",
        "0000 00000001",
        "0000 00000001 0005 6161",
        "0000 00000001 ffff 6161",
        "0000 00000001 0002 ffff",
    ],
)
def test_what_is_no_subscription_names_no_topics(subscription: str) -> None:
    assert subscribed_topics(bytes.fromhex(subscription)) is None
