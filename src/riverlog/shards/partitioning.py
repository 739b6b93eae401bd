"""Which partition of a coordinator's topic holds an id: Kafka's rule, since clients' tools know it too."""

from __future__ import annotations

from functools import lru_cache

KNOWN_IDS_MAX = 10_000
"""How many ids' partitions are remembered; the rule takes a step for every character."""


@lru_cache(KNOWN_IDS_MAX)
def partition_of(subject_id: str, partition_count: int) -> int:
    """Give the partition of an id: Java's hash of it, without its sign, modulo the partitions."""
    return abs(java_hash(subject_id)) % partition_count


def java_hash(text: str) -> int:
    """Compute Java's `String.hashCode`, except that its one value without a positive twin becomes 0."""
    value = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    if value == 0x80000000:
        return 0
    return value - (1 << 32) if value > 0x80000000 else value
