"""The importer, on a small jar of our own making."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from riverlog.protocol import schema
from tools.import_definitions import definition_files, snake_case

REQUEST: dict[str, Any] = {
    "apiKey": 99,
    "type": "request",
    "listeners": ["broker"],
    "name": "PickRequest",
    "validVersions": "1-4",
    "flexibleVersions": "3+",
    "fields": [
        {"name": "GroupId", "type": "string", "versions": "0+", "about": "A sentence."},
        {"name": "DeadlineMs", "type": "int64", "versions": "2+", "default": "-1", "about": "A sentence."},
        {"name": "GoneSince", "type": "int32", "versions": "0"},
        {
            "name": "Topics",
            "type": "[]Topic",
            "versions": "0+",
            "nullableVersions": "2+",
            "fields": [{"name": "Parts", "type": "[]int32", "versions": "0+"}],
        },
        {
            "name": "Rack",
            "type": "string",
            "versions": "3+",
            "nullableVersions": "3+",
            "taggedVersions": "3+",
            "tag": 0,
            "default": "null",
        },
        {"name": "MaxBytes", "type": "int32", "versions": "4", "default": "0x7fffffff"},
    ],
}
RESPONSE: dict[str, Any] = {
    "apiKey": 99,
    "type": "response",
    "name": "PickResponse",
    "validVersions": "1-4",
    "flexibleVersions": "3+",
    "fields": [{"name": "Topics", "type": "[]Topic", "versions": "0+"}],
    "commonStructs": [
        {"name": "Topic", "versions": "0+", "fields": [{"name": "Name", "type": "string", "versions": "0+"}]}
    ],
}
IMPORTED = """\
api 99 Pick

message PickRequest 1-4 flexible 3+
  group_id     string
  deadline_ms  int64               2+ = -1
  topics       []PickRequestTopic  null 2+
    parts  []int32
  rack         string              3+ null tag 0 = null
  max_bytes    int32               4+ = 2147483647

message PickResponse 1-4 flexible 3+
  topics  []PickResponseTopic

struct PickResponseTopic
  name  string
"""


def imported(folder: Path, *messages: dict[str, Any], jar: str = "kafka-clients-9.9.jar") -> dict[str, str]:
    with zipfile.ZipFile(folder / jar, "w") as archive:
        for message in messages:
            text = "// A licence.\n" + json.dumps(message, indent=1)
            archive.writestr(f"common/message/{message['name']}.json", text)
    return definition_files([folder / jar])


def test_an_api_becomes_one_file_of_facts(tmp_path: Path) -> None:
    files = imported(tmp_path, RESPONSE, REQUEST)

    assert files == {
        "pick.txt": IMPORTED,
        "index.txt": "pick: PickRequest PickRequestTopic PickResponse PickResponseTopic\n",
    }


def test_what_was_imported_can_be_parsed(tmp_path: Path) -> None:
    text = imported(tmp_path, REQUEST, RESPONSE)["pick.txt"]

    definition = schema.parse("pick", text)

    assert definition.key == 99
    assert set(definition.structs) == {"PickRequest", "PickRequestTopic", "PickResponse", "PickResponseTopic"}


def test_an_unstable_latest_version_is_left_out_of_request_and_response(tmp_path: Path) -> None:
    text = imported(tmp_path, {**REQUEST, "latestVersionUnstable": True}, RESPONSE)["pick.txt"]

    assert "message PickRequest 1-3 flexible 3+" in text
    assert "message PickResponse 1-3 flexible 3+" in text
    assert "max_bytes" not in text


def test_an_api_that_no_client_may_call_is_not_imported(tmp_path: Path) -> None:
    files = imported(tmp_path, {**REQUEST, "listeners": ["controller"]}, RESPONSE)

    assert files == {"index.txt": ""}


def test_an_api_that_kafka_has_removed_is_not_imported(tmp_path: Path) -> None:
    removed = {
        "apiKey": 98,
        "type": "request",
        "listeners": ["broker"],
        "name": "OldRequest",
        "validVersions": "none",
    }

    files = imported(tmp_path, removed, REQUEST, RESPONSE)

    assert set(files) == {"pick.txt", "index.txt"}


def test_a_records_key_and_value_share_a_file_in_their_topics_folder(tmp_path: Path) -> None:
    key = {
        "apiKey": 7,
        "type": "coordinator-key",
        "name": "ThingKey",
        "validVersions": "0",
        "flexibleVersions": "none",
        "fields": [{"name": "Id", "type": "string", "versions": "0"}],
    }
    value = {
        **key,
        "type": "coordinator-value",
        "name": "ThingValue",
        "flexibleVersions": "0+",
        "fields": [{"name": "Count", "type": "int32", "taggedVersions": "0+", "tag": 0, "default": 3}],
    }

    files = imported(tmp_path, value, key, jar="kafka-group-coordinator-9.9.jar")

    assert files["group_records/thing.txt"] == (
        "record 7\n\n"
        "message ThingKey 0\n  id  string\n\n"
        "message ThingValue 0 flexible 0+\n  count  int32  tag 0 = 3\n"
    )


def test_a_json_null_is_no_default_where_the_word_null_is_one(tmp_path: Path) -> None:
    def with_default(default: str | None) -> str:
        field = {
            "name": "Epochs",
            "type": "[]int32",
            "versions": "0+",
            "nullableVersions": "0+",
            "default": default,
        }
        return imported(tmp_path, {**REQUEST, "fields": [field]}, RESPONSE)["pick.txt"]

    assert "  epochs  []int32  null = null\n" in with_default("null")
    assert "  epochs  []int32  null\n" in with_default(None)


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("ThrottleTimeMs", "throttle_time_ms"),
        ("V3AndBelowTopics", "v3_and_below_topics"),
        ("topicId", "topic_id"),
        ("ISRNodes", "isr_nodes"),
    ],
)
def test_names_become_snake_case(name: str, snake: str) -> None:
    assert snake_case(name) == snake
