"""Files of a log directory, decoded: sound ones, torn ones, damaged ones."""

from pathlib import Path
from struct import pack
from typing import Any

import pytest

from riverlog.cli.dump import Finding, decode, files_of
from riverlog.errors import StorageError
from riverlog.log.checkpoints import encode_offsets
from riverlog.log.identity import MetaProperties, encode_meta_properties, encode_partition_metadata
from riverlog.log.leader_epochs import EpochStart, LeaderEpochs
from riverlog.log.producer_state import ProducerState
from riverlog.protocol.batches import read_header
from riverlog.protocol.compression import Compression
from riverlog.protocol.control_records import TransactionMarker, build_marker_batch
from riverlog.protocol.records import Record, build_batch
from riverlog.protocol.rewriting import with_delete_horizon, without_records
from riverlog.types import TopicPartition

SEGMENT = "00000000000000000100"


def batch(base_offset: int, values: list[bytes], **options: Any) -> bytes:
    records = [Record(0, 1000 + number, b"k", value, (("h", b"x"),)) for number, value in enumerate(values)]
    return bytes(build_batch(records, base_offset=base_offset, leader_epoch=3, **options))


def write(directory: Path, suffix: str, content: bytes) -> str:
    path = directory / (SEGMENT + suffix)
    path.write_bytes(content)
    return str(path)


def findings(path: str, kind: str | None = None, *, is_deep: bool = False) -> list[Finding]:
    return [found for found in decode(path, is_deep=is_deep) if kind in (None, found.kind)]


def fields(path: str, kind: str, *, is_deep: bool = False) -> list[dict[str, Any]]:
    return [found.fields for found in findings(path, kind, is_deep=is_deep)]


# Segments


def test_a_sound_segment_lists_its_batches_and_sums_them_up(tmp_path: Path) -> None:
    first = batch(100, [b"a", b"b"])
    second = batch(
        102, [b"c"], compression=Compression.ZSTD, producer_id=7, producer_epoch=1, base_sequence=4
    )

    path = write(tmp_path, ".log", first + second)

    one, two = fields(path, "batch")
    assert (one["position"], one["base_offset"], one["last_offset"], one["records"]) == (0, 100, 101, 2)
    assert (one["leader_epoch"], one["compression"], one["producer_id"]) == (3, "none", None)
    assert (two["position"], two["base_offset"], two["compression"]) == (len(first), 102, "zstd")
    assert (two["producer_id"], two["producer_epoch"], two["base_sequence"], two["last_sequence"]) == (
        7,
        1,
        4,
        4,
    )
    [summary] = fields(path, "segment")
    assert summary["problem"] is None
    assert (summary["batches"], summary["records"], summary["next_offset"]) == (2, 3, 103)
    assert not any(found.is_damage for found in findings(path))


def test_records_are_shown_on_request_also_compressed_ones(tmp_path: Path) -> None:
    path = write(tmp_path, ".log", batch(100, [b"a", b"\xff"], compression=Compression.LZ4))

    records = fields(path, "record", is_deep=True)

    assert [(record["offset"], record["value"]) for record in records] == [(100, b"a"), (101, b"\xff")]
    assert records[0]["headers"] == (("h", b"x"),)
    assert not findings(path, "record", is_deep=False)


def test_a_marker_says_how_its_transaction_ended(tmp_path: Path) -> None:
    marker = build_marker_batch(TransactionMarker(False, 5), producer_id=7, producer_epoch=0, timestamp=1)

    path = write(tmp_path, ".log", bytes(marker))

    [control] = fields(path, "control", is_deep=True)
    assert (control["marker"], control["coordinator_epoch"]) == ("abort", 5)


def test_what_compaction_left_is_shown(tmp_path: Path) -> None:
    original = read_header(batch(100, [b"a", b"b"]))
    tombstone = with_delete_horizon(original, [(5, b"\x00\x02a\x01\x00")], 7000, 5)

    path = write(tmp_path, ".log", tombstone + without_records(original._replace(base_offset=102)))

    marked, empty = fields(path, "batch")
    assert (marked["delete_horizon"], marked["records"], marked["last_offset"]) == (7000, 1, 101)
    assert (empty["delete_horizon"], empty["records"], empty["last_offset"]) == (None, 0, 103)
    [record] = fields(path, "record", is_deep=True)
    assert (record["offset"], record["timestamp"], record["key"], record["value"]) == (100, 5, b"a", None)
    checkpoint = tmp_path / "cleaner-offset-checkpoint"
    checkpoint.write_bytes(encode_offsets({TopicPartition("orders", 1): 99}))
    assert fields(str(checkpoint), "checkpoint") == [{"topic": "orders", "partition": 1, "offset": 99}]


def test_a_torn_tail_is_located_and_what_is_before_it_counted(tmp_path: Path) -> None:
    whole, torn = batch(100, [b"a"]), batch(101, [b"b"])[:-1]

    path = write(tmp_path, ".log", whole + torn)

    [summary] = findings(path, "segment")
    assert summary.is_damage
    assert summary.fields["valid_bytes"] == len(whole)
    assert summary.fields["next_offset"] == 101
    assert summary.fields["problem"] == "the file ends inside a batch"


def test_a_flipped_bit_is_found_by_the_crc(tmp_path: Path) -> None:
    content = bytearray(batch(100, [b"a"]) + batch(101, [b"b"]) + batch(102, [b"c"]))
    second = len(batch(100, [b"a"]))
    content[second + 65] ^= 1

    path = write(tmp_path, ".log", bytes(content))

    [summary] = fields(path, "segment")
    assert summary["valid_bytes"] == second
    assert summary["problem"] == "a CRC that does not match"


def test_records_that_belie_their_crc_are_damage(tmp_path: Path) -> None:
    content = bytearray(batch(100, [b"a"]))
    content[60] = 9  # record count: 9 where one record follows
    from riverlog.protocol.batches import seal

    seal(content, 0, read_header(content).attributes, len(content))
    path = write(tmp_path, ".log", bytes(content))

    [damage] = findings(path, "damage", is_deep=True)

    assert damage.is_damage
    assert damage.fields["problem"].startswith("the CRC is right and the records are not")


def test_offsets_that_go_back_are_damage(tmp_path: Path) -> None:
    path = write(tmp_path, ".log", batch(105, [b"a"]) + batch(101, [b"b"]))

    [damage] = fields(path, "damage")

    assert damage["problem"] == "offset 101 where at least 106 is due"


def test_an_empty_segment_is_sound(tmp_path: Path) -> None:
    path = write(tmp_path, ".log", b"")

    [summary] = findings(path)

    assert not summary.is_damage
    assert summary.fields["next_offset"] == 100


# Indexes


def test_index_entries_are_compared_with_the_segment(tmp_path: Path) -> None:
    first, second = batch(100, [b"a", b"b"]), batch(102, [b"c"])
    write(tmp_path, ".log", first + second)
    right = write(tmp_path, ".index", pack(">ii", 2, len(first)))

    assert fields(right, "index entry") == [{"last_offset": 102, "position": len(first)}]
    assert fields(right, "index") == [{"entries": 1, "is_compared": True}]

    wrong = write(tmp_path, ".index", pack(">ii", 2, len(first) - 1))

    [damage] = findings(wrong, "damage")
    assert damage.is_damage
    assert f"no batch with last offset 102 begins at {len(first) - 1}" in damage.fields["problem"]


def test_an_index_alone_is_shown_unchecked(tmp_path: Path) -> None:
    path = write(tmp_path, ".index", pack(">ii", 2, 70))

    assert fields(path, "index") == [{"entries": 1, "is_compared": False}]


def test_room_set_aside_at_the_end_of_an_index_is_not_entries(tmp_path: Path) -> None:
    index = write(tmp_path, ".index", pack(">ii", 5, 256) + bytes(80))
    times = write(tmp_path, ".timeindex", pack(">qi", 1000, 0) + bytes(120))

    assert fields(index, "index entry") == [{"last_offset": 105, "position": 256}]
    assert fields(times, "time entry") == [{"timestamp": 1000, "offset": 100}]


def test_bytes_behind_the_last_entry_are_damage(tmp_path: Path) -> None:
    path = write(tmp_path, ".txnindex", pack(">hqqqq", 0, 7, 100, 110, 111) + b"abc")

    assert fields(path, "aborted transaction") == [
        {
            "version": 0,
            "producer_id": 7,
            "first_offset": 100,
            "last_offset": 110,
            "last_stable_offset": 111,
        }
    ]
    assert fields(path, "damage") == [
        {"position": 34, "problem": "3 bytes stand behind the last whole entry"}
    ]


def test_times_that_go_back_are_damage(tmp_path: Path) -> None:
    path = write(tmp_path, ".timeindex", pack(">qi", 2000, 5) + pack(">qi", 1000, 6))

    [damage] = fields(path, "damage")

    assert damage == {"position": 12, "problem": "the entry goes back in time or offset"}


# Small files


def test_producer_state_is_decoded_and_its_crc_checked(tmp_path: Path) -> None:
    state = ProducerState()
    header = read_header(batch(100, [b"a"], producer_id=7, producer_epoch=1, base_sequence=4))
    state.record(header, 100, 1000)
    content = state.encode()

    path = write(tmp_path, ".snapshot", content)

    [producer] = fields(path, "producer")
    assert (producer["producer_id"], producer["epoch"], producer["last_sequence"]) == (7, 1, 4)
    assert (producer["last_offset"], producer["open_transaction_offset"]) == (100, None)
    assert fields(path, "snapshot") == [{"producers": 1, "offset": 100}]

    torn = write(tmp_path, ".snapshot", content[:-1] + b"?")
    with pytest.raises(StorageError, match="CRC"):
        findings(torn)


def test_checkpoints_and_identities_are_decoded(tmp_path: Path) -> None:
    (tmp_path / "leader-epoch-checkpoint").write_bytes(LeaderEpochs([EpochStart(2, 50)]).encode())
    (tmp_path / "recovery-point-offset-checkpoint").write_bytes(
        encode_offsets({TopicPartition("orders", 3): 17})
    )
    (tmp_path / "meta.properties").write_bytes(
        encode_meta_properties(MetaProperties("cluster", 4, bytes(range(16))))
    )
    (tmp_path / "partition.metadata").write_bytes(encode_partition_metadata(bytes(range(16))))

    found = {Path(path).name: findings(path)[0] for path in files_of(str(tmp_path))}

    assert found["leader-epoch-checkpoint"].fields == {"epoch": 2, "start_offset": 50}
    assert found["recovery-point-offset-checkpoint"].fields == {
        "topic": "orders",
        "partition": 3,
        "offset": 17,
    }
    assert found["meta.properties"].fields["node_id"] == 4
    assert found["partition.metadata"].fields == {"topic_id": "AAECAwQFBgcICQoLDA0ODw"}


# Which files


def test_a_data_directory_stands_for_its_partitions_too(tmp_path: Path) -> None:
    for name in ("orders-0", "orders-1", "not a partition"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{SEGMENT}.log").touch()
        (tmp_path / name / "notes.txt").touch()
    (tmp_path / "meta.properties").touch()

    found = [str(Path(path).relative_to(tmp_path)) for path in files_of(str(tmp_path))]

    assert found == ["meta.properties", f"orders-0/{SEGMENT}.log", f"orders-1/{SEGMENT}.log"]


def test_segments_about_to_be_deleted_are_decoded_too(tmp_path: Path) -> None:
    path = write(tmp_path, ".log.deleted", batch(100, [b"a"]))

    assert fields(path, "segment")[0]["records"] == 1


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.touch()

    with pytest.raises(StorageError, match=r"not a file of a log: expected \.log, .*notes\.txt"):
        findings(str(path))


def test_a_path_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(files_of(str(tmp_path / "nothing")))
