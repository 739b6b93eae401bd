from pathlib import Path

import pytest

from riverlog.errors import CorruptBatch
from riverlog.log import replay
from riverlog.log.disk import Disk
from riverlog.log.leader_epochs import LeaderEpochs
from riverlog.log.producer_snapshots import ProducerSnapshots
from riverlog.log.producer_state import ProducerState
from riverlog.log.replay import RETRIES_MS_MAX, Replay, rebuild_producers
from riverlog.protocol.batches import read_header
from riverlog.protocol.control_records import TransactionMarker, build_marker_batch
from tests.batch_builders import batch, with_header
from tests.log_builders import NOW, append, new_log


def idempotent(sequence: int, producer_id: int = 9) -> bytearray:
    return batch(3, producer_id=producer_id, producer_epoch=0, base_sequence=sequence)


def known_sequences(producers: ProducerState, producer_id: int = 9) -> list[int]:
    producer = producers.get(producer_id)
    return [each.first_sequence for each in producer.batches] if producer else []


def test_the_epochs_of_batches_are_taken_in(tmp_path: Path) -> None:
    made = Replay(ProducerState(), LeaderEpochs(), NOW)

    for base_offset, epoch in ((0, 0), (3, 0), (6, 2), (9, 2)):
        made.take(read_header(with_header(batch(), base_offset=base_offset, leader_epoch=epoch)))

    assert list(made.epochs) == [(0, 0), (2, 6)]


def test_the_end_of_a_transaction_is_read_from_the_control_batch() -> None:
    made = Replay(ProducerState(), LeaderEpochs(), NOW)
    made.take(read_header(batch(producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True)))
    assert made.producers.transactions.first_undecided == 0
    marker = build_marker_batch(
        TransactionMarker(is_commit=True, coordinator_epoch=4),
        producer_id=9,
        producer_epoch=0,
        timestamp=NOW,
        base_offset=3,
        leader_epoch=1,
    )

    made.take_control(read_header(marker), marker)

    assert made.producers.transactions.first_undecided == -1
    assert made.epochs.latest == 1


def test_a_control_batch_that_cannot_be_read_is_corrupt() -> None:
    marker = build_marker_batch(
        TransactionMarker(is_commit=True, coordinator_epoch=4), producer_id=9, producer_epoch=0, timestamp=NOW
    )
    damaged = with_header(marker[:61] + b"\xff" * 20, batch_length=69)

    with pytest.raises(CorruptBatch, match="control batch at offset 0"):
        Replay(ProducerState(), LeaderEpochs(), NOW).take_control(read_header(damaged), damaged)


def test_a_snapshot_and_the_batches_behind_it_give_the_whole_state(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    snapshots = ProducerSnapshots(Disk(), log.path)
    append(log, idempotent(0))
    snapshots.write(3, log._producers)
    append(log, idempotent(3))
    append(log, idempotent(0, producer_id=8))

    producers = rebuild_producers(list(log._chain), snapshots, 9, NOW)

    assert known_sequences(producers) == [0, 3]
    assert known_sequences(producers, 8) == [0]


def test_batches_at_the_end_offset_and_behind_are_not_taken_in(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log, idempotent(0))
    append(log, idempotent(3))

    producers = rebuild_producers(list(log._chain), ProducerSnapshots(Disk(), log.path), 3, NOW)

    assert known_sequences(producers) == [0]


@pytest.mark.parametrize("segment_bytes", [300, 10**6])
def test_the_last_five_batches_before_a_snapshot_are_looked_up(tmp_path: Path, segment_bytes: int) -> None:
    log = new_log(tmp_path, segment_bytes=segment_bytes)
    for number in range(8):
        append(log, idempotent(3 * number))
    snapshots = ProducerSnapshots(Disk(), log.path)
    snapshots.write(24, log._producers)

    producers = rebuild_producers(list(log._chain), snapshots, 24, NOW)

    assert known_sequences(producers) == [9, 12, 15, 18, 21]


def test_nothing_is_looked_up_for_producers_that_are_long_done(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for number in range(8):
        append(log, idempotent(3 * number))
    snapshots = ProducerSnapshots(Disk(), log.path)
    snapshots.write(24, log._producers)

    producers = rebuild_producers(list(log._chain), snapshots, 24, NOW + RETRIES_MS_MAX + 1)

    assert known_sequences(producers) == [21]


def test_the_look_back_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "INDEX_ENTRIES_BACK", 2)
    log = new_log(tmp_path, index_interval_bytes=0)
    for number in range(8):
        append(log, idempotent(3 * number))
    snapshots = ProducerSnapshots(Disk(), log.path)
    snapshots.write(24, log._producers)

    producers = rebuild_producers(list(log._chain), snapshots, 24, NOW)

    assert known_sequences(producers) == [18, 21]
