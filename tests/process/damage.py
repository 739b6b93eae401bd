"""What a power failure may do to files that were written but not synced, done by hand.

`kill -9` alone loses nothing that reached the page cache. So after it the tail of a log is damaged here, and
nothing below the acknowledged end: that was synced before it was acknowledged.

    [.... acknowledged ....][.... written, not acknowledged ....]
                            ▲ from here on: cut at any byte, flip bits, zeros, garbage, stale batches,
                              and no file whose name or content was only written since then is safe
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

_BATCH_START = struct.Struct(">qi")
_PAGE = 4096


def damage_tail(directory: Path, acknowledged_end: int, chance: random.Random) -> str:
    """Damage a partition's files above `acknowledged_end`; say what was done."""
    segments = sorted(directory.glob("*.log"))
    number, position = _end_of_promises(segments, acknowledged_end)
    # Later segments hold nothing that was promised: their very names may be lost, or files may be empty.
    later = segments[number + 1 :]
    done = [chance.choice((_lose, _empty, _leave))(segment, chance) for segment in later]
    survivors = [segment for segment in segments[number:] if segment.exists()]
    if not survivors:
        return "; ".join(done) or "nothing there"
    last = survivors[-1]
    safe = position if last == segments[number] else 0
    damage: Callable[[Path, int, random.Random], str] = chance.choice(
        (
            _cut,
            _cut,
            _cut_in_pages,
            _flip_bits,
            _append_garbage,
            _append_zeros,
            _append_stale_batch,
            _no_damage,
        )
    )
    done.append(damage(last, safe, chance))
    if chance.random() < 0.5:
        done += [_damage_beside(path, chance) for path in _unsynced_beside(directory, acknowledged_end)]
    return "; ".join(done)


def damage_store(path: Path, chance: random.Random) -> str:
    """Append to the cluster's journal what an interrupted write may leave behind."""
    with path.open("ab") as file:
        garbage = chance.choice(
            (b"\0" * chance.randrange(1, 5000), chance.randbytes(chance.randrange(1, 200)))
        )
        file.write(garbage)
    return f"{path.name}: {len(garbage)} bytes behind its end"


def _end_of_promises(segments: list[Path], acknowledged_end: int) -> tuple[int, int]:
    """Find where the last acknowledged batch ends: segment number, position in it."""
    found = 0, 0
    for number, segment in enumerate(segments):
        data = segment.read_bytes()
        position = 0
        while position + 61 <= len(data):
            base_offset, length = _BATCH_START.unpack_from(data, position)
            if base_offset >= acknowledged_end:
                return found
            position += 12 + length
            found = number, position
    return found


def _unsynced_beside(directory: Path, acknowledged_end: int) -> list[Path]:
    """Give the files beside the log that are not known to be on the disk.

    Indexes are, below the recovery point; snapshots, up to the acknowledged end.
    """
    recovery_point = _recovery_point(directory)
    indexes = [
        path
        for segment in directory.glob("*.log")
        if int(segment.stem) >= recovery_point
        for path in (segment.with_suffix(".index"), segment.with_suffix(".timeindex"))
    ]
    snapshots = [path for path in directory.glob("*.snapshot") if int(path.stem) > acknowledged_end]
    return [path for path in (*indexes, *snapshots) if path.exists()]


def _recovery_point(directory: Path) -> int:
    topic, _, partition = directory.name.rpartition("-")
    checkpoint = directory.parent / "recovery-point-offset-checkpoint"
    lines = checkpoint.read_text().splitlines()[2:] if checkpoint.exists() else []
    points = {(name, index): int(offset) for name, index, offset in map(str.split, lines)}
    return points.get((topic, partition), 0)


def _damage_beside(path: Path, chance: random.Random) -> str:
    size = path.stat().st_size
    match chance.randrange(4):
        case 0:
            path.unlink()
            return f"{path.name} lost"
        case 1:
            path.write_bytes(b"")
            return f"{path.name} emptied"
        case 2:
            path.write_bytes(b"\0" * size)
            return f"{path.name} zeroed"
        case _:
            path.write_bytes(chance.randbytes(size))
            return f"{path.name} garbled"


def _lose(path: Path, _chance: random.Random) -> str:
    for suffix in (".log", ".index", ".timeindex"):
        path.with_suffix(suffix).unlink(missing_ok=True)
    return f"{path.name} lost"


def _empty(path: Path, _chance: random.Random) -> str:
    path.write_bytes(b"")
    return f"{path.name} emptied"


def _leave(path: Path, _chance: random.Random) -> str:
    return f"{path.name} left"


def _no_damage(path: Path, _safe: int, _chance: random.Random) -> str:
    return f"{path.name} whole"


def _cut(path: Path, safe: int, chance: random.Random) -> str:
    size = path.stat().st_size
    kept = chance.randint(safe, size)
    with path.open("r+b") as file:
        file.truncate(kept)
    return f"{path.name} cut from {size} to {kept}, {safe} were safe"


def _cut_in_pages(path: Path, safe: int, chance: random.Random) -> str:
    """Pages reach the disk in any order: one is there, an earlier one is zeros."""
    size = path.stat().st_size
    first_page = -(-safe // _PAGE)
    pages = list(range(first_page, -(-size // _PAGE)))
    lost = [page for page in pages if chance.random() < 0.3]
    with path.open("r+b") as file:
        for page in lost:
            file.seek(page * _PAGE)
            file.write(b"\0" * min(_PAGE, size - page * _PAGE))
    return f"{path.name}: {len(lost)} of {len(pages)} pages zeroed"


def _flip_bits(path: Path, safe: int, chance: random.Random) -> str:
    size = path.stat().st_size
    if size == safe:
        return f"{path.name}: nothing to flip"
    with path.open("r+b") as file:
        for _ in range(chance.randint(1, 8)):
            at = chance.randrange(safe, size)
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ (1 << chance.randrange(8))]))
    return f"{path.name}: bits flipped from {safe} on"


def _append_garbage(path: Path, _safe: int, chance: random.Random) -> str:
    garbage = chance.randbytes(chance.choice((1, 11, 60, 61, 5000)))
    with path.open("ab") as file:
        file.write(garbage)
    return f"{path.name}: {len(garbage)} bytes of garbage"


def _append_zeros(path: Path, _safe: int, chance: random.Random) -> str:
    count = chance.choice((1, 61, _PAGE, 1 << 20))
    with path.open("ab") as file:
        file.write(b"\0" * count)
    return f"{path.name}: {count} zeros"


def _append_stale_batch(path: Path, _safe: int, _chance: random.Random) -> str:
    """A block that once held an older batch, whole and with a valid CRC: only its offset tells."""
    data = path.read_bytes()
    if len(data) < 61:
        return f"{path.name}: no batch to repeat"
    _base_offset, length = _BATCH_START.unpack_from(data)
    with path.open("ab") as file:
        file.write(data[: 12 + length])
    return f"{path.name}: its first batch again"


_DAMAGES: tuple[Callable[[Path, int, random.Random], str], ...] = (
    *(_no_damage, _cut, _cut, _cut_in_pages, _flip_bits),
    *(_append_garbage, _append_zeros, _append_stale_batch),
)
