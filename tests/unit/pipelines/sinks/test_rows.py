"""Rows of a frame as records of a topic."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from riverlog.pipelines.columns import ColumnRefused
from riverlog.pipelines.sinks.rows import check_columns, messages, runs

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def test_a_value_is_all_that_a_row_needs() -> None:
    found = messages(pa.record_batch({"value": ["a", None]}), "t")

    assert found == {
        "t": [
            {"key": None, "value": b"a", "partition": -1},
            {"key": None, "value": None, "partition": -1},
        ]
    }


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
def test_texts_and_bytes_are_written_as_they_lie_there(kind: pa.DataType) -> None:
    values = pa.array(["é".encode(), b""], pa.binary()).cast(kind)

    [found] = messages(pa.record_batch({"key": values, "value": values}), "t").values()

    assert [(each["key"], each["value"]) for each in found] == [("é".encode(),) * 2, (b"", b"")]


def test_each_row_goes_to_its_topic_in_order() -> None:
    batch = pa.record_batch({"value": ["1", "2", "3"], "topic": ["a", "b", "a"]})

    found = messages(batch, None)

    assert {topic: [each["value"] for each in rows] for topic, rows in found.items()} == {
        "a": [b"1", b"3"],
        "b": [b"2"],
    }
    assert list(messages(batch, "all")) == ["all"]


@pytest.mark.parametrize("topic", [None, ""])
def test_a_row_without_a_topic_is_refused(topic: str | None) -> None:
    batch = pa.record_batch({"value": ["1"], "topic": pa.array([topic], pa.string())})

    with pytest.raises(ColumnRefused, match="no topic"):
        messages(batch, None)


def test_partition_time_and_headers_are_written_where_a_row_has_them() -> None:
    at = datetime(2026, 1, 1, 10, 0, 5, 678_999, UTC)
    batch = pa.record_batch(
        {
            "value": ["1", "2"],
            "partition": pa.array([3, None], pa.int32()),
            "timestamp": pa.array([at, None], pa.timestamp("us", "UTC")),
            "headers": pa.array([[{"key": "h", "value": b"x"}, {"key": "h", "value": None}], None], HEADERS),
        }
    )

    [found] = messages(batch, "t").values()

    assert found == [
        {
            "key": None,
            "value": b"1",
            "partition": 3,
            "timestamp": int(at.timestamp() * 1000),
            "headers": [("h", b"x"), ("h", None)],
        },
        {"key": None, "value": b"2", "partition": -1},
    ]
    assert [is_plain for is_plain, _ in runs(found)] == [False, True]
    assert "headers" not in messages(batch, "t", has_headers=False)["t"][0]


def test_the_columns_of_the_source_can_be_written_as_they_are() -> None:
    check_columns(
        {
            "key": "binary",
            "value": "binary",
            "topic": "string",
            "partition": "int",
            "offset": "bigint",
            "timestamp": "timestamp",
            "timestampType": "int",
            "headers": "array<struct<key:string,value:binary>>",
        },
        None,
    )


@pytest.mark.parametrize(
    ("columns", "topic", "said"),
    [
        ({"key": "string"}, "t", "`value`, and the frame has: key string"),
        ({"value": "string"}, None, "option `topic`, or a column `topic`"),
        ({"value": "string", "amount": "int"}, "t", "nowhere: amount"),
        ({"value": "bigint"}, "t", "`value` is of type bigint: string or binary"),
        ({"value": "string", "partition": "bigint"}, "t", "`partition` is of type bigint: int"),
    ],
)
def test_a_frame_that_cannot_be_written_is_refused(
    columns: dict[str, str], topic: str | None, said: str
) -> None:
    with pytest.raises(ColumnRefused, match=said):
        check_columns(columns, topic)
