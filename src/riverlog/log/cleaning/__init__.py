"""Compaction: of each key only the last value stays. What the broker needs of it is the `Cleaner`.

    event loop                                    helper process (`helper`)
    Cleaner ── plan ─▶ Assignment ── job ───────▶ Cleaning: 1. OffsetMap of the dirty part
                           ▲                                2. RecordFilter over all parts
                           └──── replacements ◀── `.cleaned` files, on the disk

Promises
- Offsets never change, the active segment is never touched, nor what is not decided yet.
- The event loop only looks, and renames files.
- A crash at any moment leaves a log that holds all of the old segments or all of a new one.
- The memory for keys is bounded: a round that would need more ends early, the next one goes on.

numpy is imported by the helper alone.
"""

from riverlog.log.cleaning.cleaner import Cleaner, CleanerFigures

__all__ = ["Cleaner", "CleanerFigures"]
