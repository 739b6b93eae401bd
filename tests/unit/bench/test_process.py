from bench.process import Memory, parse_stat, parse_status

STAT = (
    "4242 (a (strange) name) S 17 4242 4242 0 -1 4194560 900 80 1 0 250 50 7 3 20 0 12 0 99 1000 200 18446744"
)
STATUS = "Name:\tpython\nVmPeak:\t  900 kB\nVmHWM:\t    2000 kB\nVmRSS:\t    1000 kB\nThreads:\t12\n"


def test_cpu_is_user_and_system_time_of_the_process_and_its_ended_children() -> None:
    stat = parse_stat(STAT)

    assert stat.parent == 17
    assert stat.ticks == 250 + 50 + 7 + 3


def test_memory_is_the_resident_set_now_and_at_its_peak() -> None:
    assert parse_status(STATUS) == Memory(now_mb=1.024, peak_mb=2.048)


def test_a_process_without_memory_has_none() -> None:
    assert parse_status("Name:\tzombie\nState:\tZ (zombie)\n") == Memory(0.0, 0.0)
