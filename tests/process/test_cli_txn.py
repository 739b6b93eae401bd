"""`riverlog txn` against a running broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from tests.process.command import Riverlog

TIMEOUT_S = 20.0


@pytest.fixture
def open_transaction(bootstrap: str, topic: str) -> Iterator[Callable[[], str]]:
    """Begin a transaction with one record in the topic; give its transactional id."""
    producers = []

    def begin() -> str:
        transactional_id = f"id-of-{topic}"
        producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id})
        producer.init_transactions(TIMEOUT_S)
        producer.begin_transaction()
        producer.produce(topic, b"x")
        producer.flush(TIMEOUT_S)
        producers.append(producer)
        return transactional_id

    yield begin
    for producer in producers:
        producer.abort_transaction(TIMEOUT_S)


def test_an_open_transaction_is_listed_and_described(
    riverlog: Riverlog, topic: str, open_transaction: Callable[[], str]
) -> None:
    transactional_id = open_transaction()

    listed = riverlog("txn", "list", "--state", "Ongoing", "--json").objects
    (described,) = riverlog("txn", "describe", transactional_id, "--json").objects
    heading, row = riverlog("txn", "describe", transactional_id).lines

    assert transactional_id in [each["transactional_id"] for each in listed]
    assert {each["state"] for each in listed} == {"Ongoing"}
    assert (described["state"], described["partitions"]) == ("Ongoing", {topic: [0]})
    assert heading.split()[:2] == ["transactional", "id"]
    assert row.split()[:2] == [transactional_id, "Ongoing"]
    assert f"{topic}-0" in row


def test_lists_are_filtered_by_producer_and_age(
    riverlog: Riverlog, topic: str, open_transaction: Callable[[], str]
) -> None:
    transactional_id = open_transaction()
    (described,) = riverlog("txn", "describe", transactional_id, "--json").objects
    producer_id = str(described["producer_id"])

    (row,) = riverlog("txn", "list", "--producer-id", producer_id, "--json").objects
    old = riverlog("txn", "list", "--producer-id", producer_id, "--longer-than", "1h").lines

    assert row["transactional_id"] == transactional_id
    assert old == []
    refused = riverlog("txn", "list", "--longer-than", "17", expect=2)
    assert "--longer-than expects an age" in refused.err


def test_producers_of_a_topic_are_shown_with_their_open_transaction(
    riverlog: Riverlog, topic: str, open_transaction: Callable[[], str]
) -> None:
    open_transaction()

    (told,) = riverlog("txn", "producers", topic, "--open", "--json").objects
    heading, row = riverlog("txn", "producers", topic).lines

    assert (told["topic"], told["partition"], told["open_from"]) == (topic, 0, 0)
    assert heading.endswith("open from")
    assert row.split()[-1] == "0"


def test_a_transaction_that_its_coordinator_knows_is_aborted_only_by_force(
    riverlog: Riverlog, topic: str, open_transaction: Callable[[], str]
) -> None:
    transactional_id = open_transaction()
    place = ("txn", "abort", topic, "--partition", "0", "--start-offset", "0")

    refused = riverlog(*place, expect=1)
    tried = riverlog(*place, "--force", "--dry-run")
    still_open = riverlog("txn", "producers", topic, "--open", "--json").objects
    (done,) = riverlog(*place, "--force", "--json").objects

    assert repr(transactional_id) in refused.err
    assert "would be aborted" in tried.text
    assert len(still_open) == 1
    assert (done["aborted"], done["start_offset"]) == (True, 0)
    assert riverlog("txn", "producers", topic, "--open").lines == []


def test_what_is_not_there_is_refused_by_name(riverlog: Riverlog, topic: str) -> None:
    unknown = riverlog("txn", "describe", "no-such-id", expect=1)
    nothing = riverlog("txn", "abort", topic, "-p", "0", "--start-offset", "7", expect=1)
    no_topic = riverlog("txn", "producers", "no-such-topic", expect=1)
    encrypted = riverlog("txn", "list", "-X", "security.protocol=SSL", expect=1)

    assert "'no-such-id'" in unknown.err
    assert "TRANSACTIONAL_ID_NOT_FOUND" in unknown.err
    assert "no open transaction begins at offset 7" in nothing.err
    assert "'no-such-topic'" in no_topic.err
    assert "plain text only" in encrypted.err
