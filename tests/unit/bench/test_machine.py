import pytest

from bench.machine import file_system, memory_gigabytes, processor

MOUNTS = "/dev/vda / ext4 rw 0 0\ntmpfs /var/tmp tmpfs rw 0 0\nproc /proc proc rw 0 0\n"


@pytest.mark.parametrize(
    ("path", "kind"), [("/var/tmp", "tmpfs"), ("/var/tmp/x", "tmpfs"), ("/var/tmpfiles", "ext4")]
)
def test_the_file_system_is_that_of_the_longest_mount_point_above(path: str, kind: str) -> None:
    assert file_system(MOUNTS, path) == kind


def test_processor_and_memory_are_read_from_the_kernels_tables() -> None:
    assert processor("processor\t: 0\nmodel name\t: Fast One\n\nmodel name\t: Other\n") == "Fast One"
    assert memory_gigabytes("MemTotal:       1000000 kB\nMemFree: 1 kB\n") == pytest.approx(1.024)
