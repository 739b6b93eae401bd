"""One task of the topic sink without Spark: order, what fails in the middle, a batch that is another one."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from riverlog.pipelines.sinks import transaction
from riverlog.pipelines.sinks.markers import BatchChanged, Place, Report
from riverlog.pipelines.sinks.options import TopicOptions, topic_options
from riverlog.pipelines.sinks.transaction import RowsRefused, write_task
from riverlog.testing.broker_process import BrokerProcess
from tests.committed_reader import committed


def options_of(broker: BrokerProcess, topic: str, **given: str) -> TopicOptions:
    return topic_options({"bootstrap": broker.bootstrap, "topic": topic, **given}, is_stream=True)


def batch(*values: str) -> pa.RecordBatch:
    return pa.record_batch({"value": pa.array(values, pa.string())})


def values(broker: BrokerProcess, topic: str) -> list[str]:
    return [record.value.decode() for record in committed(broker.bootstrap, topic)]


def test_rows_keep_their_order_however_many_there_are(
    riverlog_broker: BrokerProcess, riverlog_topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "HELD_BYTES_MAX", 10_000)
    monkeypatch.setattr(transaction, "QUEUE_ROWS_MAX", 5_000)
    monkeypatch.setattr(transaction, "PIECE_ROWS_MAX", 2_000)
    sent = [str(number) for number in range(30_000)]

    report = write_task(
        options_of(riverlog_broker, riverlog_topic),
        Place(riverlog_topic, 0, 0),
        (batch(*sent[start : start + 7_000]) for start in range(0, len(sent), 7_000)),
    )

    assert report.rows == len(sent)
    assert values(riverlog_broker, riverlog_topic) == sent


def test_a_computation_that_fails_in_the_middle_leaves_nothing_and_holds_nobody_up(
    riverlog_broker: BrokerProcess, riverlog_topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "HELD_BYTES_MAX", 0)
    options, place = options_of(riverlog_broker, riverlog_topic), Place(riverlog_topic, 0, 0)

    def failing() -> Iterator[pa.RecordBatch]:
        yield batch("a")
        yield batch("b")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_task(options, place, failing())
    write_task(options, Place(riverlog_topic, 0, 1), [batch("c")])

    assert values(riverlog_broker, riverlog_topic) == ["c"]


def test_a_batch_that_is_another_one_is_refused_unless_the_first_may_stand(
    riverlog_broker: BrokerProcess, riverlog_topic: str
) -> None:
    options = options_of(riverlog_broker, riverlog_topic)
    lenient = options_of(riverlog_broker, riverlog_topic, failOnChangedBatch="false")
    first, second = Place(riverlog_topic, 0, 0), Place(riverlog_topic, 1, 0)
    write_task(options, first, [batch("a")])
    write_task(options, second, [batch("b", "c")])

    with pytest.raises(BatchChanged, match="has 1 rows, and had 2"):
        write_task(options, second, [batch("b")])
    with pytest.raises(BatchChanged, match="batch 1 is written already"):
        write_task(options, first, [batch("a")])

    assert write_task(lenient, second, [batch("b")]) == Report(second, 1, is_repetition=True)
    assert write_task(lenient, first, [batch("a")]) == Report(first, 1, is_repetition=True)
    assert values(riverlog_broker, riverlog_topic) == ["a", "b", "c"]


def test_a_batch_that_is_in_is_taken_to_its_last_row_all_the_same(
    riverlog_broker: BrokerProcess, riverlog_topic: str
) -> None:
    options, place = options_of(riverlog_broker, riverlog_topic), Place(riverlog_topic, 0, 0)
    taken = []

    def rows() -> Iterator[pa.RecordBatch]:
        for value in ("a", "b"):
            yield batch(value)
        taken.append("the end")

    write_task(options, place, rows())
    write_task(options, place, rows())

    assert taken == ["the end"] * 2


def test_a_task_without_rows_asks_nobody() -> None:
    options = topic_options({"bootstrap": "127.0.0.1:1", "topic": "t"}, is_stream=True)

    assert write_task(options, Place("s", 0, 0), [batch()]) == Report(Place("s", 0, 0), 0)


def test_a_partition_that_is_not_there_is_named(riverlog_broker: BrokerProcess, riverlog_topic: str) -> None:
    rows = pa.record_batch({"value": ["a"], "partition": pa.array([7], pa.int32())})

    with pytest.raises(RowsRefused, match=r"asks for partition 7 of .*, which has 1"):
        write_task(options_of(riverlog_broker, riverlog_topic), Place(riverlog_topic, 0, 0), [rows])


def test_a_record_that_is_too_large_is_refused_and_the_batch_can_be_written_without_it(
    riverlog_broker: BrokerProcess, riverlog_topic: str
) -> None:
    options, place = options_of(riverlog_broker, riverlog_topic), Place(riverlog_topic, 0, 0)

    with pytest.raises(RowsRefused, match=r"max\.message\.bytes"):
        write_task(options, place, [batch("a", "x" * 3_000_000)])
    write_task(options, place, [batch("a")])

    assert values(riverlog_broker, riverlog_topic) == ["a"]
