"""`riverlog consume --group`: a group continues where it left off."""

import socket
from collections.abc import Iterator

import pytest

from riverlog.client import ConsumedRecord, GroupReader
from riverlog.protocol import messages, wire
from tests.process.command import Riverlog

JOIN_GROUP = 11


@pytest.fixture(autouse=True, scope="module")
def broker_with_groups(bootstrap: str) -> None:
    """Skip by name where the broker does not offer groups."""
    host, _, port = bootstrap.rpartition(":")
    with (
        socket.create_connection((host, int(port)), 10) as connection,
        connection.makefile("rb") as stream,
    ):
        connection.sendall(wire.write_request(18, 0, 1, "tests", messages.ApiVersionsRequest()))
        reply = stream.read(int.from_bytes(stream.read(4)))
    _, versions = wire.read_response(18, 0, reply, 0, len(reply))
    if JOIN_GROUP not in {api.api_key for api in versions.api_keys}:
        pytest.skip("the broker has no consumer groups yet")


def test_a_group_continues_where_it_left_off(riverlog: Riverlog, topic: str) -> None:
    riverlog("produce", topic, stdin=b"0\n1\n2\n3\n4\n")
    arguments = ["consume", topic, "--group", f"group-of-{topic}", "--format", "%v"]

    assert riverlog(*arguments, "--count", "2").text == "01"
    assert riverlog(*arguments, "--count", "1").text == "2"
    assert riverlog(*arguments).text == "34"
    assert riverlog(*arguments).text == ""


def test_a_group_that_was_never_here_may_start_at_the_end(riverlog: Riverlog, topic: str) -> None:
    riverlog("produce", topic, stdin=b"0\n")

    assert riverlog("consume", topic, "--group", f"late-{topic}", "--from", "end").text == ""


def test_a_batch_counts_as_done_once_the_next_is_asked_for(riverlog: Riverlog, topic: str) -> None:
    riverlog("produce", topic, stdin=b"0\n1\n")

    def first_record() -> tuple[GroupReader, Iterator[list[ConsumedRecord]], bytes | None]:
        reader = GroupReader(riverlog.bootstrap, topic, f"careful-{topic}")
        batches = reader.batches(limit=1)
        [record] = next(batch for batch in batches if batch)
        return reader, batches, record.value

    reader, batches, value = first_record()
    assert value == b"0"
    reader.commit()  # nothing is done yet: the caller may still fail
    reader.close()

    reader, batches, value = first_record()
    assert value == b"0"
    assert next(batches, None) is None
    reader.commit()
    reader.close()

    reader, batches, value = first_record()
    assert value == b"1"
    reader.close()


def test_groups_do_not_disturb_each_other(riverlog: Riverlog, topic: str) -> None:
    riverlog("produce", topic, stdin=b"0\n1\n")

    for group in ("one", "two"):
        assert riverlog("consume", topic, "-g", f"{group}-{topic}", "--format", "%v").text == "01"
