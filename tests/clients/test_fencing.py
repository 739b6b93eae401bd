"""Producers whose time is over: fenced by a successor, timed out, or forgotten; as their clients tell it.

The broker under test is an impatient one: it looks for what has timed out or expired all the time, and
forgets a transactional id that nobody has used for a moment.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests import kafka_jars
from tests.absence import stand_down
from tests.committed_reader import committed
from tests.live_broker import LiveBroker
from tests.process.raw_client import RawClient

from .drivers import DEADLINE_S, Message, await_that
from .drivers.librdkafka import QUIET, Librdkafka

SOURCE = Path(__file__).parents[1] / "java" / "Fencing.java"
DESCRIBE_TRANSACTIONS = 65
EXPIRY_MS = 3_000

SETTINGS = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "200",
    "transactional.id.expiration.ms": str(EXPIRY_MS),
    "transaction.state.log.num.partitions": "3",
}


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker that waits for nobody."""
    with LiveBroker(tmp_path_factory.mktemp("impatient") / "data", settings=SETTINGS) as broker:
        yield broker.bootstrap


@pytest.fixture
def topic(impatient: str, topic_name: Callable[[], str]) -> str:
    """A topic of the impatient broker's."""
    name = topic_name()
    Librdkafka(impatient).create_topic(name)
    return name


def producer(bootstrap: str, transactional_id: str, timeout_ms: int = 60_000) -> Producer:
    """A producer of librdkafka's that has its identity."""
    made = Producer(
        {
            **QUIET,
            "bootstrap.servers": bootstrap,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": timeout_ms,
        }
    )
    made.init_transactions(DEADLINE_S)
    return made


def is_known(bootstrap: str, transactional_id: str) -> bool:
    request = messages.DescribeTransactionsRequest(transactional_ids=[transactional_id])
    with RawClient(bootstrap) as client:
        (told,) = client.call(DESCRIBE_TRANSACTIONS, 0, request).transaction_states
    assert told.error_code in (0, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    return not told.error_code


def values(bootstrap: str, topic: str) -> list[bytes]:
    return [record.value for record in committed(bootstrap, topic)]


def test_a_producer_that_falls_silent_holds_nobody_up_for_ever_and_is_fenced(
    impatient: str, topic: str
) -> None:
    silent = producer(impatient, f"id-of-{topic}", timeout_ms=1_000)
    silent.begin_transaction()
    silent.produce(topic, b"never committed")
    silent.flush(DEADLINE_S)
    Librdkafka(impatient).produce(topic, [Message(value=b"afterwards")], partition=0)

    await_that(lambda: values(impatient, topic) == [b"afterwards"], "readers go on")
    with pytest.raises(KafkaException) as refused:
        silent.commit_transaction(DEADLINE_S)

    error = refused.value.args[0]
    assert (error.code(), error.fatal()) == (KafkaError._FENCED, True)
    assert values(impatient, topic) == [b"afterwards"]


def test_a_forgotten_producer_gets_another_identity_and_goes_on(impatient: str, topic: str) -> None:
    name = f"id-of-{topic}"
    idle = producer(impatient, name)
    await_that(lambda: not is_known(impatient, name), f"{name} is forgotten")

    idle.begin_transaction()
    idle.produce(topic, b"of a forgotten identity")
    with pytest.raises(KafkaException) as refused:
        idle.commit_transaction(DEADLINE_S)
    idle.abort_transaction(DEADLINE_S)
    idle.begin_transaction()
    idle.produce(topic, b"of another identity")
    idle.commit_transaction(DEADLINE_S)

    error = refused.value.args[0]
    assert (error.code(), error.txn_requires_abort()) == (KafkaError.INVALID_PRODUCER_ID_MAPPING, True)
    assert values(impatient, topic) == [b"of another identity"]


def test_an_id_with_an_open_transaction_is_not_forgotten(impatient: str, topic: str) -> None:
    """However long ago it was used: this one outlives an id that was used at the same time."""
    busy, idle = f"busy-of-{topic}", f"idle-of-{topic}"
    writer = producer(impatient, busy)
    writer.begin_transaction()
    writer.produce(topic, b"in the end")
    writer.flush(DEADLINE_S)
    producer(impatient, idle)

    await_that(lambda: not is_known(impatient, idle), f"{idle} is forgotten")

    assert is_known(impatient, busy)
    writer.commit_transaction(DEADLINE_S)
    assert values(impatient, topic) == [b"in the end"]


@pytest.fixture(scope="module")
def fencing(tmp_path_factory: pytest.TempPathFactory) -> Sequence[str]:
    """The command that runs Java's producers into each of these ends."""
    missing = kafka_jars.what_streams_miss()
    if missing is not None:
        stand_down(missing)
    return kafka_jars.compiled(SOURCE, tmp_path_factory.mktemp("classes"))


@pytest.mark.java
def test_java_s_producers_are_told_that_their_time_is_over(
    impatient: str, topic: str, fencing: Sequence[str]
) -> None:
    """In the newest flow of the protocol, whose errors differ from those of the older one."""
    done = subprocess.run(
        [*fencing, impatient, topic], capture_output=True, text=True, timeout=2 * DEADLINE_S, check=False
    )

    assert done.returncode == 0, done.stderr
    assert dict(re.findall(r"^(.*): (\w+)$", done.stdout, re.MULTILINE)) == {
        "a zombie commits": "ProducerFencedException",
        "a zombie begins again": "ProducerFencedException",
        "its successor commits": "done",
        # the commit is taken for a retry of the abort, reversed
        "a producer commits too late": "InvalidTxnStateException",
        "the next one commits": "done",
        "a producer writes too late": "InvalidProducerEpochException",
        "it aborts": "done",
        "it goes on": "done",
        "a forgotten producer writes": "InvalidPidMappingException",
        "one with a new identity commits": "done",
    }
    assert values(impatient, topic) == [
        b"successor",
        b"after the time-out",
        b"as another",
        b"after the expiry",
    ]
