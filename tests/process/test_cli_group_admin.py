"""`riverlog groups` against a running cluster: a broker of ours, or what RIVERLOG_TEST_BOOTSTRAP names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer

from riverlog.client import Admin, GroupAdmin, GroupReader
from tests.process.command import Riverlog

NewTopic = Callable[..., str]


@pytest.fixture
def group(topic: str) -> str:
    """A group's name that no other test uses."""
    return f"group-of-{topic}"


@contextmanager
def member(riverlog: Riverlog, topic: str, group: str) -> Iterator[GroupReader]:
    """A member that has its partitions."""
    reader = GroupReader(riverlog.bootstrap, topic, group)
    try:
        assert next(batch for batch in reader.batches(limit=1) if batch)
        yield reader
    finally:
        reader.close()


def read(riverlog: Riverlog, topic: str, group: str, count: int) -> None:
    assert riverlog("consume", topic, "-g", group, "--count", str(count), "--format", ".").text == "." * count


def committed(riverlog: Riverlog, group: str) -> dict[tuple[str, int], int]:
    with GroupAdmin(riverlog.bootstrap) as admin:
        return admin.committed(group)


def test_groups_are_listed_with_their_state(riverlog: Riverlog, topic: str, group: str) -> None:
    riverlog("produce", topic, stdin=b"0\n")
    read(riverlog, topic, group, 1)

    assert riverlog("groups", "list", f"{group}*", "--json").objects == [
        {"group": group, "type": "classic", "state": "Empty"}
    ]
    heading, row = riverlog("groups", "list", group).lines
    assert heading.split() == ["group", "type", "state"]
    assert row.split() == [group, "classic", "Empty"]


def test_describe_shows_lag_and_who_reads(riverlog: Riverlog, topic: str, group: str) -> None:
    riverlog("produce", topic, stdin=b"0\n1\n2\n")
    read(riverlog, topic, group, 1)

    with member(riverlog, topic, group) as reader:
        [standing] = riverlog("groups", "describe", group, "--json").objects
        heading, columns, row = riverlog("groups", "describe", group).lines
    assert reader is not None

    assert standing.pop("member").startswith("riverlog-")
    assert standing.pop("host")
    assert standing == {
        "group": group,
        "type": "classic",
        "state": "Stable",
        "topic": topic,
        "partition": 0,
        "client": "riverlog",
        "committed": 1,
        "end": 3,
        "lag": 2,
        "start": 0,
        "lost": 0,
    }
    assert heading == f"group {group}  type classic  state Stable  1 member  lag 2"
    assert columns.split() == ["topic", "partition", "member", "committed", "end", "lag", "start", "lost"]
    assert row.split()[3:] == ["1", "3", "2", "0", "0"]


def test_describe_says_what_was_deleted_before_it_was_read(
    riverlog: Riverlog, topic: str, group: str
) -> None:
    riverlog("produce", topic, stdin=b"0\n1\n2\n3\n4\n")
    read(riverlog, topic, group, 1)
    with Admin(riverlog.bootstrap) as admin:
        admin.delete_records(topic, {0: 4})

    [standing] = riverlog("groups", "describe", group, "--json").objects

    assert (standing["committed"], standing["start"], standing["lag"], standing["lost"]) == (1, 4, 4, 3)
    assert riverlog("groups", "describe", group).lines[0].endswith("lag 4  LOST 3")


def test_describe_tells_of_partitions_that_are_read_and_not_committed(
    riverlog: Riverlog, new_topic: NewTopic
) -> None:
    topic = new_topic(2)
    group = f"group-of-{topic}"
    riverlog("produce", topic, "--json", stdin=b'{"value": "x", "partition": 0}\n')

    with member(riverlog, topic, group):
        described = riverlog("groups", "describe", group, "--json").objects

    assert [(each["partition"], each["committed"], each["lag"], each["end"]) for each in described] == [
        (0, None, None, 1),
        (1, None, None, 0),
    ]


@pytest.mark.parametrize("command", ["describe", "delete"])
def test_an_unknown_group_is_refused_by_name(riverlog: Riverlog, group: str, command: str) -> None:
    refused = riverlog("groups", command, group, expect=1)

    assert refused.err.startswith(f"riverlog: group '{group}' does not exist: ")


@pytest.mark.parametrize(
    ("to", "new"),
    [
        (["--to-earliest"], 0),
        (["--to-latest"], 5),
        (["--to-offset", "3"], 3),
        (["--to-offset", "99"], 5),
        (["--to-datetime", "@3000"], 2),
        (["--to-datetime", "@9000"], 5),
        (["--shift-by", "1"], 3),
        (["--shift-by", "-1"], 1),
        (["--shift-by", "-99"], 0),
    ],
)
def test_reset_moves_a_group(riverlog: Riverlog, topic: str, group: str, to: list[str], new: int) -> None:
    lines = [f'{{"value": "x", "timestamp": {1000 * number}}}' for number in (1, 2, 3, 4, 5)]
    riverlog("produce", topic, "--json", stdin="\n".join(lines).encode())
    read(riverlog, topic, group, 2)

    [planned] = riverlog("groups", "reset", group, *to, "--dry-run", "--json").objects

    assert planned == {
        "group": group,
        "topic": topic,
        "partition": 0,
        "committed": 2,
        "start": 0,
        "end": 5,
        "new": new,
        "is_moved": False,
    }
    assert committed(riverlog, group) == {(topic, 0): 2}

    heading, row, said = riverlog("groups", "reset", group, *to).lines

    assert heading.split() == ["topic", "partition", "committed", "new", "start", "end", "left", "to", "read"]
    assert row.split() == [topic, "0", "2", str(new), "0", "5", str(5 - new)]
    assert said == f"group {group} moved in 1 partition"
    assert committed(riverlog, group) == {(topic, 0): new}


def test_reset_of_chosen_partitions_leaves_the_others(riverlog: Riverlog, new_topic: NewTopic) -> None:
    topic, other = new_topic(3), new_topic(1)
    group = f"group-of-{topic}"
    for name, partitions in ((topic, 3), (other, 1)):
        lines = [f'{{"value": "x", "partition": {index}}}' for index in range(partitions)]
        riverlog("produce", name, "--json", stdin="\n".join(lines).encode())

    riverlog("groups", "reset", group, "--topic", topic, "--topic", other, "--to-latest")
    riverlog("groups", "reset", group, "--topic", topic, "-p", "0", "-p", "2", "--to-earliest")

    assert committed(riverlog, group) == {(topic, 0): 0, (topic, 1): 1, (topic, 2): 0, (other, 0): 1}


def test_reset_refuses_while_the_group_has_members(riverlog: Riverlog, topic: str, group: str) -> None:
    riverlog("produce", topic, stdin=b"0\n")

    with member(riverlog, topic, group):
        for command in (["reset", group, "--topic", topic, "--to-latest"], ["delete", group]):
            refused = riverlog("groups", *command, expect=1)
            assert f"group '{group}' has 1 member (riverlog@" in refused.err
            assert refused.err.endswith("stop its consumers first\n")


def test_reset_without_anything_committed_asks_for_a_topic(
    riverlog: Riverlog, topic: str, group: str
) -> None:
    refused = riverlog("groups", "reset", group, "--to-latest", expect=1)
    assert "has committed nothing to move: name the topic with --topic" in refused.err

    refused = riverlog("groups", "reset", group, "--topic", topic, "--shift-by", "1", expect=1)
    assert "--shift-by has nothing to count from" in refused.err

    refused = riverlog("groups", "reset", group, "--topic", topic, "-p", "7", "--to-latest", expect=1)
    assert "has no partition 7" in refused.err


def test_reset_wants_one_place_to_go_to(riverlog: Riverlog, group: str) -> None:
    assert "one of the arguments" in riverlog("groups", "reset", group, expect=2).err
    assert (
        "--to-datetime expects a time"
        in riverlog("groups", "reset", group, "--to-datetime", "17", expect=2).err
    )


def test_delete_forgets_a_group(riverlog: Riverlog, topic: str, group: str) -> None:
    riverlog("produce", topic, stdin=b"0\n")
    read(riverlog, topic, group, 1)

    dry = riverlog("groups", "delete", group, "--dry-run").text
    assert dry == f"group {group} would be deleted, with what it has committed for 1 partition\n"
    assert committed(riverlog, group) == {(topic, 0): 1}

    assert riverlog("groups", "delete", group).text == f"group {group} deleted\n"
    assert riverlog("groups", "list", group).text == ""
    assert riverlog("groups", "delete", group, "--if-exists").text == f"group {group} does not exist\n"


def test_groups_that_the_broker_assigns_for_are_shown_moved_and_deleted_alike(
    riverlog: Riverlog, topic: str, group: str
) -> None:
    riverlog("produce", topic, stdin=b"0\n1\n2\n")
    consumer = Consumer(
        {
            "bootstrap.servers": riverlog.bootstrap,
            "group.id": group,
            "group.protocol": "consumer",
            "client.id": "newer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    try:
        consumer.subscribe([topic])
        [message] = consumer.consume(1, 20.0)
        consumer.commit(message, asynchronous=False)
        heading, _, row = riverlog("groups", "describe", group).lines
        refused = riverlog("groups", "reset", group, "--to-earliest", expect=1)
    finally:
        consumer.close()

    assert "type consumer  state Stable  1 member  lag 2" in heading
    assert row.split()[:5] == [topic, "0", f"newer@{row.split('@')[1].split()[0]}", "1", "3"]
    assert "stop its consumers first" in refused.err
    assert riverlog("groups", "list", group, "--json").objects == [
        {"group": group, "type": "consumer", "state": "Empty"}
    ]
    riverlog("groups", "reset", group, "--to-latest")
    assert committed(riverlog, group) == {(topic, 0): 3}
    assert riverlog("groups", "delete", group).text == f"group {group} deleted\n"
