"""Apache Kafka's own command line tools, with the newest protocol versions of all clients here.

Each run of a tool starts a JVM, which takes a second: several claims share a run where they are one story.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import kafka_jars

from .drivers import CODECS, Message
from .drivers.librdkafka import Librdkafka
from .faults import PRODUCE, LossyProxy
from .wire import stored_batches

pytestmark = pytest.mark.java

T0 = 1_700_000_000_000

# What every client needs, and the core of what administrators do.
NEEDED_APIS = {
    *("Produce", "Fetch", "ListOffsets", "Metadata", "ApiVersions", "InitProducerId", "OffsetForLeaderEpoch"),
    *("CreateTopics", "DeleteTopics", "DeleteRecords", "CreatePartitions", "DescribeConfigs", "AlterConfigs"),
    *("IncrementalAlterConfigs", "DescribeCluster", "DescribeTopicPartitions", "DescribeLogDirs"),
}


def numbered(count: int) -> list[Message]:
    return [Message(key=b"k", value=str(n).encode(), timestamp=T0 + 1000 * n) for n in range(count)]


def test_broker_api_versions_finds_every_needed_api_usable(kafka_tool: Callable[..., str]) -> None:
    printed = kafka_tool("kafka-broker-api-versions")

    usable = set(re.findall(r"(\w+)\(\d+\): [\d to]+ \[usable: \d+\]", printed))
    assert usable >= NEEDED_APIS
    # librdkafka stops compressing unless the oldest versions are said to be there
    assert re.search(r"Produce\(0\): 0 to 13 \[usable: 13\]", printed)
    assert re.search(r"Fetch\(1\): 4 to 18 \[usable: 18\]", printed)


def test_topics_creates_grows_describes_lists_and_deletes(
    kafka_tool: Callable[..., str], topic_name: Callable[[], str]
) -> None:
    topic = topic_name()

    kafka_tool(
        "kafka-topics", "--create", "--topic", topic, "--partitions", "2", "--config", "retention.ms=100000"
    )
    kafka_tool("kafka-topics", "--alter", "--topic", topic, "--partitions", "5")
    described = kafka_tool("kafka-topics", "--describe", "--topic", topic)
    listed = kafka_tool("kafka-topics", "--list")
    kafka_tool("kafka-topics", "--delete", "--topic", topic)
    refused = kafka_tool("kafka-topics", "--describe", "--topic", topic, expected_code=1)

    assert re.search(
        rf"Topic: {topic}\tTopicId: [\w-]{{22}}\tPartitionCount: 5\tReplicationFactor: 1\t", described
    )
    assert "retention.ms=100000" in described
    assert (
        len(re.findall(rf"Topic: {topic}\tPartition: \d\tLeader: (\d+)\tReplicas: \1\tIsr: \1\t", described))
        == 5
    )
    assert topic in listed.splitlines()
    assert f"Topic '{topic}' does not exist as expected" in refused


def test_topics_says_why_it_is_refused(kafka_tool: Callable[..., str], new_topic: Callable[..., str]) -> None:
    topic = new_topic()

    printed = kafka_tool("kafka-topics", "--create", "--topic", topic, expected_code=1)

    assert "TopicExistsException" in printed


def test_configs_of_a_topic_change_and_return_to_their_defaults(
    kafka_tool: Callable[..., str], new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    of_topic = ("--entity-type", "topics", "--entity-name", topic)

    kafka_tool(
        "kafka-configs",
        *of_topic,
        "--alter",
        "--add-config",
        "retention.ms=1234567,cleanup.policy=[compact,delete]",
    )
    changed = kafka_tool("kafka-configs", *of_topic, "--describe")
    kafka_tool("kafka-configs", *of_topic, "--alter", "--delete-config", "retention.ms")
    everything = kafka_tool("kafka-configs", *of_topic, "--describe", "--all")

    assert (
        "retention.ms=1234567 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=1234567" in changed
    )
    assert "cleanup.policy=compact,delete sensitive=false" in changed
    assert len(changed.strip().splitlines()) == 3
    values = dict(re.findall(r"^ +([\w.]+)=(\S+) sensitive", everything, re.MULTILINE))
    assert values["retention.ms"] == "604800000"
    assert values["cleanup.policy"] == "compact,delete"
    assert values["max.message.bytes"] == "1048588"
    assert {"segment.bytes", "compression.type", "min.insync.replicas", "message.timestamp.type"} <= set(
        values
    )


def test_configs_of_a_broker_change_and_return_to_their_defaults(
    kafka_tool: Callable[..., str], witness: Librdkafka
) -> None:
    broker = str(witness.cluster().broker_ids[0])
    of_broker = ("--entity-type", "brokers", "--entity-name", broker)

    kafka_tool("kafka-configs", *of_broker, "--alter", "--add-config", "message.max.bytes=2000000")
    changed = kafka_tool("kafka-configs", *of_broker, "--describe")
    kafka_tool("kafka-configs", *of_broker, "--alter", "--delete-config", "message.max.bytes")
    everything = kafka_tool("kafka-configs", *of_broker, "--describe", "--all")

    assert (
        "message.max.bytes=2000000 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:message.max.bytes=2000000"
        in changed
    )
    assert "message.max.bytes=1048588 sensitive=false" in everything
    assert "num.partitions=3 sensitive=false" in everything


def test_the_console_producer_s_records_are_read_by_the_console_consumer(
    kafka_tool: Callable[..., str], new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    lines = "a:1,b:2\tkey\tvalue\nNULL\tkey\tNULL\nNULL\tNULL\tno key\n"

    kafka_tool(
        *("kafka-console-producer", "--topic", topic, "--compression-codec", "zstd"),
        *("--reader-property", "parse.key=true", "--reader-property", "parse.headers=true"),
        *("--reader-property", "null.marker=NULL"),
        stdin=lines,
    )
    printed = kafka_tool(
        *("kafka-console-consumer", "--topic", topic, "--partition", "0", "--offset", "earliest"),
        *("--max-messages", "3", "--timeout-ms", "20000"),
        *("--formatter-property", "print.key=true", "--formatter-property", "print.headers=true"),
        *("--formatter-property", "print.offset=true", "--formatter-property", "null.literal=NULL"),
    )
    read = witness.consume(topic, 0, 3)

    assert [line for line in printed.splitlines() if line.startswith("Offset:")] == [
        "Offset:0\ta:1,b:2\tkey\tvalue",
        "Offset:1\tNO_HEADERS\tkey\tNULL",
        "Offset:2\tNO_HEADERS\tNULL\tno key",
    ]
    assert [(record.key, record.value, record.headers) for record in read] == [
        (b"key", b"value", (("a", b"1"), ("b", b"2"))),
        (b"key", None, ()),
        (None, b"no key", ()),
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_the_producer_perf_test_stores_every_record_compressed(
    codec: str,
    kafka_tool: Callable[..., str],
    new_topic: Callable[..., str],
    bootstrap: str,
    witness: Librdkafka,
) -> None:
    topic = new_topic()

    printed = kafka_tool(
        *("kafka-producer-perf-test", "--topic", topic, "--num-records", "5000", "--record-size", "100"),
        *("--throughput", "-1", "--command-property", f"compression.type={codec}", "acks=all"),
    )
    read = witness.consume(topic, 0, 5000)

    assert "5000 records sent" in printed
    assert {len(record.value or b"") for record in read} == {100}
    assert {batch.codec for batch in stored_batches(bootstrap, topic)} == {codec}
    assert witness.offset_range(topic, 0) == (0, 5000)


def test_java_s_idempotent_producer_survives_lost_answers(
    kafka_jars_present: Path, lossy: LossyProxy, new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    lossy.lose_answers(PRODUCE, 3)

    kafka_jars.tool(
        *("kafka-console-producer", "--bootstrap-server", lossy.bootstrap, "--topic", topic),
        *("--command-property", "enable.idempotence=true", "--message-send-max-retries", "100"),
        *("--batch-size", "200", "--request-timeout-ms", "10000"),
        stdin="".join(f"{n:050d}\n" for n in range(200)),
    )
    read = witness.consume(topic, 0, 200)

    assert lossy.lost[PRODUCE] == 3
    assert [int(record.value or b"") for record in read] == list(range(200))
    assert witness.offset_range(topic, 0) == (0, 200)


def test_a_too_large_message_is_reported_by_its_name(
    kafka_tool: Callable[..., str], new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic(max_message_bytes="10000")

    # one at a time: Java's producer would split a batch of several in halves, and try again
    printed = kafka_tool(
        "kafka-console-producer", "--topic", topic, "--sync", stdin="x" * 20_000, expected_code=1
    )

    assert "RecordTooLargeException" in printed
    assert witness.offset_range(topic, 0) == (0, 0)


@pytest.mark.parametrize(
    ("time", "lines"),
    [
        ("-1", ["{topic}:0:6", "{topic}:1:0"]),
        ("-2", ["{topic}:0:2", "{topic}:1:0"]),
        ("-3", ["{topic}:0:5"]),
        (str(T0 + 3500), ["{topic}:0:4"]),
    ],
    ids=["latest", "earliest", "youngest", "at a time"],
)
def test_get_offsets_finds_offsets_by_name_and_by_time(
    time: str,
    lines: list[str],
    kafka_tool: Callable[..., str],
    new_topic: Callable[..., str],
    witness: Librdkafka,
) -> None:
    topic = new_topic(partitions=2)
    witness.produce(topic, numbered(6), partition=0)
    witness.delete_records(topic, 0, 2)

    printed = kafka_tool("kafka-get-offsets", "--topic", topic, "--time", time)

    assert printed.splitlines() == [line.format(topic=topic) for line in lines]


def test_delete_records_reports_the_new_start(
    kafka_tool: Callable[..., str], new_topic: Callable[..., str], witness: Librdkafka, tmp_path: Path
) -> None:
    topic = new_topic(partitions=2)
    for partition in range(2):
        witness.produce(topic, numbered(10), partition=partition)
    wanted = tmp_path / "offsets.json"
    partitions = [
        {"topic": topic, "partition": 0, "offset": 4},
        {"topic": topic, "partition": 1, "offset": -1},
    ]
    wanted.write_text(json.dumps({"version": 1, "partitions": partitions}))

    printed = kafka_tool("kafka-delete-records", "--offset-json-file", str(wanted))

    assert f"partition: {topic}-0\tlow_watermark: 4" in printed
    assert f"partition: {topic}-1\tlow_watermark: 10" in printed
    assert [witness.offset_range(topic, partition) for partition in range(2)] == [(4, 10), (10, 10)]


def test_log_dirs_shows_each_partition_s_size(
    kafka_tool: Callable[..., str], new_topic: Callable[..., str], bootstrap: str, witness: Librdkafka
) -> None:
    topic = new_topic(partitions=2)
    witness.produce(topic, numbered(10), partition=1)
    stored = sum(batch.length for batch in stored_batches(bootstrap, topic, 1))

    printed = kafka_tool("kafka-log-dirs", "--describe", "--topic-list", topic)

    (line,) = [line for line in printed.splitlines() if line.startswith("{")]
    (broker,) = json.loads(line)["brokers"]
    directories = broker["logDirs"]
    sizes = {one["partition"]: one["size"] for directory in directories for one in directory["partitions"]}
    assert [directory["error"] for directory in directories] == [None] * len(directories)
    assert sizes == {f"{topic}-0": 0, f"{topic}-1": stored}


def test_a_console_consumer_below_the_log_start_is_sent_to_the_earliest(
    kafka_tool: Callable[..., str], new_topic: Callable[..., str], witness: Librdkafka
) -> None:
    topic = new_topic()
    witness.produce(topic, numbered(5), partition=0)
    witness.delete_records(topic, 0, 3)

    printed = kafka_tool(
        *("kafka-console-consumer", "--topic", topic, "--partition", "0", "--offset", "1"),
        *("--max-messages", "2", "--timeout-ms", "20000", "--command-property", "auto.offset.reset=earliest"),
    )

    assert [line for line in printed.splitlines() if line.isdigit()] == ["3", "4"]
