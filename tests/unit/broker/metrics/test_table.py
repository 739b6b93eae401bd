"""The metrics of a broker without sockets: each is told, and tells what was done."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from riverlog.broker.metrics.counters import Traffic
from riverlog.broker.metrics.scrape import Sources
from riverlog.broker.metrics.table import SECTIONS, TABLE, metrics_text
from riverlog.broker.request_memory import RequestMemory
from riverlog.errors import StorageError
from riverlog.protocol import messages
from riverlog.types import TopicPartition
from tests.prometheus_text import Metrics, parse
from tests.unit.broker.apis.asking import AskedBroker, metadata_of

RETENTION_MS = 1_000_000


def listeners() -> Any:
    traffic = Traffic()
    traffic.received_bytes, traffic.sent_bytes = 1000, 2000
    traffic.rejected_requests, traffic.failed_requests = 1, 2
    return SimpleNamespace(connection_count=3, connections_accepted=5, connections_refused=4, traffic=traffic)


def scraped(asked: AskedBroker) -> Metrics:
    sources = Sources(asked.broker, listeners(), RequestMemory(1 << 20), 1_700_000_000.5)
    return parse("".join(metrics_text(sources)))


@pytest.fixture
def asked(tmp_path: Path) -> Any:
    asked = AskedBroker(tmp_path, "offsets.topic.num.partitions=1", "durability=page-cache")
    yield asked
    asked.close()


def commit(asked: AskedBroker, group: str, offset: int, topic: str = "orders", partition: int = 0) -> None:
    request = messages.OffsetCommitRequest(
        group_id=group,
        topics=[
            messages.OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    messages.OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
                ],
            )
        ],
    )
    (topic_reply,) = asked.ask(request, version=8).topics
    assert topic_reply.partitions[0].error_code == 0


def test_names_are_told_once_and_in_one_manner() -> None:
    names = [family.name for family, _ in TABLE]

    assert len(set(names)) == len(names)
    assert all(name.startswith(("riverlog_", "process_")) for name in names)
    assert all(family.meaning.endswith(".") for family, _ in TABLE)
    assert sum(map(len, SECTIONS.values())) == len(TABLE)


def test_every_metric_is_told_once_there_is_something_to_tell(asked: AskedBroker) -> None:
    asked.topic("orders")
    commit(asked, "slow", 0)
    asked.ask(messages.ListGroupsRequest())
    asked.ask(messages.DescribeLogDirsRequest())
    asked.broker.counters.of(0).note_error(3)
    asked.broker.counters.of(0).requests += 1

    metrics = scraped(asked)

    assert metrics.keys() == {family.name for family, _ in TABLE}
    for family, _ in TABLE:
        told = metrics[family.name]
        assert (told.kind, told.meaning) == (family.kind, family.meaning)
        label_names = {name for _, labels in told.samples for name, _ in labels} - {"le"}
        assert label_names == set(family.label_names), family.name


def test_connections_and_the_process_are_told(asked: AskedBroker) -> None:
    metrics = scraped(asked)

    assert metrics.value("riverlog_connections") == 3
    assert metrics.value("riverlog_connections_accepted_total") == 5
    assert metrics.value("riverlog_connections_refused_total") == 4
    assert metrics.value("riverlog_received_bytes_total") == 1000
    assert metrics.value("riverlog_sent_bytes_total") == 2000
    assert metrics.value("riverlog_requests_rejected_total") == 1
    assert metrics.value("riverlog_requests_failed_total") == 2
    assert metrics.value("riverlog_request_memory_bytes") == 0
    assert metrics.value("riverlog_request_memory_limit_bytes") == 1 << 20
    assert metrics.value("process_start_time_seconds") == 1_700_000_000.5
    assert (metrics.value("process_open_fds") or 0) > 3
    assert (metrics.value("process_cpu_seconds_total") or 0) > 0


def test_requests_are_counted_by_api_and_errors_by_name(asked: AskedBroker) -> None:
    asked.topic("orders")
    for _ in range(3):
        asked.ask(metadata_of("orders"))
    asked.ask(messages.FindCoordinatorRequest(key_type=7, coordinator_keys=["x"]))
    asked.ask(messages.HeartbeatRequest(group_id="nobody", generation_id=1, member_id="me"))

    metrics = scraped(asked)

    assert metrics.value("riverlog_requests_total", api="Metadata") == 3
    assert metrics.value("riverlog_requests_total", api="Heartbeat") == 1
    assert metrics.value("riverlog_request_seconds_count", api="Metadata") == 1
    assert metrics.value("riverlog_request_errors_total", api="Heartbeat", error="UNKNOWN_MEMBER_ID") == 1
    assert metrics.value("riverlog_request_errors_total", api="Metadata", error="NONE") is None


def test_partitions_are_told_as_they_stand(asked: AskedBroker) -> None:
    asked.topic("orders", 2)
    asked.append("orders", 3)
    asked.append("orders", 2, index=1)
    log = asked.log("orders")
    log.delete_records_before(1)

    metrics = scraped(asked)

    place = {"topic": "orders", "partition": 0}
    assert metrics.value("riverlog_partition_start_offset", **place) == 1
    assert metrics.value("riverlog_partition_end_offset", **place) == 3
    assert metrics.value("riverlog_partition_high_watermark", **place) == 3
    assert metrics.value("riverlog_partition_segments", **place) == 1
    assert metrics.value("riverlog_partition_size_bytes", **place) == log.size > 0
    assert metrics.value("riverlog_topic_written_records_total", topic="orders") == 5
    assert metrics.value("riverlog_topic_written_bytes_total", topic="orders") == sum(
        asked.log("orders", index).size for index in (0, 1)
    )
    assert metrics.value("riverlog_partitions") == 2
    assert metrics.value("riverlog_topics") == 1
    assert metrics.value("riverlog_partitions_offline") == 0


def test_partitions_that_are_out_of_order_are_counted(asked: AskedBroker) -> None:
    asked.topic("orders", 2)
    asked.log("orders", 1).fail(StorageError("the disk is gone"))
    asked.broker.logs.failed[TopicPartition("broken", 0)] = StorageError("it cannot be opened")

    metrics = scraped(asked)

    assert metrics.value("riverlog_partitions_offline") == 2
    assert metrics.value("riverlog_partitions") == 3
    assert metrics.value("riverlog_topics") == 2


def test_the_lag_of_groups_is_told(asked: AskedBroker) -> None:
    asked.topic("orders", retention_ms="-1")
    asked.append("orders", 10)
    asked.log("orders").delete_records_before(2)
    commit(asked, "quick", 10)
    commit(asked, "slow", 4)
    commit(asked, "lost", 1)

    metrics = scraped(asked)

    def told(name: str, group: str) -> float | None:
        return metrics.value(f"riverlog_group_{name}", group=group, topic="orders", partition=0)

    assert [told("committed_offset", group) for group in ("quick", "slow", "lost")] == [10, 4, 1]
    assert [told("lag", group) for group in ("quick", "slow", "lost")] == [0, 6, 9]
    assert [told("headroom", group) for group in ("quick", "slow", "lost")] == [8, 2, 0]
    assert [told("lost_offsets", group) for group in ("quick", "slow", "lost")] == [0, 0, 1]
    assert [told("at_risk", group) for group in ("quick", "slow", "lost")] == [0, 0, 1]
    assert [told("retention_left_ratio", group) for group in ("quick", "slow", "lost")] == [1, 1, 0]
    assert metrics.value("riverlog_groups", type="classic", state="Empty") == 3
    assert metrics.value("riverlog_group_members", group="slow") == 0


def test_what_little_is_left_of_the_retention_is_told(asked: AskedBroker) -> None:
    asked.topic("orders", retention_ms=str(RETENTION_MS))
    # Records of long ago: their time is over.
    asked.append("orders", 3)
    commit(asked, "slow", 1)

    metrics = scraped(asked)

    pair = {"group": "slow", "topic": "orders", "partition": 0}
    assert metrics.value("riverlog_group_at_risk", **pair) == 1
    assert metrics.value("riverlog_group_retention_left_ratio", **pair) == 0


def test_a_commit_for_a_partition_that_is_not_here_has_no_lag(asked: AskedBroker) -> None:
    asked.topic("orders")
    commit(asked, "slow", 0)
    log = asked.log("orders")
    asked.broker.partitions.remove_topic("orders", log.topic_id)

    metrics = scraped(asked)

    pair = {"group": "slow", "topic": "orders", "partition": 0}
    assert metrics.value("riverlog_group_committed_offset", **pair) == 0
    assert metrics.value("riverlog_group_lag", **pair) is None


def test_there_is_a_bound_to_what_has_metrics_of_its_own(tmp_path: Path) -> None:
    flags = ("metrics.series.max=2", "offsets.topic.num.partitions=1", "durability=page-cache")
    asked = AskedBroker(tmp_path, *flags)
    try:
        for topic in ("one", "two", "orders"):
            asked.topic(topic, retention_ms=str(RETENTION_MS))
        asked.append("orders", 3)
        for group in ("a", "b", "c"):
            commit(asked, group, 3)
        commit(asked, "slow", 1)
        for _ in asked.broker.lag.housekeeping():
            pass

        metrics = scraped(asked)
    finally:
        asked.close()

    assert len(metrics["riverlog_partition_end_offset"].samples) == 2
    assert len(metrics["riverlog_topic_written_bytes_total"].samples) == 2
    assert len(metrics["riverlog_group_members"].samples) == 2
    assert len(metrics["riverlog_group_lag"].samples) == 2
    omitted = {
        what: metrics.value("riverlog_metrics_omitted", what=what)
        for what in ("topics", "partitions", "groups", "group_partitions")
    }
    # The offsets topic is a fourth one.
    assert omitted == {"topics": 2, "partitions": 2, "groups": 2, "group_partitions": 2}
    assert metrics.value("riverlog_groups", type="classic", state="Empty") == 4
    # Whoever is at risk comes first, though it came last.
    assert metrics.value("riverlog_group_at_risk", group="slow", topic="orders", partition=0) == 1


def test_reading_is_cut_into_short_steps(asked: AskedBroker) -> None:
    asked.topic("orders", 300)
    for number in range(5):
        commit(asked, f"group-{number}", 0)

    sources = Sources(asked.broker, listeners(), RequestMemory(1 << 20), 0.0)
    pieces = list(metrics_text(sources))

    assert pieces.count("") >= 300 // 64 + 5
    assert max(piece.count("\n") for piece in pieces) <= 66
