"""A record as a JSON object, out and in again."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riverlog.cli import record_json
from riverlog.cli.record_json import JsonRecord
from riverlog.client.consume import ConsumedRecord


def consumed(
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    headers: list[tuple[str, bytes | None]] | None = None,
    timestamp_ms: int = 5,
) -> ConsumedRecord:
    return ConsumedRecord("orders", 2, 17, timestamp_ms, False, key, value, headers or [])


def test_a_record_becomes_one_line_with_everything_in_it() -> None:
    line = record_json.write(consumed(headers=[("a", b"1"), ("a", None)]))

    assert line.endswith(b"\n")
    assert json.loads(line) == {
        "topic": "orders",
        "partition": 2,
        "offset": 17,
        "timestamp": 5,
        "timestamp_type": "CreateTime",
        "key": "k",
        "value": "v",
        "headers": [{"name": "a", "value": "1"}, {"name": "a", "value": None}],
    }


def test_bytes_that_are_not_utf8_become_base64_under_another_name() -> None:
    fields = json.loads(record_json.write(consumed(key=b"\xff\x00", value=None)))

    assert fields["key_base64"] == "/wA="
    assert "key" not in fields
    assert fields["value"] is None


def test_a_record_without_timestamp_has_null_for_it() -> None:
    assert json.loads(record_json.write(consumed(timestamp_ms=-1)))["timestamp"] is None


some_bytes = st.none() | st.binary(max_size=20) | st.text(max_size=20).map(str.encode)
header_names = st.text(st.characters(codec="utf-8"), max_size=10)


@given(key=some_bytes, value=some_bytes, headers=st.lists(st.tuples(header_names, some_bytes), max_size=3))
def test_what_is_written_is_read_back_the_same(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]]
) -> None:
    line = record_json.write(consumed(key, value, headers))

    assert record_json.read(line) == JsonRecord(key, value, headers, partition=2, timestamp_ms=5)


def test_all_fields_may_be_left_out() -> None:
    assert record_json.read(b"{}") == JsonRecord(None, None, [], partition=-1, timestamp_ms=0)


def test_values_that_are_not_text_are_sent_as_their_json() -> None:
    record = record_json.read(b'{"key": 7, "value": {"total": 1.5, "tags": ["\xc3\xa9"]}}')

    assert record.key == b"7"
    assert record.value == '{"total":1.5,"tags":["é"]}'.encode()


def test_headers_may_be_an_object() -> None:
    assert record_json.read(b'{"headers": {"a": "1", "b": null}}').headers == [("a", b"1"), ("b", None)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"nonsense", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"valeu": 1}', "unknown field 'valeu': known are headers, key"),
        (b'{"key": "a", "key_base64": "YQ=="}', "both 'key' and 'key_base64'"),
        (b'{"key_base64": "?"}', "'key_base64' is not base64"),
        (b'{"key_base64": 5}', "'key_base64' is not base64"),
        (b'{"value": "\\ud800"}', "'value' holds half a surrogate pair"),
        (b'{"headers": 5}', "'headers' is neither an object nor a list"),
        (b'{"headers": [{"value": "x"}]}', 'a header is not {"name": ..., "value": ...}'),
        (b'{"partition": "1"}', "'partition' is not a whole number"),
        (b'{"partition": true}', "'partition' is not a whole number"),
        (b'{"timestamp": -1}', "'timestamp' is not a whole number"),
    ],
)
def test_a_wrong_field_is_named(line: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem.replace("{", r"\{").replace("?", r"\?")):
        record_json.read(line)
