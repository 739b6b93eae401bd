"""What the numbers were measured on: the machine, the kernel, the versions."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import confluent_kafka

from bench import peer


def processor(cpuinfo: str) -> str:
    """Return the first processor's name out of /proc/cpuinfo."""
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def memory_gigabytes(meminfo: str) -> float:
    """Return the machine's memory out of /proc/meminfo."""
    for line in meminfo.splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024 / 1e9
    return 0.0


def file_system(mounts: str, path: str) -> str:
    """Return the type of the file system that holds the path, out of /proc/mounts."""
    best, kind = "", "unknown"
    for line in mounts.splitlines():
        _, mount_point, found, *_ = line.split()
        prefix = mount_point.rstrip("/") + "/"
        if (path + "/").startswith(prefix) and len(prefix) > len(best):
            best, kind = prefix, found
    return kind


def describe(data_directory: str) -> dict[str, str]:
    """Describe the machine, in the order it is shown."""
    return {
        "processor": processor(Path("/proc/cpuinfo").read_text()),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": f"{memory_gigabytes(Path('/proc/meminfo').read_text()):.0f} GB",
        "file system": file_system(Path("/proc/mounts").read_text(), data_directory),
        "load average before": f"{os.getloadavg()[0]:.1f}",
        "kernel": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "uvloop": _version("uvloop"),
        "librdkafka": str(confluent_kafka.libversion()[0]),
        "Java": peer.java_version(),
        "Apache Kafka": peer.KAFKA_VERSION,
        "riverlog": _riverlog_version(),
    }


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "absent"


def _riverlog_version() -> str:
    """Return riverlog's version, with the commit where it runs from a clone."""
    shown = _version("riverlog")
    here = Path(__file__).resolve().parent
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=here, capture_output=True, text=True, check=False
    )
    return f"{shown} ({commit.stdout.strip()})" if commit.returncode == 0 else shown
