"""Apache Kafka's command line tools for groups, transactions, settings and the cluster.

What riverlog lacks is refused in words, at once: the tools' own habit of printing a stack of calls after
each refusal is the same with Apache Kafka.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from tests import kafka_jars
from tests.batch_builders import batch
from tests.live_broker import LiveBroker
from tests.process.raw_client import RawClient

from .drivers import DEADLINE_S, Message, await_that
from .drivers.librdkafka import Librdkafka

pytestmark = pytest.mark.java

Tool = Callable[..., str]


def rows(printed: str) -> list[dict[str, str]]:
    """Read a printed table: a line of capitals, or of words in columns, and the lines below it."""
    lines = [line.split() for line in printed.splitlines() if line.strip()]
    names, *values = lines
    return [dict(zip(names, line, strict=False)) for line in values]


@pytest.fixture
def filled(new_topic: Callable[..., str], witness: Librdkafka) -> str:
    """A topic with ten records in each of two partitions."""
    topic = new_topic(partitions=2)
    for partition in range(2):
        witness.produce(topic, [Message(value=b"%d" % n) for n in range(10)], partition=partition)
    return topic


@pytest.fixture
def empty_group(filled: str, witness: Librdkafka) -> str:
    """A group that has read everything, and has no members."""
    group = f"empty-{filled}"
    witness.consume_in_group(filled, group, 20)
    return group


@pytest.fixture
def live_group(bootstrap: str, filled: str) -> Iterator[str]:
    """A group with a static member that has read everything."""
    group = f"live-{filled}"
    member = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "group.instance.id": "instance",
            "client.id": "reader",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    member.subscribe([filled])
    assert len(member.consume(20, DEADLINE_S)) == 20
    member.commit(asynchronous=False)
    yield group
    member.close()


# Groups


def test_groups_are_listed_with_state_and_type(kafka_tool: Tool, live_group: str, empty_group: str) -> None:
    states = rows(kafka_tool("kafka-consumer-groups", "--list", "--state"))
    types = rows(kafka_tool("kafka-groups", "--list"))

    assert {"GROUP": live_group, "STATE": "Stable"} in states
    assert {"GROUP": empty_group, "STATE": "Empty"} in states
    for group in (live_group, empty_group):
        assert {"GROUP": group, "TYPE": "Classic", "PROTOCOL": "consumer"} in types


def test_a_live_group_is_described_with_its_members(kafka_tool: Tool, filled: str, live_group: str) -> None:
    describe = ("kafka-consumer-groups", "--describe", "--group", live_group)

    places = rows(kafka_tool(*describe, "--offsets", "--verbose"))
    (member,) = rows(kafka_tool(*describe, "--members", "--verbose"))
    state = kafka_tool(*describe, "--state").split()

    assert [(place["PARTITION"], place["CURRENT-OFFSET"], place["LAG"]) for place in places] == [
        ("0", "10", "0"),
        ("1", "10", "0"),
    ]
    assert {(place["CLIENT-ID"], place["LEADER-EPOCH"]) for place in places} == {("reader", "0")}
    assert (member["GROUP-INSTANCE-ID"], member["#PARTITIONS"]) == ("instance", "2")
    assert member["CURRENT-ASSIGNMENT"] == f"{filled}:0,1"
    assert state[-3:] == ["range", "Stable", "1"]


def test_offsets_are_reset_once_nobody_reads_and_never_by_a_rehearsal(
    kafka_tool: Tool, filled: str, live_group: str, empty_group: str, witness: Librdkafka
) -> None:
    reset = ("kafka-consumer-groups", "--reset-offsets", "--topic", filled)

    rehearsed = rows(kafka_tool(*reset, "--group", empty_group, "--to-earliest", "--dry-run"))
    done = rows(kafka_tool(*reset, "--group", empty_group, "--shift-by", "-3", "--execute"))
    refused = kafka_tool(*reset, "--group", live_group, "--to-earliest", "--execute")
    read = witness.consume_in_group(filled, empty_group, 6)

    assert {row["NEW-OFFSET"] for row in rehearsed} == {"0"}
    assert {row["NEW-OFFSET"] for row in done} == {"7"}
    assert sorted((record.partition, record.offset) for record in read) == [
        (partition, offset) for partition in range(2) for offset in (7, 8, 9)
    ]
    assert (
        f"only be reset if the group '{live_group}' is inactive, but the current state is Stable" in refused
    )


def test_offsets_and_groups_are_deleted_once_nobody_reads(
    kafka_tool: Tool, filled: str, live_group: str, empty_group: str
) -> None:
    forget = ("kafka-consumer-groups", "--delete-offsets", "--topic", filled)

    forgotten = kafka_tool(*forget, "--group", empty_group)
    kept = kafka_tool(*forget, "--group", live_group)
    deleted = kafka_tool(
        *("kafka-consumer-groups", "--delete", "--group", empty_group, "--group", live_group),
        *("--group", "nobody"),
    )

    assert len(re.findall(rf"^{filled} +[01] +Successful", forgotten, re.MULTILINE)) == 2
    assert kept.count("GroupSubscribedToTopicException") == 2
    assert f"Group '{live_group}' could not be deleted due to: " in deleted
    assert "GroupNotEmptyException" in deleted
    assert re.search("Group 'nobody' could not be deleted due to: .*GroupIdNotFoundException", deleted)
    assert re.search(rf"successful.*'{empty_group}'", deleted)


def test_a_group_that_is_not_there_is_called_so(kafka_tool: Tool) -> None:
    printed = kafka_tool("kafka-consumer-groups", "--describe", "--group", "nobody")

    assert re.search("GroupIdNotFoundException: .*nobody", printed.strip().splitlines()[0])


# Transactions


def test_an_open_transaction_is_found_and_ended_by_force(
    bootstrap: str, kafka_tool: Tool, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()
    name = f"id-of-{topic}"
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
    producer.init_transactions(DEADLINE_S)
    producer.begin_transaction()
    producer.produce(topic, b"left open", partition=0)
    producer.flush(DEADLINE_S)

    def is_aborted() -> bool:
        listed = rows(kafka_tool("kafka-transactions", "list"))
        (state,) = [row["TransactionState"] for row in listed if row["TransactionalId"] == name]
        return state in ("CompleteAbort", "Empty")

    (described,) = rows(kafka_tool("kafka-transactions", "describe", "--transactional-id", name))
    kafka_tool("kafka-transactions", "forceTerminateTransaction", "--transactionalId", name)
    missing = kafka_tool("kafka-transactions", "describe", "--transactional-id", "nobody", expected_code=1)

    assert (described["TransactionState"], described["TopicPartitions"]) == ("Ongoing", f"{topic}-0")
    await_that(is_aborted, "the transaction is aborted")
    assert "`nobody` failed because the ID could not be found" in missing


@pytest.fixture
def credulous(tmp_path: Path) -> Iterator[LiveBroker]:
    """A broker that lets transactions begin behind their coordinator's back, as older ones did."""
    settings = {"transaction.partition.verification.enable": "false"}
    with LiveBroker(tmp_path / "data", settings=settings) as broker:
        yield broker


def test_a_transaction_that_no_coordinator_knows_is_found_and_aborted(
    kafka_jars_present: Path, credulous: LiveBroker
) -> None:
    with RawClient(credulous.bootstrap) as client:
        client.create_topic("t")
        client.produce("t", 0, batch(producer_id=7, producer_epoch=3, base_sequence=0, is_transactional=True))

    def transactions(*arguments: str) -> str:
        return kafka_jars.tool("kafka-transactions", "--bootstrap-server", credulous.bootstrap, *arguments)

    (found,) = rows(transactions("find-hanging", "--topic", "t", "--max-transaction-timeout", "0"))
    transactions("abort", "--topic", "t", "--partition", "0", "--start-offset", "0")
    left = rows(transactions("find-hanging", "--broker-id", "1", "--max-transaction-timeout", "0"))

    told = [found[name] for name in ("Topic", "Partition", "ProducerId", "ProducerEpoch", "StartOffset")]
    assert told == ["t", "0", "7", "3", "0"]
    assert left == []


# Settings and the cluster


def test_defaults_of_all_brokers_are_altered_and_taken_back(kafka_tool: Tool) -> None:
    of_all = ("kafka-configs", "--entity-type", "brokers", "--entity-default")

    kafka_tool(*of_all, "--alter", "--add-config", "log.retention.ms=7654321")
    changed = kafka_tool(*of_all, "--describe")
    kafka_tool(*of_all, "--alter", "--delete-config", "log.retention.ms")
    restored = kafka_tool(*of_all, "--describe")

    assert "log.retention.ms=7654321 sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:log" in changed
    assert "log.retention.ms" not in restored


def test_settings_that_cannot_be_are_refused_with_what_can(kafka_tool: Tool, filled: str) -> None:
    of_topic = ("kafka-configs", "--entity-type", "topics", "--entity-name")

    unknown = kafka_tool(*of_topic, filled, "--alter", "--add-config", "bogus=1", expected_code=1)
    wrong = kafka_tool(*of_topic, filled, "--alter", "--add-config", "retention.ms=abc", expected_code=1)
    nowhere = kafka_tool(*of_topic, "nowhere", "--describe")

    assert "InvalidConfigurationException: bogus='1' is not accepted" in unknown
    assert "retention.ms='abc' is not accepted: expected a whole number" in wrong
    assert "The topic 'nowhere' doesn't exist" in nowhere


def test_a_group_has_the_settings_of_all_groups_and_may_have_its_own(
    kafka_tool: Tool, empty_group: str
) -> None:
    of_group = ("kafka-configs", "--entity-type", "groups", "--entity-name", empty_group)

    described = kafka_tool(*of_group, "--describe", "--all")
    kafka_tool(*of_group, "--alter", "--add-config", "consumer.session.timeout.ms=50000")
    its_own = kafka_tool(*of_group, "--describe")
    refused = kafka_tool(
        *of_group, "--alter", "--add-config", "consumer.session.timeout.ms=5", expected_code=1
    )

    assert "consumer.session.timeout.ms=45000 sensitive=false synonyms={DEFAULT_CONFIG:group.con" in described
    assert "consumer.session.timeout.ms=50000 sensitive=false synonyms={DYNAMIC_GROUP_CONFIG:con" in its_own
    assert "group.consumer.min.session.timeout.ms, which is 45000" in refused


def test_the_cluster_tells_who_and_what_it_is(
    kafka_tool: Tool, kafka_jars_present: Path, bootstrap: str, witness: Librdkafka, filled: str
) -> None:
    seen = witness.cluster()

    features = kafka_tool("kafka-features", "describe")
    quorum = kafka_tool("kafka-metadata-quorum", "describe", "--status")
    (endpoint,) = rows(kafka_jars.tool("kafka-cluster", "list-endpoints", "--bootstrap-server", bootstrap))
    elected = kafka_tool(
        *("kafka-leader-election", "--election-type", "preferred", "--topic", filled, "--partition", "0")
    )
    offsets = kafka_tool("kafka-get-offsets", "--exclude-internal-topics").splitlines()

    assert re.search(r"Feature: transaction\.version\s+.*FinalizedVersionLevel: 2\b", features)
    assert re.search(rf"ClusterId: +{seen.cluster_id}\n", quorum)
    assert (endpoint["ID"], endpoint["STATE"]) == (str(seen.controller_id), "unfenced")
    assert f"Valid replica already elected for partitions {filled}-0" in elected
    assert {f"{filled}:0:10", f"{filled}:1:10"} <= set(offsets)
    assert not any(line.startswith("__") for line in offsets)


def test_limits_of_clients_and_credentials_of_users_are_kept_and_told(
    kafka_tool: Tool, topic_name: Callable[[], str]
) -> None:
    name = topic_name()
    of_client = ("kafka-configs", "--entity-type", "clients", "--entity-name", name)
    of_user = ("kafka-configs", "--entity-type", "users", "--entity-name", name)

    kafka_tool(*of_client, "--alter", "--add-config", "producer_byte_rate=1000")
    limits = kafka_tool(*of_client, "--describe")
    kafka_tool(*of_user, "--alter", "--add-config", "SCRAM-SHA-256=[password=secret]")
    credentials = kafka_tool(*of_user, "--describe")

    assert f"Quota configs for client-id '{name}' are producer_byte_rate=1000.0" in limits
    assert (
        f"SCRAM credential configs for user-principal '{name}' are SCRAM-SHA-256=iterations=4096"
        in credentials
    )
    assert "secret" not in credentials


def test_subscriptions_to_the_metrics_of_clients_are_kept_and_told(
    kafka_tool: Tool, topic_name: Callable[[], str]
) -> None:
    name = topic_name()

    kafka_tool("kafka-client-metrics", "--alter", "--name", name, "--interval", "1000")
    told = kafka_tool("kafka-client-metrics", "--describe", "--name", name)
    kafka_tool("kafka-client-metrics", "--delete", "--name", name)

    assert "interval.ms=1000" in told
    assert name not in kafka_tool("kafka-client-metrics", "--list")


LACKING = {
    "streams groups": (
        ("kafka-streams-groups", "--describe", "--group", "g"),
        1,
        "The node does not support STREAMS_GROUP_DESCRIBE",
    ),
    "share groups": (
        ("kafka-share-groups", "--describe", "--group", "g"),
        0,
        "The node does not support SHARE_GROUP_DESCRIBE",
    ),
    "raising features": (
        ("kafka-features", "upgrade", "--feature", "group.version=7"),
        1,
        "Could not upgrade group.version to 7. group.version is at level 1, which comes with the program",
    ),
    "levels of loggers": (
        (
            *("kafka-configs", "--alter", "--entity-type", "broker-loggers", "--entity-name", "1"),
            *("--add-config", "riverlog=DEBUG"),
        ),
        1,
        "the levels of loggers cannot be seen or changed while the broker runs",
    ),
}
"""What to ask a tool for, the code that it ends with, and what it says."""


@pytest.mark.parametrize("lacking", LACKING)
def test_what_is_lacking_is_refused_in_words(kafka_tool: Tool, lacking: str) -> None:
    command, code, words = LACKING[lacking]

    printed = kafka_tool(*command, expected_code=code)

    assert words in printed
