"""`riverlog topics` against a running broker."""

from collections.abc import Callable

import pytest

from tests.process.command import Riverlog


def test_a_topic_is_created_listed_described_and_deleted(riverlog: Riverlog) -> None:
    created = riverlog(
        "topics", "create", "life-of-a-topic", "--partitions", "3", "--set", "retention.ms=60000"
    )
    assert created.lines == ["topic life-of-a-topic created"]

    [listed] = riverlog("topics", "list", "life-of-*", "--json").objects
    assert listed["name"] == "life-of-a-topic"
    assert listed["partitions"] == 3
    assert listed["replication_factor"] == 1
    assert listed["is_internal"] is False

    [described] = riverlog("topics", "describe", "life-of-a-topic", "--json").objects
    assert described["settings"] == {"retention.ms": "60000"}
    assert described["topic_id"] == listed["topic_id"]
    assert [part["partition"] for part in described["partitions"]] == [0, 1, 2]
    assert all(part["leader"] in part["in_sync"] == part["replicas"] for part in described["partitions"])
    assert all((part["earliest"], part["end"]) == (0, 0) for part in described["partitions"])

    assert riverlog("topics", "delete", "life-of-a-topic").lines == ["topic life-of-a-topic deleted"]
    assert riverlog("topics", "list", "life-of-*", "--json").objects == []


def test_a_list_for_people_has_headings(riverlog: Riverlog, topic: str) -> None:
    listed = riverlog("topics", "list", topic)

    assert [line.split() for line in listed.lines] == [["topic", "partitions", "replicas"], [topic, "1", "1"]]


def test_a_description_for_people_names_settings_and_partitions(
    riverlog: Riverlog, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(2, retention_ms="60000")

    described = riverlog("topics", "describe", topic)

    assert described.lines[0].startswith(f"topic {topic}  id ")
    assert described.lines[1] == "  retention.ms=60000"
    assert described.lines[2].split() == ["partition", "leader", "replicas", "in", "sync", "earliest", "end"]
    assert len(described.lines) == 5


def test_a_topic_that_exists_is_refused_unless_that_is_fine(riverlog: Riverlog, topic: str) -> None:
    refused = riverlog("topics", "create", topic, expect=1)
    passed = riverlog("topics", "create", topic, "--if-not-exists")

    assert refused.err.startswith(f"riverlog: creating topic '{topic}' failed:")
    assert "TOPIC_ALREADY_EXISTS" in refused.err
    assert passed.lines == [f"topic {topic} exists"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["a b"], "INVALID_TOPIC_EXCEPTION|TOPIC_EXCEPTION"),
        (["never", "--set", "retention.mz=5"], "retention.mz"),
        (["never", "--set", "retention.ms=soon"], "retention.ms"),
        (["never", "--replication-factor", "7"], "INVALID_REPLICATION_FACTOR"),
    ],
)
def test_a_topic_that_cannot_be_is_refused_with_the_reason(
    riverlog: Riverlog, arguments: list[str], error: str
) -> None:
    refused = riverlog("topics", "create", *arguments, expect=1)

    assert refused.err.startswith(f"riverlog: creating topic '{arguments[0]}' failed: ")
    assert any(part in refused.err for part in error.split("|"))
    assert riverlog("topics", "list", arguments[0]).out == b""


def test_a_dry_run_checks_and_creates_nothing(riverlog: Riverlog) -> None:
    checked = riverlog("topics", "create", "only-checked", "--dry-run")
    refused = riverlog("topics", "create", "only-checked", "--dry-run", "--set", "retention.ms=x", expect=1)

    assert checked.lines == ["topic only-checked could be created"]
    assert "retention.ms" in refused.err
    assert riverlog("topics", "list", "only-checked").out == b""


def test_a_misspelt_topic_is_answered_with_the_one_that_was_meant(
    riverlog: Riverlog, new_topic: Callable[..., str]
) -> None:
    topic = new_topic()

    refused = riverlog("topics", "describe", f"{topic}x", expect=1)

    assert refused.err.startswith(f"riverlog: topic '{topic}x' does not exist: did you mean ")
    assert topic in refused.err


def test_partitions_are_added_and_settings_changed(riverlog: Riverlog, topic: str) -> None:
    altered = riverlog("topics", "alter", topic, "--partitions", "4", "--set", "retention.ms=5000")
    assert altered.lines == [f"topic {topic}: retention.ms=5000 set", f"topic {topic}: grown to 4 partitions"]

    [described] = riverlog("topics", "describe", topic, "--json").objects
    assert len(described["partitions"]) == 4
    assert described["settings"] == {"retention.ms": "5000"}

    riverlog("topics", "alter", topic, "--unset", "retention.ms")
    [described] = riverlog("topics", "describe", topic, "--json").objects
    assert described["settings"] == {}


def test_partitions_are_never_taken_away(riverlog: Riverlog, new_topic: Callable[..., str]) -> None:
    topic = new_topic(3)

    refused = riverlog("topics", "alter", topic, "--partitions", "2", expect=1)

    assert refused.err.startswith(f"riverlog: growing topic '{topic}' to 2 partitions failed: ")


def test_an_alteration_can_be_tried_out(riverlog: Riverlog, topic: str) -> None:
    tried = riverlog("topics", "alter", topic, "--partitions", "4", "--set", "retention.ms=5", "--dry-run")

    [described] = riverlog("topics", "describe", topic, "--json").objects
    assert tried.lines == [
        f"topic {topic}: retention.ms=5 would be set",
        f"topic {topic}: would be grown to 4 partitions",
    ]
    assert len(described["partitions"]) == 1
    assert described["settings"] == {}


def test_nothing_to_alter_is_wrong_usage(riverlog: Riverlog, topic: str) -> None:
    refused = riverlog("topics", "alter", topic, expect=2)

    assert "nothing to change: give --partitions, --set or --unset" in refused.err


def test_a_deletion_can_be_tried_out(riverlog: Riverlog, topic: str) -> None:
    riverlog("produce", topic, stdin=b"a\nb\n")

    tried = riverlog("topics", "delete", topic, "--dry-run")

    assert tried.lines == [f"topic {topic} would be deleted: 1 partition, 2 records"]
    assert riverlog("consume", topic).lines == ["a", "b"]


def test_deleting_what_is_not_there_is_refused_unless_that_is_fine(riverlog: Riverlog) -> None:
    refused = riverlog("topics", "delete", "no-such-topic", expect=1)
    passed = riverlog("topics", "delete", "no-such-topic", "--if-exists")

    assert "topic 'no-such-topic' does not exist" in refused.err
    assert passed.lines == ["topic no-such-topic does not exist"]
