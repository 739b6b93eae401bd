"""`riverlog consume` against a running broker."""

import signal
import threading
from collections.abc import Callable

import pytest

from tests.process.command import Riverlog


@pytest.fixture
def ten(riverlog: Riverlog, topic: str) -> str:
    """A topic with the records 0 to 9, a second apart."""
    lines = [
        f'{{"value": "{number}", "timestamp": {1_700_000_000_000 + number * 1000}}}' for number in range(10)
    ]
    riverlog("produce", topic, "--json", stdin="\n".join(lines).encode())
    return topic


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "0123456789"),
        (["--from", "start", "--until", "end"], "0123456789"),
        (["--from", "7"], "789"),
        (["--from", "-3"], "789"),
        (["--from", "-100"], "0123456789"),
        (["--from", "end"], ""),
        (["--until", "3"], "012"),
        (["--from", "3", "--until", "-3"], "3456"),
        (["--from", "5", "--until", "5"], ""),
        (["--from", "@1700000004000"], "456789"),
        (["--from", "@1700000004001", "--until", "@1700000006001"], "56"),
        (["--from", "2023-11-14T22:13:24Z"], "456789"),
        (["--from", "@1800000000000"], ""),
        (["--count", "4"], "0123"),
        (["--from", "8", "--count", "4"], "89"),
        (["--follow", "--from", "6", "--count", "4"], "6789"),
    ],
)
def test_positions_choose_the_records(
    riverlog: Riverlog, ten: str, arguments: list[str], expected: str
) -> None:
    consumed = riverlog("consume", ten, "--format", "%v", *arguments)

    assert consumed.text == expected
    assert consumed.err == ""


def test_a_position_past_the_end_is_pointed_out(riverlog: Riverlog, ten: str) -> None:
    consumed = riverlog("consume", ten, "--from", "1700000004000")

    assert consumed.out == b""
    assert "offset 1,700,000,004,000 is past the end, 10 (a time is written @1700000004000)" in consumed.err


def test_an_empty_topic_ends_at_once(riverlog: Riverlog, topic: str) -> None:
    assert riverlog("consume", topic).out == b""


def test_every_partition_is_read_unless_some_are_chosen(
    riverlog: Riverlog, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(3)
    for partition in range(3):
        riverlog("produce", topic, "-p", str(partition), stdin=f"{partition}\n".encode() * 2)

    everything = riverlog("consume", topic, "--format", "%p:%o:%v\\n").lines
    chosen = riverlog("consume", topic, "-p", "0", "-p", "2", "--from", "-1", "--format", "%p:%o:%v\\n").lines

    assert sorted(everything) == ["0:0:0", "0:1:0", "1:0:1", "1:1:1", "2:0:2", "2:1:2"]
    assert sorted(chosen) == ["0:1:0", "2:1:2"]


def test_a_partition_that_is_not_there_is_refused(riverlog: Riverlog, topic: str) -> None:
    refused = riverlog("consume", topic, "-p", "5", expect=1)

    assert refused.err == f"riverlog: topic '{topic}' has no partition 5: it has 1, numbered from 0\n"


def test_a_topic_that_is_not_there_is_refused_and_not_created(riverlog: Riverlog) -> None:
    for arguments in ([], ["--group", "any"], ["--follow"]):
        refused = riverlog("consume", "no-such-topic", *arguments, expect=1)
        assert "riverlog: topic 'no-such-topic' does not exist" in refused.err

    assert riverlog("topics", "list", "no-such-topic").out == b""


def test_objects_hold_the_whole_record(riverlog: Riverlog, topic: str) -> None:
    riverlog("produce", topic, "-K", ":", "-H", "h=é", stdin=b"k:\xff\n")

    [record] = riverlog("consume", topic, "--json").objects

    assert record.pop("timestamp") > 1_600_000_000_000
    assert record == {
        "topic": topic,
        "partition": 0,
        "offset": 0,
        "timestamp_type": "CreateTime",
        "key": "k",
        "value_base64": "/w==",
        "headers": [{"name": "h", "value": "é"}],
    }


def test_append_time_is_told_from_producers_time(riverlog: Riverlog, new_topic: Callable[..., str]) -> None:
    topic = new_topic(message_timestamp_type="LogAppendTime")
    riverlog("produce", topic, "--json", stdin=b'{"value": "x", "timestamp": 5}')

    [record] = riverlog("consume", topic, "--json").objects

    assert record["timestamp_type"] == "LogAppendTime"
    assert record["timestamp"] > 1_600_000_000_000


def test_bytes_come_out_as_they_went_in(riverlog: Riverlog, topic: str) -> None:
    content = bytes(byte for byte in range(256) if byte != ord("\n"))
    riverlog("produce", topic, stdin=content)

    assert riverlog("consume", topic).out == content + b"\n"


def test_an_unknown_letter_in_a_format_is_wrong_usage(riverlog: Riverlog, topic: str) -> None:
    refused = riverlog("consume", topic, "--format", "%q", expect=2)

    assert "%q means nothing; known are" in refused.err


def test_following_shows_what_comes_from_now_on(riverlog: Riverlog, ten: str) -> None:
    heard: list[bytes] = []

    with riverlog.started("consume", ten, "--tail", "--format", "%v\\n") as running:
        stdout = running.stdout
        assert stdout is not None
        listener = threading.Thread(target=lambda: heard.append(stdout.readline()))
        listener.start()
        # Where "now" is depends on when the command got there: say something until it is heard.
        while listener.is_alive() and running.poll() is None:
            riverlog("produce", ten, "-q", stdin=b"new\n")
            listener.join(0.1)
        running.send_signal(signal.SIGINT)
        _, error = running.communicate(timeout=30)

    assert heard == [b"new\n"]
    assert running.returncode == 130
    assert error == b""


def test_a_reader_that_goes_away_ends_the_command_quietly(riverlog: Riverlog, topic: str) -> None:
    riverlog("produce", topic, stdin=b"a line of text\n" * 50_000)

    with riverlog.started("consume", topic) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        first = running.stdout.readline()
        running.stdout.close()
        code = running.wait(30)
        error = running.stderr.read()

    assert first == b"a line of text\n"
    assert code == 141
    assert error == b""


def test_deleted_records_are_pointed_out(riverlog: Riverlog, ten: str) -> None:
    from riverlog.client import Admin

    with Admin(riverlog.bootstrap) as admin:
        assert admin.delete_records(ten, {0: 6}) == {0: 6}

    consumed = riverlog("consume", ten, "--from", "2", "--format", "%v")

    assert consumed.text == "6789"
    assert consumed.err == "riverlog: partition 0 keeps nothing before offset 6: starting there\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--follow", "--until", "5"],
        ["--group", "g", "-p", "0"],
        ["--group", "g", "--until", "5"],
        ["--group", "g", "--from", "5"],
        ["--json", "--format", "%v"],
        ["--count", "0"],
        ["--from", "yesterday"],
    ],
)
def test_options_that_make_no_sense_together_are_wrong_usage(
    riverlog: Riverlog, topic: str, arguments: list[str]
) -> None:
    refused = riverlog("consume", topic, *arguments, expect=2)

    assert refused.err.startswith("usage: riverlog consume")
