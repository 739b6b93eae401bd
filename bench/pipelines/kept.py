"""What a row measured, kept as JSON: the newest result of each row, with its date and machine."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.row import Sample


@dataclass(slots=True)
class Kept:
    """The turns of one row, or why it has none."""

    name: str
    date: str
    machine: dict[str, str]
    scale: float
    turns: dict[str, list[Sample]] = field(default_factory=dict)
    failure: str | None = None

    def write(self, directory: Path) -> None:
        """Keep it in place of the row's last result."""
        directory.mkdir(parents=True, exist_ok=True)
        path_of(directory, self.name).write_text(json.dumps(asdict(self), indent=1) + "\n")


def read(directory: Path, name: str) -> Kept | None:
    """Give the newest result of a row; None where there is none."""
    path = path_of(directory, name)
    return Kept(**json.loads(path.read_text())) if path.exists() else None


def path_of(directory: Path, name: str) -> Path:
    """Say where a row's result is kept."""
    return directory / f"{name}.json"
