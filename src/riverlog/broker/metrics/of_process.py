"""Metrics of the process, under the names that all Prometheus libraries give them; and what it is."""

from __future__ import annotations

import os
import platform
import resource
import sys
import time
from collections.abc import Iterable
from typing import Final

from riverlog import __version__
from riverlog.broker.metrics.exposition import Family, Kind, Sample, labels
from riverlog.broker.metrics.scrape import Metric, Scrape

_DESCRIPTORS = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
_MEMORY = "/proc/self/statm"


def _build(_scrape: Scrape) -> Iterable[Sample]:
    yield labels(version=__version__, python=platform.python_version()), 1


def _memory(_scrape: Scrape) -> Iterable[Sample]:
    """Where the system does not tell what is in use now, nothing is told."""
    try:
        with open(_MEMORY, "rb") as file:
            pages = int(file.read().split()[1])
    except OSError:
        return
    yield "", pages * resource.getpagesize()


def _descriptors(_scrape: Scrape) -> Iterable[Sample]:
    try:
        # One of them is the listing's own.
        yield "", len(os.listdir(_DESCRIPTORS)) - 1
    except OSError:
        return


METRICS: Final[tuple[Metric, ...]] = (
    (
        Family("riverlog_build_info", Kind.GAUGE, "1; the labels say what runs here.", ("version", "python")),
        _build,
    ),
    (
        Family(
            "process_start_time_seconds", Kind.GAUGE, "When the broker was started, in seconds since 1970."
        ),
        lambda scrape: [("", scrape.sources.started)],
    ),
    (
        Family("process_cpu_seconds_total", Kind.COUNTER, "Seconds of CPU, of the user and of the system."),
        lambda _scrape: [("", time.process_time())],
    ),
    (
        Family("process_resident_memory_bytes", Kind.GAUGE, "Memory in use (Linux only)."),
        _memory,
    ),
    (
        Family("process_open_fds", Kind.GAUGE, "File descriptors that are open."),
        _descriptors,
    ),
    (
        Family("process_max_fds", Kind.GAUGE, "The most that may be open."),
        lambda _scrape: [("", resource.getrlimit(resource.RLIMIT_NOFILE)[0])],
    ),
)
