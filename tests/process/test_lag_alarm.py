"""A slow group and retention, on the real executable: warned before its records go, and once they went."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from riverlog.client import Admin, GroupAdmin, Producer
from tests.eventually import eventually
from tests.live_broker import LiveBroker
from tests.process.command import Riverlog
from tests.prometheus_text import Metrics, parse

TOPIC = "orders"
RECORD_BYTES = 100_000
SEGMENT_BYTES = 1 << 20
"""The smallest that a topic may have: ten records."""
RETENTION_BYTES = 5 << 20
SETTINGS = {
    "metrics.port": "0",
    "lag.check.interval.ms": "100",
    "log.retention.check.interval.ms": "200",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "durability": "page-cache",
}

_WARNING = re.compile(r"WARNING riverlog\.broker\.lag: (.*)")


class Watched:
    """A broker, its metrics and its warnings, and a group that does not read."""

    def __init__(self, broker: LiveBroker) -> None:
        self.broker = broker
        self.riverlog = Riverlog(broker.bootstrap)

    def metrics(self) -> Metrics:
        with urllib.request.urlopen(metrics_address(self.broker), timeout=10) as answer:
            assert answer.status == 200
            assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
            return parse(answer.read().decode())

    def told(self, name: str, group: str) -> float | None:
        return self.metrics().value(f"riverlog_group_{name}", group=group, topic=TOPIC, partition=0)

    def warnings(self, group: str) -> list[str]:
        said: list[str] = _WARNING.findall(self.broker.output())
        return [line for line in said if line.startswith(f"group {group!r} ")]

    def produce(self, count: int) -> None:
        with Producer(self.broker.bootstrap) as producer:
            for _ in range(count):
                producer.send(TOPIC, bytes(RECORD_BYTES))

    def start_offset(self) -> int:
        with Admin(self.broker.bootstrap) as admin:
            return admin.bounds(TOPIC)[0].earliest


def metrics_address(broker: LiveBroker) -> str:
    """Where metrics are served, from the line after the one that says that the broker serves."""
    eventually(lambda: "metrics on " in broker.output(), "it is said where metrics are")
    (address,) = re.findall(r"metrics on (\S+)", broker.output())
    return str(address)


@contextmanager
def watched(data: Path, **settings: str) -> Iterator[Watched]:
    """A broker with one topic, ten records in it, and two groups of which one has read them."""
    with LiveBroker(data, settings=SETTINGS) as broker:
        found = Watched(broker)
        with GroupAdmin(broker.bootstrap) as admin:
            admin.create_topic(TOPIC, settings={"segment.bytes": str(SEGMENT_BYTES), **settings})
            found.produce(10)
            admin.commit("slow", {(TOPIC, 0): 1})
            admin.commit("quick", {(TOPIC, 0): 10})
        yield found


def test_a_slow_group_is_warned_of_before_its_records_are_deleted(tmp_path: Path) -> None:
    """The room that is left shrinks segment by segment; nothing waits for the group."""
    with watched(tmp_path / "data", **{"retention.bytes": str(RETENTION_BYTES)}) as found:
        assert found.told("lag", "slow") == 9
        assert found.told("at_risk", "slow") == 0
        assert found.warnings("slow") == []

        # Nine tenths of what may lie behind the group's segment.
        found.produce(45)
        eventually(lambda: found.told("at_risk", "slow") == 1, "the group is at risk")
        eventually(lambda: bool(found.warnings("slow")), "the group is warned of")

        (warning,) = found.warnings("slow")
        assert found.start_offset() == 0, "the warning came after the deletion"
        assert found.told("lost_offsets", "slow") == 0
        assert warning.startswith(
            f"group 'slow' is about to lose records of {TOPIC}-0: it is 54 offsets behind"
        )
        assert "more bytes are written" in warning
        assert 0 < (found.told("retention_left_ratio", "slow") or 0) <= 0.2

        found.produce(20)
        eventually(lambda: found.start_offset() > 1, "retention deletes what it must")
        eventually(lambda: len(found.warnings("slow")) == 2, "the loss is told")

        start = found.start_offset()
        assert found.warnings("slow")[1].startswith(f"group 'slow' has lost {start - 1} offsets of {TOPIC}-0")
        assert found.told("lost_offsets", "slow") == start - 1
        assert found.told("at_risk", "slow") == 1
        lost = found.riverlog("groups", "describe", "slow", "--json").objects
        assert lost[0]["lost"] == start - 1

        found.riverlog("groups", "reset", "slow", "--to-latest")
        eventually(lambda: found.told("at_risk", "slow") == 0, "who has begun anew is at no risk")
        assert len(found.warnings("slow")) == 2


def test_retention_warns_first_though_nobody_looked_in_time(tmp_path: Path) -> None:
    """Records that are too old when they come: the look before the deletion is the only one."""
    with (
        watched(tmp_path / "data", **{"retention.ms": "-1"}) as found,
        Admin(found.broker.bootstrap) as admin,
    ):
        admin.change_topic_settings(TOPIC, {"retention.ms": "1"})
        eventually(lambda: found.start_offset() == 10, "retention deletes everything")
        eventually(lambda: len(found.warnings("slow")) == 2, "both are told")

        first, second = found.warnings("slow")
        assert first.startswith(f"group 'slow' is about to lose records of {TOPIC}-0: it is 9 offsets behind")
        assert first.endswith("is deleted now (retention.ms)")
        assert second.startswith(f"group 'slow' has lost 9 offsets of {TOPIC}-0")
        assert found.warnings("quick") == []


def test_a_broker_without_a_port_for_metrics_serves_none(tmp_path: Path) -> None:
    with LiveBroker(tmp_path / "data") as broker:
        assert "metrics on" not in broker.output()


def test_two_brokers_do_not_share_a_port_for_metrics(tmp_path: Path) -> None:
    with LiveBroker(tmp_path / "one", settings={"metrics.port": "0"}) as broker:
        port = metrics_address(broker).removeprefix("http://127.0.0.1:").removesuffix("/metrics")

        refused = Riverlog(broker.bootstrap)(
            "up", "--port", "0", "--data", str(tmp_path / "two"), "--set", f"metrics.port={port}", expect=1
        )

        assert (
            f"riverlog: cannot serve metrics on 127.0.0.1:{port} (metrics.host, metrics.port): "
            in refused.err
        )
        assert not (tmp_path / "two").exists()
