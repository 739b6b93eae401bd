"""What the topic riverlog-pipelines says."""

from __future__ import annotations

from dataclasses import replace

from riverlog.pipelines.jobs.pointers import Leg, Pointer
from riverlog.pipelines.jobs.records import Command, Known, Status, encode, encode_pointer

STATUS = Status("shop", "clicks", 1, "running", lag={"orders": 3}, updated_ms=1_000_000, interval_ms=5000)
COMMAND = Command("c1", "shop", "", "stop", 7)
POINTER = Pointer("totals", "shop", "clicks", (Leg(1, {}),))


def known(*records: tuple[bytes | None, bytes | None]) -> Known:
    made = Known()
    for key, value in records:
        made.replay(key, value)
    return made


def test_what_is_published_is_known() -> None:
    told = known(encode(STATUS), encode(COMMAND), encode_pointer(POINTER))

    assert told.status("shop", "clicks", 1) == STATUS
    assert told.commands == {"command shop": COMMAND}
    assert told.pointer("totals") == POINTER


def test_the_last_record_of_a_key_counts() -> None:
    told = known(encode(STATUS), encode(replace(STATUS, state="stopped")))

    assert [each.state for each in told.statuses.values()] == ["stopped"]


def test_a_record_without_value_takes_back_what_was_said() -> None:
    key, value = encode(STATUS)

    assert known((key, value), (key, None)).statuses == {}


def test_versions_of_a_query_have_statuses_of_their_own() -> None:
    told = known(encode(replace(STATUS, version=2)), encode(STATUS), encode(replace(STATUS, app="other")))

    assert [each.version for each in told.of_app("shop", "clicks")] == [1, 2]
    assert told.of_app("shop", "nothing") == []


def test_what_is_not_understood_is_passed_over() -> None:
    key, _ = encode(STATUS)

    told = known((None, b"{}"), (b"future thing", b"{}"), (key, b"not json"), (b"pointer x", b'{"legs":1}'))

    assert (told.statuses, told.pointers) == ({}, {})


def test_fields_of_a_newer_version_are_passed_over() -> None:
    key, value = encode(STATUS)

    assert known((key, value[:-1] + b',"new":1}')).status("shop", "clicks", 1) == STATUS


def test_a_query_that_is_silent_for_too_long_is_lost() -> None:
    assert STATUS.shown_state(1_019_000) == "running"
    assert STATUS.shown_state(1_021_000) == "lost"
    assert replace(STATUS, state="stopped").shown_state(9_000_000) == "stopped"


def test_a_command_without_query_is_for_all_of_its_app() -> None:
    assert COMMAND.is_for("shop", "clicks")
    assert not COMMAND.is_for("other", "clicks")
    assert not replace(COMMAND, query="orders").is_for("shop", "clicks")
