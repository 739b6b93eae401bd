"""Which partition holds a group: Kafka's rule, to the bit."""

from __future__ import annotations

import pytest

from riverlog.shards import partition_of
from riverlog.shards.partitioning import java_hash


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("my-group", -1906497762),
        ("console-consumer-12345", 158455506),
        # Outside the basic plane Java hashes two halves.
        ("\U0001f600", 1772899),
        ("\u00e9", 233),
    ],
)
def test_the_hash_is_java_s(text: str, value: int) -> None:
    assert java_hash(text) == value


def test_a_negative_hash_loses_its_sign() -> None:
    text = "polygenelubricants"  # hashes to the one number whose sign cannot be lost

    assert java_hash(text) == 0
    assert partition_of("my-group", 50) == 1906497762 % 50


# Where Apache Kafka 4.3.1 with five partitions kept these groups.
@pytest.mark.parametrize(
    ("group", "partition"), [("pend4", 0), ("", 0), ("simple", 1), ("ret", 1), ("gx", 3)]
)
def test_groups_are_where_kafka_keeps_them(group: str, partition: int) -> None:
    assert partition_of(group, 5) == partition
