import pytest

from riverlog.log import names
from riverlog.types import TopicPartition


def test_offsets_are_named_with_twenty_digits_and_read_back() -> None:
    assert names.offset_name(42) == "00000000000000000042"

    assert names.offset_in("00000000000000000042.log") == 42
    assert names.offset_in("09223372036854775807.timeindex") == 2**63 - 1


@pytest.mark.parametrize(
    "name", ["42.log", "leader-epoch-checkpoint", "0000000000000000004x.log", "00000000000000000042", ""]
)
def test_other_names_hold_no_offset(name: str) -> None:
    assert names.offset_in(name) is None


@pytest.mark.parametrize(
    ("directory", "partition"),
    [
        ("orders-0", TopicPartition("orders", 0)),
        ("a-b.c_d-17", TopicPartition("a-b.c_d", 17)),
        ("ends-delete-3", TopicPartition("ends-delete", 3)),
    ],
)
def test_a_partitions_directory_says_topic_and_partition(directory: str, partition: TopicPartition) -> None:
    assert names.partition_in(directory) == partition


@pytest.mark.parametrize(
    "directory",
    [
        "orders",
        "orders-x",
        "-1",
        "__cluster_metadata-0",
        "orders-0.0123456789abcdef0123456789abcdef-delete",
        "orders-0.0123456789abcdef0123456789abcdef-future",
        "orders-0.0123456789abcdef0123456789abcdef-stray",
    ],
)
def test_other_directories_are_no_partitions(directory: str) -> None:
    assert names.partition_in(directory) is None


def test_a_deleted_directory_is_known_by_its_name_and_fits_the_file_system() -> None:
    short = names.deleted_directory(TopicPartition("orders", 3), "ab" * 16)
    long = names.deleted_directory(TopicPartition("t" * 249, 12345), "ab" * 16)

    assert short == "orders-3." + "ab" * 16 + "-delete"
    assert names.is_deleted_directory(short)
    assert names.is_deleted_directory(long)
    assert len(long) == names.NAME_BYTES_MAX
    assert not names.is_deleted_directory("orders-delete")
