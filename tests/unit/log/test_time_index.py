from pathlib import Path

from riverlog.log.disk import Disk
from riverlog.log.time_index import TimeIndex


def index(directory: Path, *times: tuple[int, int], base: int = 100) -> TimeIndex:
    made = TimeIndex(Disk(), str(directory / "a.timeindex"), base, is_new=True)
    for timestamp, offset in times:
        made.append_if_larger(timestamp, offset)
    return made


def test_a_timestamp_leads_to_an_offset_before_every_record_that_is_not_older(tmp_path: Path) -> None:
    made = index(tmp_path, (1000, 130), (2000, 170))

    assert made.offset_before(999) == 100
    assert made.offset_before(1000) == 100
    assert made.offset_before(1001) == 130
    assert made.offset_before(2000) == 130
    assert made.offset_before(2001) == 170


def test_only_a_larger_timestamp_makes_an_entry(tmp_path: Path) -> None:
    made = index(tmp_path, (1000, 130), (1000, 150), (900, 160), (1001, 170), (-1, 180))

    assert len(made) == 2
    assert made.last_time() == (1001, 170)


def test_the_rule_holds_across_a_reopening(tmp_path: Path) -> None:
    index(tmp_path, (1000, 130)).save()

    again = TimeIndex(Disk(), str(tmp_path / "a.timeindex"), 100)
    again.append_if_larger(1000, 150)

    assert len(again) == 1


def test_an_entry_is_twelve_bytes_big_endian_relative_to_the_base(tmp_path: Path) -> None:
    index(tmp_path, (1000, 130)).save()

    assert (tmp_path / "a.timeindex").read_bytes() == bytes.fromhex("00000000000003e8 0000001e")


def test_without_entries_there_is_no_time(tmp_path: Path) -> None:
    assert index(tmp_path).last_time() == (-1, 100)


def test_truncating_forgets_what_was_noted_for_the_offset_and_behind_it(tmp_path: Path) -> None:
    made = index(tmp_path, (1000, 130), (2000, 170))

    made.truncate_to(170)
    made.append_if_larger(1500, 180)

    assert made.last_time() == (1500, 180)
    assert len(made) == 2


def test_an_index_that_does_not_rise_or_knows_too_much_is_not_sound(tmp_path: Path) -> None:
    made = index(tmp_path, (1000, 130), (2000, 170))
    backwards = index(tmp_path, (1000, 130), (2000, 120))

    assert made.is_sound(171)
    assert not made.is_sound(170)
    assert not backwards.is_sound(200)
