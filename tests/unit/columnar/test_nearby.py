"""Whose a partition's directory is."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from riverlog.columnar.nearby import Home, partition_directory
from riverlog.types import TopicPartition

PLACE = TopicPartition("orders", 3)
TOPIC_ID = bytes(range(16))
HOME = Home("mine", TOPIC_ID, 1)


def made(
    directory: Path, *, cluster: str = "mine", node: str = "node.id=1", topic_id: bytes = TOPIC_ID
) -> str:
    partition = directory / "orders-3"
    partition.mkdir(parents=True)
    (directory / "meta.properties").write_text(f"#\nversion=1\ncluster.id={cluster}\n{node}\n")
    text = base64.urlsafe_b64encode(topic_id).decode().rstrip("=")
    (partition / "partition.metadata").write_text(f"version: 0\ntopic_id: {text}\n")
    return str(directory)


def test_a_directory_of_the_leader_is_found_among_several(tmp_path: Path) -> None:
    here = made(tmp_path / "here")

    assert partition_directory([str(tmp_path / "none"), here], PLACE, HOME) == f"{here}/orders-3"
    assert partition_directory([made(tmp_path / "old", node="broker.id=1")], PLACE, HOME) is not None


@pytest.mark.parametrize("other", [{"cluster": "yours"}, {"node": "node.id=2"}, {"topic_id": bytes(16)}])
def test_a_directory_of_anybody_else_is_not_taken(tmp_path: Path, other: dict[str, str]) -> None:
    assert partition_directory([made(tmp_path / "here", **other)], PLACE, HOME) is None  # type: ignore[arg-type]  # one of three


def test_a_cluster_that_does_not_say_who_it_is_is_asked_for_records(tmp_path: Path) -> None:
    here = [made(tmp_path / "here")]

    assert partition_directory(here, PLACE, HOME._replace(cluster_id=None)) is None
    assert partition_directory(here, PLACE, HOME._replace(topic_id=bytes(16))) is None
