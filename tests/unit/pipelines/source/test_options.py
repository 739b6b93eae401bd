"""What a query says of what to read, and what is refused."""

from __future__ import annotations

import pytest

from riverlog.errors import ConfigError
from riverlog.pipelines.source.anchors import Anchor
from riverlog.pipelines.source.offsets import Bounds
from riverlog.pipelines.source.options import SourceOptions, chosen_columns, source_options
from riverlog.types import TopicPartition

ZERO, ONE = TopicPartition("clicks", 0), TopicPartition("clicks", 1)
LOG = {ZERO: Bounds(3, 9), ONE: Bounds(0, 5)}


def stream(**given: str) -> SourceOptions:
    return source_options({"bootstrap": "one:1", "subscribe": "clicks"} | given, is_stream=True)


def batch(**given: str) -> SourceOptions:
    return source_options({"bootstrap": "one:1", "subscribe": "clicks"} | given, is_stream=False)


def begins(
    anchor: Anchor, found: dict[TopicPartition, int | None] | None = None
) -> dict[TopicPartition, int]:
    return anchor.offsets(LOG, found or {}, absent_is_latest=False)


def test_a_stream_begins_with_what_comes_and_a_batch_reads_all_there_is() -> None:
    assert begins(stream().start) == {ZERO: 9, ONE: 5}
    assert begins(batch().start) == {ZERO: 3, ONE: 0}
    assert begins(batch().end) == {ZERO: 9, ONE: 5}


def test_names_of_options_are_read_whatever_their_case_and_by_either_name() -> None:
    options = source_options(
        {
            "KAFKA.bootstrap.SERVERS": "one:1",
            "subscribePATTERN": "c.*",
            "kafka.isolation.level": "read_uncommitted",
        },
        is_stream=True,
    )

    assert (options.bootstrap, options.pattern, options.is_committed) == ("one:1", "c.*", False)


def test_directories_are_absolute_and_may_be_several() -> None:
    assert stream(directory="/data/a, /data/b").directories == ("/data/a", "/data/b")
    assert stream().directories == ()


def test_topics_and_partitions_are_named_once_each() -> None:
    assert stream(subscribe="b, a,,b").topics == ("a", "b")
    assigned = source_options({"bootstrap": "one:1", "assign": '{"clicks": [1, 0, 1]}'}, is_stream=True)
    assert assigned.assigned == (ZERO, ONE)


def test_a_start_is_said_for_each_partition_by_offset() -> None:
    anchor = stream(startingOffsets='{"clicks": {"0": 7, "1": -2}}').start

    assert begins(anchor) == {ZERO: 7, ONE: 0}
    assert anchor.moments(LOG) == {}


def test_a_start_is_said_by_time() -> None:
    assert stream(startingTimestamp="1000").start.moments(LOG) == {ZERO: 1000, ONE: 1000}
    anchor = stream(startingOffsetsByTimestamp='{"clicks": {"0": 5, "1": 6}}').start

    assert anchor.moments(LOG) == {ZERO: 5, ONE: 6}
    assert begins(anchor, {ZERO: 4, ONE: 1}) == {ZERO: 4, ONE: 1}


def test_a_time_that_no_record_reaches_is_refused_or_the_latest() -> None:
    anchor = stream(startingTimestamp="1000").start

    with pytest.raises(ConfigError, match="some record of clicks-1 reaches"):
        begins(anchor, {ZERO: 4, ONE: None})
    assert anchor.offsets(LOG, {ZERO: 4, ONE: None}, absent_is_latest=True) == {ZERO: 4, ONE: 5}
    assert stream(startingOffsetsByTimestampStrategy="latest").absent_is_latest


def test_times_go_before_offsets_and_one_for_all_before_one_for_each() -> None:
    anchor = stream(
        startingOffsets="earliest", startingTimestamp="7", startingOffsetsByTimestamp='{"x": {"0": 1}}'
    ).start

    assert anchor.option == "startingTimestamp"


def test_offsets_are_wanted_for_all_partitions_and_for_no_others() -> None:
    with pytest.raises(ConfigError, match="clicks-1 is not among them"):
        begins(stream(startingOffsets='{"clicks": {"0": 7}}').start)
    with pytest.raises(ConfigError, match="clicks-2 does not exist or is not read"):
        begins(stream(startingOffsets='{"clicks": {"0": 7, "1": 1, "2": 0}}').start)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("maxOffsetPerTrigger", "7"),
        ("endingOffsets", "latest"),
        ("subscribe", ""),
        ("subscribe", " , "),
        ("assign", '{"clicks": [0]}'),
        ("startingOffsets", "beginning"),
        ("startingOffsets", '{"clicks": 7}'),
        ("startingOffsets", '{"clicks": {"0": -3}}'),
        ("startingOffsets", '{"clicks": {"0": 1.5}}'),
        ("startingTimestamp", "yesterday"),
        ("startingOffsetsByTimestamp", '{"clicks": {"0": -1}}'),
        ("startingOffsetsByTimestampStrategy", "earliest"),
        ("maxOffsetsPerTrigger", "0"),
        ("minPartitions", "many"),
        ("failOnDataLoss", "perhaps"),
        ("isolation", "serializable"),
        ("bootstrap", "nowhere:"),
        ("kafka.bootstrap.servers", "two:2"),
        ("directory", "data"),
        ("directory", " "),
        ("group", ""),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name):
        stream(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("maxOffsetsPerTrigger", "7"),
        ("startingOffsets", "latest"),
        ("endingOffsets", "earliest"),
        ("endingOffsets", '{"clicks": {"0": -2}}'),
    ],
)
def test_what_a_batch_cannot_have_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name):
        batch(**{name: value})


@pytest.mark.parametrize(
    "given", [{}, {"subscribePattern": "("}, {"assign": "{}"}, {"assign": '{"a": ["0"]}'}]
)
def test_what_to_read_is_said_in_one_way(given: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"subscribe|assign"):
        source_options({"bootstrap": "one:1"} | given, is_stream=True)


def test_without_an_address_the_option_is_named() -> None:
    with pytest.raises(ConfigError, match=r"kafka\.bootstrap\.servers"):
        source_options({"subscribe": "clicks"}, is_stream=True)


def test_columns_are_those_of_spark_s_kafka_source_or_a_choice() -> None:
    assert chosen_columns({}) == (
        "key",
        "value",
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestampType",
    )
    assert chosen_columns({"includeHeaders": "true"})[-1] == "headers"
    assert chosen_columns({"columns": "timestamp, value"}) == ("timestamp", "value")
    for given in (
        {"columns": "value,value"},
        {"columns": "price"},
        {"columns": "value", "includeHeaders": "true"},
    ):
        with pytest.raises(ConfigError, match="columns"):
            chosen_columns(given)
    with pytest.raises(ConfigError, match="colums"):
        chosen_columns({"colums": "value"})


JSON = {"valueFormat": "json", "valueSchema": "key string NOT NULL, at bigint"}


def test_values_are_bytes_unless_a_format_and_a_schema_are_given() -> None:
    assert stream().value_fields is None
    fields = stream(**JSON).value_fields
    assert fields is not None
    assert [(field.name, field.nullable) for field in fields] == [("key", False), ("at", True)]


def test_decoded_values_have_a_column_for_what_is_bad_and_one_for_the_bytes_if_asked() -> None:
    assert chosen_columns(JSON)[-2:] == ("timestampType", "bad")
    assert chosen_columns({**JSON, "includeRaw": "true"})[-2:] == ("bad", "raw")
    assert chosen_columns({**JSON, "columns": "bad,value"}) == ("bad", "value")


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("valueFormat", {"valueFormat": "avro", "valueSchema": "a int"}),
        ("valueSchema", {"valueFormat": "json"}),
        ("valueSchema", {"valueFormat": "json", "valueSchema": "a map<string, int>"}),
        ("valueSchema", {"valueSchema": "a int"}),
        ("includeRaw", {"includeRaw": "true"}),
        ("columns", {"columns": "value,bad"}),
        ("columns", {**JSON, "columns": "value", "includeRaw": "true"}),
    ],
)
def test_how_values_are_decoded_is_said_whole_or_refused(name: str, given: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=name):
        chosen_columns(given)
