"""A group that the broker assigns for is handed from Apache Kafka to riverlog and back, while it is live.

Only the files change hands. Its members send their next heartbeat to the other broker, in the epoch that they
are in, and keep what they have.
"""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from bench.peer import KafkaBroker
from riverlog.protocol.error_codes import ErrorCode
from tests.live_broker import LiveBroker
from tests.process.raw_client import RawClient
from tests.semantics.asking import Topic, eventually
from tests.semantics.heartbeats import Group

from .drivers.librdkafka import Librdkafka

pytestmark = [pytest.mark.java, pytest.mark.slow]

OFFSETS = "__consumer_offsets-0"
SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
}


def go_on(group: Group, *members: str) -> None:
    """Send the members' heartbeats to the broker that is there now: they keep what they have."""
    before = {member: group.owned[member] for member in members}

    def is_served() -> bool:
        return group.beat(members[0], owned=group.owned[members[0]]).error_code == ErrorCode.NONE

    eventually(is_served, "the group is loaded")
    group.settle(*members)
    assert {member: group.owned[member] for member in members} == before
    (committed,) = group.fetch(None, -1).topics
    assert committed.partitions[0].committed_offset == 1


@pytest.mark.usefixtures("kafka_jars_present")
def test_a_live_group_is_handed_over_both_ways(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with KafkaBroker(SETTINGS) as kafka:
        kafka.prepare()
        kafka.start()
        librdkafka = Librdkafka(f"127.0.0.1:{kafka.port}")
        librdkafka.create_topic("orders", partitions=4)
        with RawClient(f"127.0.0.1:{kafka.port}") as client:
            topic_id = client.topics()["orders"]
            group = Group(client, "billing", Topic("orders", topic_id))
            group.join("ann", instance_id="static")
            group.join("bob", subscribed_topic_names=None, subscribed_topic_regex="order.")
            eventually(lambda: group.join("carl").error_code == 0, "carl is in")
            group.settle("ann", "bob", "carl")
            group.commit("ann", group.epochs["ann"])
        os.kill(kafka.pid, signal.SIGKILL)
        kafka.stop()
        shutil.copytree(kafka.data, data)

        with LiveBroker(data, settings=SETTINGS) as broker, RawClient(broker.bootstrap) as client:
            group.client = client
            go_on(group, "ann", "bob", "carl")
            group.beat("carl", -1)
            group.settle("ann", "bob")
        for path in (kafka.data / OFFSETS).iterdir():
            if path.name != "partition.metadata":
                path.unlink()
        for path in (data / OFFSETS).iterdir():
            if path.name != "partition.metadata":
                shutil.copy(path, kafka.data / OFFSETS)

        kafka.start()
        with RawClient(f"127.0.0.1:{kafka.port}") as client:
            group.client = client
            go_on(group, "ann", "bob")
