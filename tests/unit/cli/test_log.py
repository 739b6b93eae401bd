"""`riverlog log dump`, as it prints."""

import json
from pathlib import Path

import pytest

from riverlog.cli import main
from riverlog.protocol.records import Record, build_batch


@pytest.fixture
def partition(tmp_path: Path) -> Path:
    directory = tmp_path / "orders-0"
    directory.mkdir()
    records = [Record(0, 1000, b"k", b"v", (("h", b"x"),)), Record(0, 1001, None, b"\xff" * 300, ())]
    segment = build_batch(records, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    (directory / f"{0:020d}.log").write_bytes(segment)
    (directory / f"{0:020d}.index").touch()
    (directory / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    return directory


def test_batches_are_listed_under_their_file(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["log", "dump", str(partition)])

    printed = capsys.readouterr().out
    assert code == 0
    assert f"{partition}/00000000000000000000.log\n  at 0  offsets 0..1  2 records  CreateTime" in printed
    assert "producer 7 epoch 0  sequence 0..1  transactional" in printed
    assert "1 batch, 2 records, next offset 2" in printed
    assert "0 entries, compared with the segment" in printed
    assert "epoch: epoch 0  start_offset 0" in printed


def test_records_are_shown_on_request_and_long_ones_cut(
    partition: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["log", "dump", str(partition), "--records"])

    printed = capsys.readouterr().out
    assert "key 'k'  value 'v'  h='x'" in printed
    assert "key null  value b'\\xff\\xff" in printed
    assert "... (300 bytes)" in printed


def test_json_has_everything(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["log", "dump", "--records", "--json", str(partition / f"{0:020d}.log")])

    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["kind"] for line in lines] == ["batch", "record", "record", "segment"]
    assert lines[1]["headers"] == [{"name": "h", "value": "x"}]
    assert len(lines[2]["value_base64"]) == 400


def test_a_summary_is_one_line_per_segment_and_a_verdict(
    partition: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["log", "dump", "--summary", str(partition)])

    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert len(lines) == 2
    assert lines[0].endswith(": sound")
    assert lines[1] == "3 files, 2 records: all sound"


def test_damage_is_the_exit_code(partition: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segment = partition / f"{0:020d}.log"
    segment.write_bytes(segment.read_bytes()[:-1])

    code = main(["log", "dump", str(partition), "--summary"])

    lines = capsys.readouterr().out.splitlines()
    assert code == 1
    assert "DAMAGED at byte 0: the file ends inside a batch; all before it is sound, the last" in lines[0]
    assert lines[1] == "3 files, 0 records: 1 damaged"


def test_a_file_that_cannot_be_decoded_does_not_hide_the_others(
    partition: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (partition / "leader-epoch-checkpoint").write_text("nonsense")

    code = main(["log", "dump", str(partition), "--summary"])

    printed = capsys.readouterr()
    assert code == 1
    assert "riverlog: not a leader epoch checkpoint" in printed.err
    assert "2 records: 1 damaged" in printed.out


def test_a_path_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["log", "dump", str(tmp_path / "nothing")])

    assert code == 1
    assert capsys.readouterr().err == f"riverlog: {tmp_path}/nothing: no such file or directory\n"
