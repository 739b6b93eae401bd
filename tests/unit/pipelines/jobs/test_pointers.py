"""How readers pass from one version of an output to the next."""

from __future__ import annotations

import json

import pytest

from riverlog.pipelines.jobs.pointers import Leg, Place, Pointer, first, next_place, spans, topic_of

ONE = Pointer("clicks", "shop", "clicks", (Leg(1, {}),), 5)
TWO = ONE.flipped(2, end={0: 120, 1: 7}, start={0: 95, 1: 0}, now_ms=9)
BACK = TWO.flipped(1, end={0: 310, 1: 20}, start={0: 180, 1: 30}, now_ms=12)


def test_a_flip_ends_one_leg_and_begins_the_next_in_one_record() -> None:
    assert TWO.legs == (Leg(1, {}, {0: 120, 1: 7}), Leg(2, {0: 95, 1: 0}))
    assert (TWO.version, TWO.topic, TWO.updated_ms) == (2, "clicks.v2", 9)
    assert BACK.version == 1


def test_a_reader_reads_the_old_to_its_end_and_goes_on_where_the_new_begins() -> None:
    place = Place(0, {0: 100})

    assert spans(TWO, place, 2) == {0: (100, 120), 1: (0, 7)}
    assert next_place(TWO, place) == Place(1, {0: 95, 1: 0})
    assert spans(TWO, next_place(TWO, place), 2) == {0: (95, None), 1: (0, None)}


def test_a_reader_passes_over_what_a_version_repeated_when_readers_come_back_to_it() -> None:
    assert next_place(BACK, Place(1, {})).offsets == {0: 180, 1: 30}


def test_a_new_reader_takes_the_whole_history_of_the_current_version() -> None:
    assert first(BACK) == Place(2, {})
    assert spans(BACK, first(BACK), 2) == {0: (0, None), 1: (0, None)}


def test_a_partition_that_the_old_version_did_not_have_ends_where_it_begins() -> None:
    assert spans(TWO, Place(0, {}), 3)[2] == (0, 0)


def test_nobody_goes_on_from_the_last_leg() -> None:
    with pytest.raises(AssertionError):
        next_place(ONE, Place(0, {}))


def test_pointers_and_places_come_back_as_they_were_written() -> None:
    assert Pointer.from_json(json.loads(json.dumps(BACK.to_json()))) == BACK
    assert Place.from_json(json.loads(json.dumps(Place(1, {0: 4}).to_json()))) == Place(1, {0: 4})


def test_a_pointer_without_legs_is_refused() -> None:
    with pytest.raises(ValueError, match="without legs"):
        Pointer.from_json({**ONE.to_json(), "legs": []})


def test_a_version_has_a_topic_of_its_own() -> None:
    assert topic_of("clicks", 3) == "clicks.v3"
