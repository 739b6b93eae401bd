"""Java's console consumer, as a member of a group: it commits ten times a second, and when it leaves."""

from __future__ import annotations

import re

from tests import kafka_jars

from .member import COOPERATIVE, HEARTBEAT_MS, RANGE, SESSION_MS
from .program import ProgramMember

ASSIGNORS = {
    RANGE: "org.apache.kafka.clients.consumer.RangeAssignor",
    COOPERATIVE: "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}


class ConsoleMember(ProgramMember):
    """The console consumer; its log tells of its assignments."""

    line = re.compile(r"Partition:(?P<partition>\d+)\tOffset:(?P<offset>\d+)\s*")

    def revoked(self) -> list[set[int]]:
        """The partitions that it had to give up, rebalance by rebalance."""
        found = (re.search("Revoke previously assigned partitions(.*)", line) for line in list(self.lines))
        return [
            {int(one) for one in re.findall(r"-(\d+)[],]", each[1])} for each in found if each is not None
        ]


class JavaConsole:
    """Java's console consumer, as far as it can be driven."""

    name = "java-console"

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def close(self) -> None:
        """Nothing is kept open between calls."""

    def member(
        self, topic: str, group: str, name: str, *, instance_id: str | None = None, assignor: str = RANGE
    ) -> ConsoleMember:
        settings = {
            "client.id": name,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": "100",
            "session.timeout.ms": str(SESSION_MS),
            "heartbeat.interval.ms": str(HEARTBEAT_MS),
            "partition.assignment.strategy": ASSIGNORS[assignor],
        }
        if instance_id is not None:
            settings["group.instance.id"] = instance_id
        given = [f"{key}={value}" for key, value in settings.items()]
        java, *rest = kafka_jars.tool_command("kafka-console-consumer")
        shown = ("print.partition=true", "print.offset=true", "print.value=false")
        return ConsoleMember(
            [
                *(java, "-Dorg.apache.logging.log4j.level=INFO", *rest),
                *("--bootstrap-server", self.bootstrap, "--topic", topic, "--group", group),
                *kafka_jars.properties("--command-property", given),
                *kafka_jars.properties("--formatter-property", shown),
            ]
        )
