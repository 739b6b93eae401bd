"""How far a query has come, read from Spark's files."""

from __future__ import annotations

import json
from pathlib import Path

from riverlog.pipelines.jobs.checkpoint import (
    StateOperator,
    is_at_or_after,
    planned_from,
    position_of,
    progress,
    state_operators,
    watermark_from,
)


def batch(
    checkpoint: Path, number: int, *, offset: int = 0, watermark: int = 0, following: int | None = None
) -> None:
    """Write what Spark writes of a batch: planned, and done where `following` is its next watermark."""
    for name in ("offsets", "commits"):
        (checkpoint / name).mkdir(exist_ok=True)
    settings = json.dumps({"batchWatermarkMs": watermark, "conf": {}})
    position = json.dumps({"clicks": {"0": offset}})
    (checkpoint / "offsets" / str(number)).write_text(f"v2\n{settings}\nclicks:{position}")
    if following is not None:
        done = json.dumps({"nextBatchWatermarkMs": following})
        (checkpoint / "commits" / str(number)).write_text(f"v1\n{done}")


def test_there_is_nothing_before_the_first_batch(tmp_path: Path) -> None:
    found = progress(tmp_path)

    assert (found.planned, found.done, found.offsets) == (-1, -1, {})
    assert found.is_settled(moves_with_watermark=True)


def test_the_position_is_that_of_the_last_batch_that_is_done(tmp_path: Path) -> None:
    batch(tmp_path, 9, offset=5, following=0)
    batch(tmp_path, 10, offset=8, following=0)
    batch(tmp_path, 11, offset=12)
    (tmp_path / "offsets" / ".12.crc").write_text("")

    found = progress(tmp_path)

    assert (found.planned, found.done) == (11, 10)
    assert position_of(found.offsets) == {"clicks": {"clicks": {0: 8}}}
    assert not found.is_between_batches


def test_a_query_is_not_settled_while_a_batch_is_due_for_the_watermark_alone(tmp_path: Path) -> None:
    batch(tmp_path, 0, offset=5, watermark=0, following=1000)

    assert progress(tmp_path).is_between_batches
    assert not progress(tmp_path).is_settled(moves_with_watermark=True)
    assert progress(tmp_path).is_settled(moves_with_watermark=False)

    batch(tmp_path, 1, offset=5, watermark=1000, following=1000)
    assert progress(tmp_path).is_settled(moves_with_watermark=True)


def test_sources_without_names_are_known_by_their_order() -> None:
    found = planned_from('v1\n{"batchWatermarkMs":7}\n{"logOffset":3}\n-\n4')

    assert found.watermark_ms == 7
    assert found.offsets == {"0": {"logOffset": 3}, "2": 4}


def test_a_commit_of_an_old_spark_tells_no_watermark() -> None:
    assert watermark_from("v1\n{}") == 0
    assert watermark_from("v1\n") == 0


def test_where_partitions_begin_is_no_position_in_a_topic() -> None:
    offsets = {"clicks": {"clicks": {"0": 8}, "(begins)": {"clicks": {"0": 2}}}, "files": {"logOffset": 3}}

    assert position_of(offsets) == {"clicks": {"clicks": {0: 8}}}


def test_a_topic_whose_name_is_a_number_is_no_trouble() -> None:
    offsets = {"clicks": {"7": {"0": 8}, "(begins)": {"7": {"0": 2}}}}

    assert position_of(offsets) == {"clicks": {"7": {0: 8}}}


def test_a_position_is_compared_partition_by_partition() -> None:
    here = {"clicks": {"clicks": {0: 5, 1: 7}}}

    assert is_at_or_after(here, {"clicks": {"clicks": {0: 5, 1: 6}}})
    assert not is_at_or_after(here, {"clicks": {"clicks": {0: 6, 1: 6}}})
    assert not is_at_or_after(here, {"clicks": {"clicks": {2: 1}}})
    assert is_at_or_after(here, {"other": {"other": {0: 99}}})


def test_operators_with_state_are_named_by_the_checkpoint(tmp_path: Path) -> None:
    old, new = tmp_path / "state" / "1" / "_metadata", tmp_path / "state" / "0" / "_metadata"
    old.mkdir(parents=True)
    (new / "v2").mkdir(parents=True)
    text = (
        'v1\n{{"operatorInfo":{{"operatorId":{},"operatorName":"{}"}},'
        '"stateStoreInfo":[{{"numPartitions":2}}]}}'
    )
    (old / "metadata").write_text(text.format(1, "dedupe"))
    (new / "v2" / "0").write_text(text.format(0, "wrong"))
    (new / "v2" / "10").write_text(text.format(0, "transformWithStateInPySparkExec"))

    assert state_operators(tmp_path) == [
        StateOperator(0, "transformWithStateInPySparkExec", 2),
        StateOperator(1, "dedupe", 2),
    ]
