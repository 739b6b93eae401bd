"""ConsumerGroupHeartbeat, ConsumerGroupDescribe, and what a broker's topics have to do with them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.broker.apis.asking import AskedBroker


def beat(asked: AskedBroker, epoch: int = 0) -> Any:
    """A heartbeat of a member called Ann; in epoch 0 she joins."""
    request = messages.ConsumerGroupHeartbeatRequest(group_id="g", member_id="ann", member_epoch=epoch)
    if epoch == 0:
        request.rebalance_timeout_ms = 60_000
        request.topic_partitions = []
        request.subscribed_topic_names = ["t"]
    return asked.ask(request)


def describe(asked: AskedBroker, *groups: str, **how: bool) -> list[Any]:
    request = messages.ConsumerGroupDescribeRequest(group_ids=list(groups), **how)
    return list(asked.ask(request).groups)


def test_a_member_is_given_the_broker_s_partitions(asked: AskedBroker) -> None:
    asked.topic("t", partitions=3)

    reply = beat(asked)

    (has,) = reply.assignment.topic_partitions
    assert has.topic_id == asked.broker.cluster.image.topics["t"].topic_id
    assert has.partitions == [0, 1, 2]


def test_groups_are_described_once_each_in_the_order_asked_for(asked: AskedBroker) -> None:
    asked.topic("t")
    beat(asked)
    asked.ask(
        messages.OffsetCommitRequest(
            group_id="simple",
            generation_id_or_member_epoch=-1,
            topics=[
                messages.OffsetCommitRequestTopic(
                    name="t",
                    topic_id=asked.broker.cluster.image.topics["t"].topic_id,
                    partitions=[messages.OffsetCommitRequestPartition(committed_offset=1)],
                )
            ],
        )
    )

    absent, there, classic, unnamed = describe(asked, "nobody", "g", "simple", "g", "")

    assert (there.group_id, there.group_state, len(there.members)) == ("g", "Stable", 1)
    assert (absent.error_code, absent.error_message) == (69, "there is no group 'nobody'")
    assert (classic.error_code, classic.error_message) == (69, "'simple' is of the classic protocol")
    assert unnamed.error_code == ErrorCode.INVALID_GROUP_ID


def test_a_broker_that_leaves_the_protocol_out_says_so(tmp_path: Path) -> None:
    with closing(AskedBroker(tmp_path, "group.coordinator.rebalance.protocols=classic")) as asked:
        asked.topic("t")

        assert beat(asked).error_code == ErrorCode.UNSUPPORTED_VERSION
        assert describe(asked, "g")[0].error_code == ErrorCode.UNSUPPORTED_VERSION


def test_what_a_client_may_do_is_told_if_it_asks(asked: AskedBroker) -> None:
    asked.topic("t")
    beat(asked)

    (untold,) = describe(asked, "g")
    (told,) = describe(asked, "g", include_authorized_operations=True)

    assert untold.authorized_operations == -(1 << 31)
    assert told.authorized_operations > 0


def test_a_topic_that_is_deleted_is_no_member_s_any_more(asked: AskedBroker) -> None:
    asked.topic("t")
    epoch = beat(asked).member_epoch
    asked.ask(messages.DeleteTopicsRequest(topics=[messages.DeleteTopicState(name="t")], timeout_ms=1000))

    reply = beat(asked, epoch)

    assert reply.error_code == 0
    assert describe(asked, "g")[0].group_epoch == epoch + 1
