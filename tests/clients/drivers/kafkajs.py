"""KafkaJS, in one Node.js process that answers a line of JSON per question.

Installed by name through npm into a cache outside the repository. Of all clients here it speaks the
lowest versions (no flexible ones), and it reads only as a member of a group.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
from pathlib import Path
from typing import Any

from . import DEADLINE_S, Cluster, Driver, Message, Placed, Refused, Stored
from .member import Place, SeekingMember
from .program import ProgramMember

HERE = Path(__file__).parent.parent / "kafkajs"
CACHE = Path(os.environ.get("RIVERLOG_CACHE", Path.home() / ".cache" / "riverlog")) / "kafkajs"


def what_is_missing() -> str | None:
    """Say what this machine lacks to run KafkaJS; None when it lacks nothing."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            return f"KafkaJS needs {program}, which is not on PATH"
    return None


def installed() -> Path:
    """The folder whose node_modules hold exactly what package.json names; npm is asked when they do not."""
    wanted = (HERE / "package.json").read_text()
    stamp = CACHE / "installed.json"
    if not stamp.exists() or stamp.read_text() != wanted:
        CACHE.mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / "package.json", CACHE)
        npm = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund"]
        subprocess.run(npm, cwd=CACHE, check=True, capture_output=True, timeout=300)
        stamp.write_text(wanted)
    return CACHE


def encode(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode()


def decode(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


class KafkaJSMember(ProgramMember, SeekingMember):
    """A Node.js process of its own."""

    def seek(self, place: Place) -> None:
        self.tell(f"{place.partition} {place.offset}")


class KafkaJS(Driver):
    name = "kafkajs"

    def __init__(self, bootstrap: str) -> None:
        super().__init__(bootstrap)
        self.node = subprocess.Popen(
            ["node", str(HERE / "driver.mjs"), str(installed()), bootstrap],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "KAFKAJS_NO_PARTITIONER_WARNING": "1"},
        )

    def close(self) -> None:
        assert self.node.stdin is not None
        assert self.node.stdout is not None
        self.node.stdin.close()
        try:
            self.node.wait(5)
        except subprocess.TimeoutExpired:
            self.node.kill()
            self.node.wait()
        self.node.stdout.close()

    def _ask(self, call: str, **arguments: Any) -> Any:
        assert self.node.stdin is not None
        assert self.node.stdout is not None
        self.node.stdin.write(json.dumps({"call": call, "with": arguments}).encode() + b"\n")
        self.node.stdin.flush()
        ready, _, _ = select.select([self.node.stdout], [], [], 2 * DEADLINE_S)
        if not ready:
            self.node.kill()
            raise TimeoutError(f"KafkaJS did not finish {call} within {2 * DEADLINE_S} s")
        line = self.node.stdout.readline()
        if not line:
            raise RuntimeError(f"KafkaJS ended during {call}")
        reply = json.loads(line)
        if "refused" in reply:
            raise Refused(**reply["refused"])
        if "failed" in reply:
            raise RuntimeError(f"KafkaJS failed in {call}: {reply['failed']}")
        return reply["answer"]

    def produce(
        self,
        topic: str,
        messages: list[Message],
        *,
        partition: int | None = None,
        codec: str = "none",
        acks: int = -1,
        idempotent: bool = False,
        request_bytes_max: int = 1_000_000,
    ) -> list[Placed]:
        asked = [
            {
                "key": encode(message.key),
                "value": encode(message.value),
                "headers": [[name, encode(value)] for name, value in message.headers],
                "timestamp": message.timestamp,
            }
            for message in messages
        ]
        placed = self._ask(
            "produce",
            topic=topic,
            messages=asked,
            partition=partition,
            codec=codec,
            acks=acks,
            idempotent=idempotent,
        )
        return [Placed(where, offset) for where, offset in placed]

    def consume_in_group(self, topic: str, group: str, count: int) -> list[Stored]:
        taken = self._ask("consumeInGroup", topic=topic, group=group, count=count)
        return [
            Stored(
                one["partition"],
                one["offset"],
                one["timestamp"],
                decode(one["key"]),
                decode(one["value"]),
                tuple((name, decode(value)) for name, value in one["headers"]),
            )
            for one in taken
        ]

    def member(self, topic: str, group: str, name: str) -> KafkaJSMember:
        program = (str(HERE / "member.mjs"), str(installed()))
        return KafkaJSMember(["node", *program, self.bootstrap, topic, group, name])

    def offset_at(self, topic: str, partition: int, timestamp: int) -> int | None:
        found: int = self._ask("offsetAt", topic=topic, partition=partition, timestamp=timestamp)
        # KafkaJS answers the next offset where no record is that young; the broker's own -1 is not shown
        return None if found == self.offset_range(topic, partition)[1] else found

    def offset_range(self, topic: str, partition: int) -> tuple[int, int]:
        low, high = self._ask("offsetRange", topic=topic, partition=partition)
        return low, high

    def create_topic(
        self,
        topic: str,
        *,
        partitions: int = 1,
        replicas: int = 1,
        settings: dict[str, str] | None = None,
        validate_only: bool = False,
    ) -> None:
        self._ask(
            "createTopic",
            topic=topic,
            partitions=partitions,
            replicas=replicas,
            settings=settings or {},
            validateOnly=validate_only,
        )

    def delete_topic(self, topic: str) -> None:
        self._ask("deleteTopic", topic=topic)

    def grow_topic(self, topic: str, partitions: int) -> None:
        self._ask("growTopic", topic=topic, partitions=partitions)

    def topics(self) -> dict[str, int]:
        answer: dict[str, int] = self._ask("topics")
        return answer

    def topic_settings(self, topic: str) -> dict[str, str | None]:
        answer: dict[str, str | None] = self._ask("topicSettings", topic=topic)
        return answer

    def set_topic_settings(self, topic: str, settings: dict[str, str]) -> None:
        self._ask("setTopicSettings", topic=topic, settings=settings)

    def cluster(self) -> Cluster:
        cluster_id, controller, brokers = self._ask("cluster")
        return Cluster(cluster_id, controller, tuple(sorted(brokers)))

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        self._ask("deleteRecords", topic=topic, partition=partition, before=before)
