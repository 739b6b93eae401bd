from pathlib import Path

from riverlog.log.disk import Disk
from riverlog.log.offset_index import OffsetIndex


def index(directory: Path, *places: tuple[int, int], base: int = 100) -> OffsetIndex:
    made = OffsetIndex(Disk(), str(directory / "a.index"), base, is_new=True)
    for last_offset, position in places:
        made.append(last_offset, position)
    return made


def test_an_offset_leads_to_the_nearest_batch_known_before_it(tmp_path: Path) -> None:
    made = index(tmp_path, (130, 4000), (170, 9000))

    assert made.position_for(100) == 0
    assert made.position_for(129) == 0
    assert made.position_for(130) == 4000
    assert made.position_for(169) == 4000
    assert made.position_for(170) == 9000
    assert made.position_for(2**40) == 9000


def test_a_position_leads_to_the_nearest_batch_beginning_before_it(tmp_path: Path) -> None:
    made = index(tmp_path, (130, 4000), (170, 9000))

    assert made.position_at_most(3999) == 0
    assert made.position_at_most(4000) == 4000
    assert made.position_at_most(8999) == 4000
    assert made.position_at_most(10**9) == 9000


def test_an_entry_is_eight_bytes_big_endian_relative_to_the_base(tmp_path: Path) -> None:
    index(tmp_path, (130, 4000)).save()

    assert (tmp_path / "a.index").read_bytes() == bytes.fromhex("0000001e 00000fa0")


def test_truncating_forgets_the_batches_that_hold_the_offset_or_more(tmp_path: Path) -> None:
    made = index(tmp_path, (130, 4000), (170, 9000), (200, 12_000))

    made.truncate_to(170)

    assert made.last_place() == (130, 4000)
    assert len(made) == 1


def test_an_index_whose_offsets_or_positions_do_not_rise_is_not_sound(tmp_path: Path) -> None:
    assert index(tmp_path).is_sound()
    assert index(tmp_path, (130, 4000), (170, 9000)).is_sound()

    assert not index(tmp_path, (130, 4000), (130, 9000)).is_sound()
    assert not index(tmp_path, (130, 4000), (170, 4000)).is_sound()
    assert not index(tmp_path, (130, -4000)).is_sound()
    assert not index(tmp_path, (99, 4000)).is_sound()
