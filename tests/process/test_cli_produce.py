"""`riverlog produce` against a running broker."""

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.process.command import Riverlog

EVERYTHING = "%p|%k|%v|%h\\n"


def test_each_line_is_a_record(riverlog: Riverlog, topic: str) -> None:
    produced = riverlog("produce", topic, stdin="hello\n\nwörld\nno newline at the end".encode())

    assert produced.err.startswith(f"4 records delivered to topic '{topic}' (")
    assert riverlog("consume", topic).lines == ["hello", "", "wörld", "no newline at the end"]


def test_no_input_is_no_record(riverlog: Riverlog, topic: str) -> None:
    produced = riverlog("produce", topic)

    assert produced.err.startswith("0 records delivered")


def test_lines_carry_headers_and_keys_where_announced(riverlog: Riverlog, topic: str) -> None:
    riverlog("produce", topic, "--headers", "-K", "=>", "-H", "common=x", stdin=b"a=1,b=2\tk=>v=>w\n\tk=>\n")

    assert riverlog("consume", topic, "--format", EVERYTHING).lines == [
        "0|k|v=>w|a=1,b=2,common=x",
        "0|k||common=x",
    ]


def test_files_are_read_in_order_and_standard_input_where_it_is_named(
    riverlog: Riverlog, topic: str, tmp_path: Path
) -> None:
    (tmp_path / "one").write_text("1\n2\n")
    (tmp_path / "two").write_text("3\n")

    riverlog(
        "produce", topic, str(tmp_path / "one"), "-", "-k", "key", str(tmp_path / "two"), stdin=b"stdin\n"
    )

    assert riverlog("consume", topic, "--format", "%k:%v\\n").lines == [
        "key:1",
        "key:2",
        "key:stdin",
        "key:3",
    ]


def test_a_whole_file_is_one_record_whatever_its_bytes(
    riverlog: Riverlog, topic: str, tmp_path: Path
) -> None:
    content = bytes(range(256)) * 100
    (tmp_path / "picture").write_bytes(content)

    riverlog("produce", topic, "--whole", str(tmp_path / "picture"))

    assert riverlog("consume", topic, "--format", "%v").out == content


def test_empty_means_null_where_asked_for(riverlog: Riverlog, topic: str) -> None:
    riverlog("produce", topic, "-K", ":", "--null", stdin=b"k:\n:v\n")

    first, second = riverlog("consume", topic, "--json").objects
    assert (first["key"], first["value"]) == ("k", None)
    assert (second["key"], second["value"]) == (None, "v")


def test_objects_say_everything_about_a_record(riverlog: Riverlog, new_topic: Callable[..., str]) -> None:
    topic = new_topic(3)
    wanted = {
        "key": "k",
        "value": "v",
        "headers": [{"name": "h", "value": "1"}, {"name": "h", "value_base64": "/w=="}],
        "partition": 2,
        "timestamp": 1_735_689_600_000,
    }

    riverlog("produce", topic, "--json", stdin=json.dumps(wanted).encode() + b"\n\n")

    [record] = riverlog("consume", topic, "--json").objects
    assert {name: record[name] for name in wanted} == wanted
    assert record["timestamp_type"] == "CreateTime"


def test_a_topic_is_copied_through_objects(riverlog: Riverlog, new_topic: Callable[..., str]) -> None:
    original, copy = new_topic(2), new_topic(2)
    riverlog("produce", original, "-K", ":", "-H", "h=x", stdin=b"a:1\nb:2\nc:\xff\n")

    riverlog("produce", copy, "--json", stdin=riverlog("consume", original, "--json").out)

    form = "%p %k %v %h %T\\n"
    copied = riverlog("consume", copy, "--format", form).out.splitlines()
    assert sorted(copied) == sorted(riverlog("consume", original, "--format", form).out.splitlines())
    assert len(copied) == 3


def test_a_key_decides_the_partition_as_java_clients_do(
    riverlog: Riverlog, new_topic: Callable[..., str]
) -> None:
    # murmur2(key) & 0x7fffffff modulo 3, as Kafka's own partitioner has it
    topic = new_topic(3)

    riverlog("produce", topic, "-K", ":", stdin=b"a:x\nb:x\nc:x\n21:x\nfoobar:x\n")

    records = riverlog("consume", topic, "--format", "%k %p\\n").lines
    assert dict(line.split() for line in records) == murmur2_partitions(["a", "b", "c", "21", "foobar"], 3)


def murmur2_partitions(keys: list[str], partitions: int) -> dict[str, str]:
    from confluent_kafka.cimpl import murmur2

    return {key: str(murmur2(key.encode(), partitions)) for key in keys}


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_every_codec_arrives_unharmed(riverlog: Riverlog, topic: str, codec: str) -> None:
    lines = [f"{number} and some text that compresses well " * 5 for number in range(200)]

    riverlog("produce", topic, "--compression", codec, stdin="\n".join(lines).encode())

    assert riverlog("consume", topic).lines == lines


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_kind_of_acknowledgement_delivers(riverlog: Riverlog, topic: str, acks: str) -> None:
    produced = riverlog("produce", topic, "--acks", acks, stdin=b"a\n")

    assert ("unacknowledged" in produced.err) == (acks == "0")
    assert riverlog("consume", topic, "--follow", "--from", "start", "--count", "1").lines == ["a"]


def test_many_records_keep_their_order(riverlog: Riverlog, topic: str) -> None:
    lines = [str(number) for number in range(50_000)]

    produced = riverlog("produce", topic, stdin="\n".join(lines).encode())

    assert produced.err.startswith("50,000 records delivered")
    assert riverlog("consume", topic).lines == lines


def test_a_record_that_is_refused_is_reported_and_the_others_arrive(
    riverlog: Riverlog, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(max_message_bytes="2000")

    # one batch each, so that only the large one is refused
    failed = riverlog(
        "produce", topic, "-X", "batch.num.messages=1", stdin=b"a\n" + b"x" * 5000 + b"\nb\n", expect=1
    )

    assert f"riverlog: 1 record for topic '{topic}' not delivered: larger than the topic's" in failed.err
    assert "max.message.bytes" in failed.err
    assert f"2 records delivered to topic '{topic}'" in failed.err
    assert riverlog("consume", topic).lines == ["a", "b"]


def test_a_partition_that_is_not_there_is_named(riverlog: Riverlog, topic: str) -> None:
    failed = riverlog("produce", topic, "-p", "9", stdin=b"a\nb\n", expect=1)

    assert f"riverlog: 2 records for topic '{topic}' not delivered: there is no partition 9" in failed.err


def test_a_line_that_is_not_as_announced_ends_the_command_there(riverlog: Riverlog, topic: str) -> None:
    failed = riverlog("produce", topic, "-K", ":", stdin=b"a:1\nb\nc:3\n", expect=1)

    assert "standard input, line 2: no key separator ':'" in failed.err
    assert "it and what follows were not sent" in failed.err
    assert riverlog("consume", topic).lines == ["1"]


def test_a_wrong_object_is_named_by_its_line(riverlog: Riverlog, topic: str, tmp_path: Path) -> None:
    file = tmp_path / "records.json"
    file.write_text('{"value": 1}\n{"valeu": 2}\n')

    failed = riverlog("produce", topic, "--json", str(file), expect=1)

    assert f"{file}, line 2: unknown field 'valeu'" in failed.err


def test_a_missing_file_is_named(riverlog: Riverlog, topic: str) -> None:
    failed = riverlog("produce", topic, "no-such-file", expect=1)

    assert "riverlog: no-such-file: no such file or directory" in failed.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--json", "--whole"],
        ["-K", ":", "-k", "x"],
        ["--json", "-K", ":"],
        ["--whole", "--headers"],
        ["-K", ""],
    ],
)
def test_options_that_contradict_each_other_are_wrong_usage(
    riverlog: Riverlog, topic: str, arguments: list[str]
) -> None:
    riverlog("produce", topic, *arguments, expect=2)


def test_quiet_says_nothing_when_all_went_well(riverlog: Riverlog, topic: str) -> None:
    assert riverlog("produce", topic, "--quiet", stdin=b"a\n").err == ""


def test_ctrl_c_delivers_what_was_read_before_it(riverlog: Riverlog, topic: str) -> None:
    with riverlog.started("produce", topic) as running:
        assert running.stdin is not None
        running.stdin.write(b"a\nb\n")
        running.stdin.flush()
        consumed = riverlog("consume", topic, "--follow", "--from", "start", "--count", "2")

        running.send_signal(signal.SIGINT)
        _, error = running.communicate(timeout=30)

    assert running.returncode == 130
    assert error.decode().startswith(f"2 records delivered to topic '{topic}'")
    assert consumed.lines == ["a", "b"]
