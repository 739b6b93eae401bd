from pathlib import Path

from riverlog.errors import StorageError
from riverlog.log.sync_state import SyncState
from tests.log_builders import append, new_log


def test_a_ticket_takes_all_that_waits_beside_the_log_and_leaves_nothing(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    state = SyncState(0)
    state.note_paths("a", "b")
    state.note_paths("a")
    state.note_directories("d")

    ticket = state.ticket(log, [])

    assert sorted(ticket.paths) == ["a", "b"]
    assert ticket.directories == ("d",)
    assert not state.has_beside
    assert len(state.ticket(log, [])) == 0


def test_a_settled_ticket_moves_the_flushed_offset_and_with_indexes_the_recovery_point(
    tmp_path: Path,
) -> None:
    log = new_log(tmp_path)
    state = SyncState(0)
    append(log)
    state.note_indexes(2, "index")

    assert state.settle(state.ticket(log, [])) is None

    assert (state.flushed_offset, state.recovery_point) == (3, 2)


def test_tickets_settled_out_of_order_move_nothing_back(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    state = SyncState(0)
    append(log)
    first = state.ticket(log, [])
    append(log)
    second = state.ticket(log, [])

    state.settle(second)
    state.settle(first)

    assert state.flushed_offset == 6


def test_a_truncation_takes_everything_back_and_makes_tickets_worthless(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append(log)
    state = SyncState(3)
    state.note_indexes(3, "index")
    ticket = state.ticket(log, [])

    state.begin_truncation()
    state.truncate_to(1)

    assert isinstance(state.settle(ticket), StorageError)
    assert (state.flushed_offset, state.recovery_point) == (1, 1)
