"""riverlog's broker as a process: the installed command, the way a user starts it."""

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from bench.broker import COMMON_SETTINGS, Broker
from bench.errors import BrokerFailed


def riverlog_command() -> str:
    """Return the path of the `riverlog` command: beside this interpreter, else on the search path."""
    beside = Path(sys.executable).with_name("riverlog")
    found = str(beside) if beside.exists() else shutil.which("riverlog")
    if found is None:
        raise BrokerFailed("no `riverlog` command beside this interpreter nor on the search path")
    return found


class RiverlogBroker(Broker):
    """`riverlog up`, with its default settings but for those given."""

    def __init__(self, settings: Mapping[str, str] | None = None, profile: Path | None = None) -> None:
        super().__init__()
        self.name = "riverlog"
        self._settings = {**COMMON_SETTINGS, **(settings or {})}
        self._profile = profile

    def command(self) -> list[str]:
        """Run the command itself, or the same script under cProfile."""
        arguments = ["up", "--port", str(self.port), "--data", str(self.data)]
        for name, value in self._settings.items():
            arguments += ["--set", f"{name}={value}"]
        profiler = [sys.executable, "-m", "cProfile", "-o", str(self._profile)] if self._profile else []
        return [*profiler, riverlog_command(), *arguments]
