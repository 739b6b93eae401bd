"""A page of the docs, followed as a reader would: its blocks in order, pasted into a shell beside a broker.

```console        $ one command, and below it what it prints; nothing below: anything may be printed
```python         a program; one that begins with a comment of a file's name is that file
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"```(console|python)\n(.*?)```", re.DOTALL)
FILE_NAME = re.compile(r"# (\S+\.py)\n")
DEFAULT_ADDRESS = "127.0.0.1:9092"
SECONDS_MAX = 60


class Block(NamedTuple):
    """One fenced block of a page."""

    kind: str
    text: str

    @property
    def command(self) -> str:
        """A console block's command."""
        return self.text.removeprefix("$ ").partition("\n")[0]

    @property
    def promised(self) -> str:
        """What the page says that a command prints; empty if it says nothing."""
        return self.text.partition("\n")[2]


def blocks(name: str) -> list[Block]:
    """Give a page's blocks in order."""
    return [Block(*found) for found in BLOCK.findall((DOCS / name).read_text())]


class Reader:
    """Somebody with a shell in `directory` and a broker at `address`, who follows a page."""

    def __init__(self, directory: Path, address: str) -> None:
        self._directory = directory
        self._environment = os.environ | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "RIVERLOG_BOOTSTRAP": address,
        }
        self._address = address

    def run(self, command: str) -> str:
        """Run a command and give what it printed; it must succeed."""
        return self._run(["bash", "-c", command], command)

    def take(self, program: str) -> None:
        """Keep a program that names its file, or run it."""
        named = FILE_NAME.match(program)
        if named:
            (self._directory / named[1]).write_text(program)
        else:
            self._run([sys.executable, "-c", program.replace(DEFAULT_ADDRESS, self._address)], program)

    def _run(self, command: list[str], shown: str) -> str:
        finished = subprocess.run(
            command,
            cwd=self._directory,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        assert finished.returncode == 0, f"{shown}: {finished.stdout}{finished.stderr}"
        return finished.stdout
