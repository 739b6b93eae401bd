"""CPU time and memory of a process and its descendants, from /proc.

CPU seconds are user and system time of all threads, as the kernel accounts them, in ticks of 10 ms; children
that have ended count too (`cutime`). Memory is the resident set: now (`VmRSS`) and at its peak (`VmHWM`),
summed over the process and its living descendants.

    /proc/PID/stat    pid (name) state ppid ... utime stime cutime cstime ...
    field              1    2      3     4       14    15    16     17
                           the name may hold spaces and brackets
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
QUIET_SHARE = 0.04
"""Below this share of one core a broker counts as idle: a JVM's housekeeping takes about one percent."""


class Stat(NamedTuple):
    """What we read of /proc/PID/stat."""

    parent: int
    ticks: int


class Memory(NamedTuple):
    """Resident megabytes (10^6 bytes)."""

    now_mb: float
    peak_mb: float


def parse_stat(text: str) -> Stat:
    """Read one line of /proc/PID/stat."""
    fields = text[text.rindex(")") + 2 :].split()
    return Stat(parent=int(fields[1]), ticks=sum(int(field) for field in fields[11:15]))


def parse_status(text: str) -> Memory:
    """Read the resident set of /proc/PID/status; a process without memory (a zombie) has none."""
    kilobytes = {"VmRSS": 0, "VmHWM": 0}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name in kilobytes:
            kilobytes[name] = int(value.split()[0])
    return Memory(now_mb=kilobytes["VmRSS"] * 1024 / 1e6, peak_mb=kilobytes["VmHWM"] * 1024 / 1e6)


def _stats() -> dict[int, Stat]:
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                found[int(name)] = parse_stat(Path(f"/proc/{name}/stat").read_text())
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended since the listing
    return found


def family(pid: int) -> list[int]:
    """Return the process and its living descendants."""
    children: dict[int, list[int]] = {}
    for other, stat in _stats().items():
        children.setdefault(stat.parent, []).append(other)
    members = [pid]
    for member in members:
        members.extend(children.get(member, []))
    return members


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that the process and its descendants have used so far."""
    ticks = 0
    for member in family(pid):
        try:
            ticks += parse_stat(Path(f"/proc/{member}/stat").read_text()).ticks
        except (FileNotFoundError, ProcessLookupError):
            continue  # its time has moved to its parent's cutime
    return ticks / TICKS_PER_SECOND


def memory(pid: int) -> Memory:
    """Return the resident set of the process and its descendants."""
    now = peak = 0.0
    for member in family(pid):
        try:
            one = parse_status(Path(f"/proc/{member}/status").read_text())
        except (FileNotFoundError, ProcessLookupError):
            continue
        now, peak = now + one.now_mb, peak + one.peak_mb
    return Memory(now, peak)


def wait_until_quiet(pid: int, seconds_max: float = 10.0) -> None:
    """Wait until the process idles, its compilers and deletions done; give up waiting after so long."""
    deadline = time.monotonic() + seconds_max
    window = 0.25
    while time.monotonic() < deadline:
        before = cpu_seconds(pid)
        time.sleep(window)
        if cpu_seconds(pid) - before <= max(QUIET_SHARE * window, 1 / TICKS_PER_SECOND):
            return


@dataclass(frozen=True, slots=True)
class Usage:
    """What a measured section took."""

    seconds: float
    broker_cpu: float
    client_cpu: float


class Meter:
    """Sample clocks around a section: `with Meter(broker_pid) as meter: ...`, then `meter.usage`.

    The client is the process that runs the section, with all its threads.
    """

    usage: Usage

    def __init__(self, broker_pid: int) -> None:
        self._broker_pid = broker_pid

    def __enter__(self) -> "Meter":
        self._broker_cpu = cpu_seconds(self._broker_pid)
        self._client_cpu = time.process_time()
        self._started = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        ended = time.monotonic()
        client_cpu = time.process_time()
        self.usage = Usage(
            seconds=ended - self._started,
            broker_cpu=cpu_seconds(self._broker_pid) - self._broker_cpu,
            client_cpu=client_cpu - self._client_cpu,
        )
