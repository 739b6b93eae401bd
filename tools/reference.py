"""Write every page under docs/reference that is derived from the code: `make docs`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REFERENCE = Path(__file__).parents[1] / "docs" / "reference"
PAGES = {
    "settings.md": "riverlog.config.reference",
    "commands.md": "riverlog.cli.reference",
    "protocol.md": "riverlog.broker.reference",
    "metrics.md": "riverlog.broker.metrics.reference",
}


def main() -> int:
    for name, module in PAGES.items():
        text = subprocess.run([sys.executable, "-m", module], stdout=subprocess.PIPE, check=True).stdout
        (REFERENCE / name).write_bytes(text)
        print(f"docs/reference/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
