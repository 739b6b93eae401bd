"""DescribeLogDirs and AlterReplicaLogDirs."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from riverlog.broker.apis.alter_replica_log_dirs import verdict
from riverlog.broker.apis.describe_log_dirs import disk_space
from riverlog.errors import StorageError
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.broker.apis.asking import AskedBroker


def asked_topic(name: str, *partitions: int) -> messages.DescribableLogDirTopic:
    return messages.DescribableLogDirTopic(topic=name, partitions=list(partitions))


def told(answer: messages.DescribeLogDirsResponse) -> dict[tuple[str, int], int]:
    """The sizes of the partitions in all directories."""
    return {
        (topic.name, partition.partition_index): partition.partition_size
        for directory in answer.results
        for topic in directory.topics
        for partition in topic.partitions
    }


@pytest.mark.parametrize("version", range(1, 6))
def test_directories_are_told_with_their_partitions_in_every_version(
    asked: AskedBroker, tmp_path: Path, version: int
) -> None:
    asked.topic("a", 2)
    asked.append("a", index=1)

    answer = asked.ask(messages.DescribeLogDirsRequest(topics=None), version)

    assert [directory.log_dir for directory in answer.results] == [str(tmp_path / "data")]
    assert told(answer) == {("a", 0): 0, ("a", 1): asked.log("a", 1).size}
    if version >= 4:
        assert 0 < answer.results[0].usable_bytes <= answer.results[0].total_bytes


def test_a_list_of_topics_restricts_the_answer_and_the_empty_one_to_nothing(asked: AskedBroker) -> None:
    asked.topic("a", 2)
    asked.topic("b")

    some = asked.ask(messages.DescribeLogDirsRequest(topics=[asked_topic("a", 1, 7), asked_topic("nope", 0)]))
    none = asked.ask(messages.DescribeLogDirsRequest(topics=[]))

    assert told(some).keys() == {("a", 1)}
    assert told(none) == {}
    assert none.results[0].error_code == 0


def test_a_failed_directory_tells_nothing_but_that(asked: AskedBroker) -> None:
    asked.topic("a")
    asked.broker.logs.directories[0].failure = StorageError("the disk is gone")

    [directory] = asked.ask(messages.DescribeLogDirsRequest(topics=None)).results

    assert (directory.error_code, directory.topics) == (ErrorCode.KAFKA_STORAGE_ERROR, [])
    asked.broker.logs.directories[0].failure = None


def test_the_space_of_a_path_that_is_gone_is_unknown(tmp_path: Path) -> None:
    assert disk_space(str(tmp_path / "gone")) == (-1, -1)


@pytest.mark.parametrize(
    ("path", "current", "code"),
    [
        ("/data/1", "/data/1", ErrorCode.NONE),
        ("/data/2", "/data/1", ErrorCode.INVALID_REQUEST),
        ("/data/3", "/data/1", ErrorCode.LOG_DIR_NOT_FOUND),
        ("/data/3", None, ErrorCode.LOG_DIR_NOT_FOUND),
        ("/data/1", None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_a_partition_stays_where_it_is(path: str, current: str | None, code: ErrorCode) -> None:
    assert verdict(path, current=current, known={"/data/1", "/data/2"}) == code


@pytest.mark.parametrize("version", [1, 2])
def test_moves_are_answered_by_topic_and_partition(asked: AskedBroker, tmp_path: Path, version: int) -> None:
    asked.topic("a")
    here = messages.AlterReplicaLogDir(
        path=str(tmp_path / "data"),
        topics=[messages.AlterReplicaLogDirTopic(name="a", partitions=[0, 9])],
    )
    nowhere = messages.AlterReplicaLogDir(
        path="/nowhere", topics=[messages.AlterReplicaLogDirTopic(name="b", partitions=[0])]
    )

    answer = asked.ask(messages.AlterReplicaLogDirsRequest(dirs=[here, nowhere]), version)

    assert {
        (topic.topic_name, partition.partition_index): partition.error_code
        for topic in answer.results
        for partition in topic.partitions
    } == {("a", 0): 0, ("a", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ("b", 0): ErrorCode.LOG_DIR_NOT_FOUND}


def test_partitions_of_several_directories_are_told_where_they_lie(tmp_path: Path) -> None:
    directories = f"{tmp_path / 'one'},{tmp_path / 'two'}"
    with closing(AskedBroker(tmp_path, f"log.dirs={directories}")) as asked:
        asked.topic("a", 4)

        answer = asked.ask(messages.DescribeLogDirsRequest(topics=None))

        assert [Path(directory.log_dir).name for directory in answer.results] == ["one", "two"]
        assert [len(directory.topics[0].partitions) for directory in answer.results] == [2, 2]
