"""Bytes of records to columns, on Spark: what is decoded, what is bad, and where that goes."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, Row, SparkSession

from riverlog.errors import ConfigError
from riverlog.pipelines import ColumnRefused, dead_letters, decode, good_records, write_decoded
from riverlog.testing.broker_process import BrokerProcess
from tests.messages import click_class

pytestmark = pytest.mark.spark

WAIT_SECONDS = 60
CLICK: dict[str, Any] = {
    "type": "record",
    "name": "Click",
    "fields": [{"name": "page", "type": "string"}, {"name": "count", "type": ["null", "long"]}],
}


def records(spark: SparkSession, *values: bytes | None) -> DataFrame:
    """Records as the source gives them, with offsets that rise."""
    rows = [(b"key", value, "clicks", 3, offset) for offset, value in enumerate(values)]
    return spark.createDataFrame(rows, "key binary, value binary, topic string, partition int, offset bigint")


def reasons(decoded: DataFrame) -> list[str | None]:
    return [row.bad and row.bad.reason for row in decoded.orderBy("offset").collect()]


def test_json_becomes_columns_beside_those_of_the_record(riverlog_spark: SparkSession) -> None:
    decoded = decode(
        records(riverlog_spark, b'{"page": "/", "at": "2026-01-01T00:00:00Z", "more": 1}', None),
        "json",
        "page string NOT NULL, at timestamp",
    )

    assert decoded.columns == ["page", "at", "key", "topic", "partition", "offset", "bad"]
    rows = decoded.selectExpr("page", "unix_seconds(at)", "offset", "bad").orderBy("offset").collect()
    assert [tuple(row) for row in rows] == [("/", 1_767_225_600, 0, None), (None, None, 1, None)]


def test_json_that_is_bad_says_why(riverlog_spark: SparkSession) -> None:
    values = [
        b'{"page": "x", "n": "two"}',
        b'{"n": 2}',
        b"",
        b"{",
        b"[]",
        b'{"page": "\xff"}',
        b'{"page": ""}',
    ]
    decoded = decode(records(riverlog_spark, *values), "json", "page string NOT NULL, n int")

    fit = "it is no JSON that fits the schema"
    assert reasons(decoded) == [
        fit,
        "page is missing",
        "it is empty",
        fit,
        fit,
        "it is no text in UTF-8",
        None,
    ]


def test_framed_json_is_read_behind_its_schema_id(riverlog_spark: SparkSession) -> None:
    values = [b'\0\0\0\0\7{"page": "/"}', b'{"page": "/"}', b"\0\0"]
    decoded = decode(records(riverlog_spark, *values), "json", "page string", framed=True)

    unframed = "it does not begin with a schema id"
    assert reasons(decoded) == [None, unframed, unframed]
    assert [row.page for row in good_records(decoded).collect()] == ["/"]


def test_avro_and_protobuf_become_columns_without_jars(riverlog_spark: SparkSession) -> None:
    stream = BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(CLICK), {"page": "/", "count": 7})
    click = click_class()
    message = click(page="/", counts={"a": 7})
    message.at.seconds = 1_767_225_600

    avro = decode(records(riverlog_spark, stream.getvalue(), b"?", None), "avro", CLICK)
    protobuf = decode(records(riverlog_spark, message.SerializeToString(), b"\xff"), "protobuf", click)

    assert reasons(avro) == [None, "it is no Avro of the schema: it ends too early", None]
    assert avro.select("page", "count", "offset").orderBy("offset").collect()[0] == Row("/", 7, 0)
    found = good_records(protobuf).selectExpr("page", "unix_seconds(at)", "counts", "color", "age").collect()
    assert found == [Row("/", 1_767_225_600, {"a": 7}, "RED", None)]
    assert [row.offset for row in protobuf.where("bad is not null").collect()] == [1]


@pytest.mark.parametrize("encoding", ["json", "avro"])
def test_a_filter_by_bad_does_not_decode_twice(riverlog_spark: SparkSession, encoding: Any) -> None:
    schema: Any = "page string" if encoding == "json" else CLICK
    plan = good_records(decode(records(riverlog_spark), encoding, schema))._jdf.queryExecution()
    text = plan.executedPlan().toString()

    assert text.count("from_json") + text.count("ArrowEvalPython") == 1, text


def test_what_would_be_there_twice_or_makes_no_sense_is_refused(riverlog_spark: SparkSession) -> None:
    frame = records(riverlog_spark)

    with pytest.raises(ColumnRefused, match="'offset' is decoded, and a column of the frame already"):
        decode(frame, "json", "offset bigint")
    with pytest.raises(ColumnRefused, match="'bad'"):
        decode(frame, "json", "bad string")
    with pytest.raises(ColumnRefused, match="column='payload'"):
        decode(frame, "json", "page string", column="payload")
    with pytest.raises(ConfigError, match="encoding"):
        decode(frame, "xml", "page string")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(ConfigError, match="descriptors"):
        decode(frame, "protobuf", "shop.Click")


def test_dead_letters_keep_the_record_and_say_where_it_was_and_why(riverlog_spark: SparkSession) -> None:
    frame = records(riverlog_spark, b"{}", b"?").selectExpr(
        "*", "array(named_struct('key', 'trace', 'value', cast('7' as binary))) as headers"
    )
    [letter] = dead_letters(decode(frame, "json", "page string")).collect()

    assert (bytes(letter.key), bytes(letter.value)) == (b"key", b"?")
    assert {header.key: bytes(header.value).decode() for header in letter.headers} == {
        "trace": "7",
        "riverlog.error.topic": "clicks",
        "riverlog.error.partition": "3",
        "riverlog.error.offset": "1",
        "riverlog.error.reason": "it is no JSON that fits the schema",
    }


def test_bad_records_do_not_stop_a_stream_and_none_is_lost(
    riverlog_spark: SparkSession, riverlog_broker: BrokerProcess, riverlog_topic: str, tmp_path: Path
) -> None:
    producer = Producer({"bootstrap.servers": riverlog_broker.bootstrap, "log_level": 0})
    for number in range(30):
        producer.produce(riverlog_topic, json.dumps({"n": number}) if number % 7 else b"\xffbroken")
    assert producer.flush(WAIT_SECONDS) == 0
    stream = (
        riverlog_spark.readStream.format("riverlog")
        .options(bootstrap=riverlog_broker.bootstrap, subscribe=riverlog_topic, startingOffsets="earliest")
        .option("maxOffsetsPerTrigger", 11)
        .load()
    )
    good: list[int] = []
    dead: list[int] = []

    def keep_dead(letters: DataFrame, batch_id: int) -> None:
        assert batch_id <= 3
        dead.extend(int(bytes(row.headers[2].value)) for row in letters.collect())

    query = (
        decode(stream, "json", "n int")
        .writeStream.foreachBatch(
            write_decoded(lambda frame, _: good.extend(row.n for row in frame.collect()), keep_dead)
        )
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(WAIT_SECONDS)

    assert good == [number for number in range(30) if number % 7]
    assert dead == [0, 7, 14, 21, 28]
