"""`riverlog export` against a running broker: files that other tools read as tables."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet
import pytest

from tests.process.command import Riverlog


@pytest.fixture
def ten(riverlog: Riverlog, topic: str) -> str:
    """A topic with the records 0 to 9, a second apart, each with a header."""
    lines = [
        f'{{"key": "k{number}", "value": "{number}", "timestamp": {1_700_000_000_000 + number * 1000},'
        f'"headers": [{{"name": "n", "value": "{number}"}}]}}'
        for number in range(10)
    ]
    riverlog("produce", topic, "--json", stdin="\n".join(lines).encode())
    return topic


def table(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pa.parquet.read_table(path)
    if path.suffix == ".arrow":
        return pa.ipc.open_file(path).read_all()
    return pa.csv.read_csv(path)


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_all_of_a_record_is_in_the_file(riverlog: Riverlog, ten: str, tmp_path: Path, form: str) -> None:
    path = tmp_path / f"ten.{form}"

    exported = riverlog("export", ten, "-o", str(path))

    found = table(path)
    assert exported.text.startswith(f"10 records in {path}, ")
    assert found["value"].to_pylist() == [b"%d" % number for number in range(10)]
    assert found["offset"].to_pylist() == list(range(10))
    assert found["topic"].to_pylist() == [ten] * 10
    assert found["headers"].to_pylist()[7] == [{"key": "n", "value": b"7"}]
    assert [path.name for path in tmp_path.iterdir()] == [path.name]


def test_csv_holds_text(riverlog: Riverlog, ten: str, tmp_path: Path) -> None:
    path = tmp_path / "ten.csv"

    riverlog("export", ten, "-o", str(path), "--columns", "offset,key,value", "--from", "-2")

    assert path.read_text() == '"offset","key","value"\n8,"k8","8"\n9,"k9","9"\n'


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--from", "7"], [7, 8, 9]),
        (["--until", "-8"], [0, 1]),
        (["--from", "@1700000004000", "--until", "@1700000006001"], [4, 5, 6]),
        (["--from", "end"], []),
        (["--partition", "0", "--from", "9"], [9]),
    ],
)
def test_positions_choose_the_records(
    riverlog: Riverlog, ten: str, tmp_path: Path, arguments: list[str], expected: list[int]
) -> None:
    path = tmp_path / "some.parquet"

    summary = riverlog("export", ten, "-o", str(path), "--json", *arguments).objects

    assert table(path)["offset"].to_pylist() == expected
    assert summary == [
        {
            "topic": ten,
            "file": str(path),
            "format": "parquet",
            "records": len(expected),
            "bytes": path.stat().st_size,
        }
    ]


def test_what_fails_leaves_no_file_and_an_old_one_as_it_was(
    riverlog: Riverlog, topic: str, tmp_path: Path
) -> None:
    riverlog("produce", topic, "--json", stdin=b'{"value_base64": "/w=="}')
    path = tmp_path / "old.csv"
    path.write_text("old")

    refused = riverlog("export", topic, "-o", str(path), expect=1)

    assert "not text (UTF-8): write parquet or arrow" in refused.err
    assert path.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["old.csv"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["-o", "out.xlsx"], "ends with none of parquet, arrow, csv"),
        (["-o", "out.csv", "--columns", "value,headers"], "CSV has no place for headers"),
        (["-o", "out.csv", "--columns", "velue"], "velue"),
        (["-o", "out.csv", "-X", "security.protocol=SSL"], "over plain connections only"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage(
    riverlog: Riverlog, topic: str, arguments: list[str], reason: str
) -> None:
    assert reason in riverlog("export", topic, *arguments, expect=2).err


def test_a_folder_that_is_not_there_is_named(riverlog: Riverlog, topic: str, tmp_path: Path) -> None:
    refused = riverlog("export", topic, "-o", str(tmp_path / "no" / "out.csv"), expect=1)

    assert f"{tmp_path}/no/out.csv.partial: no such file or directory" in refused.err


def test_a_topic_that_is_not_there_is_refused(riverlog: Riverlog, tmp_path: Path) -> None:
    refused = riverlog("export", "no-such-topic", "-o", str(tmp_path / "out.csv"), expect=1)

    assert "no-such-topic" in refused.err
