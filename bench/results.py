"""What a run measured: every turn of every row, kept as JSON so that it can be judged and shown again."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.row import Sample, System


@dataclass(slots=True)
class RowResult:
    """The turns of one row, or why it has none."""

    name: str
    turns: dict[System, list[Sample]] = field(default_factory=dict)
    failure: str | None = None


@dataclass(slots=True)
class Results:
    """A whole run."""

    date: str
    machine: dict[str, str]
    runs: int
    scale: float
    rows: list[RowResult] = field(default_factory=list)

    def write(self, path: Path) -> None:
        """Write the run as JSON."""
        rows = [
            {
                "name": row.name,
                "failure": row.failure,
                "turns": {system.value: samples for system, samples in row.turns.items()},
            }
            for row in self.rows
        ]
        document = {
            "date": self.date,
            "machine": self.machine,
            "runs": self.runs,
            "scale": self.scale,
            "rows": rows,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document, indent=1) + "\n")

    @classmethod
    def read(cls, path: Path) -> "Results":
        """Read a run that `write` kept."""
        document: dict[str, Any] = json.loads(path.read_text())
        rows = [
            RowResult(
                name=row["name"],
                turns={System(name): samples for name, samples in row["turns"].items()},
                failure=row["failure"],
            )
            for row in document["rows"]
        ]
        return cls(document["date"], document["machine"], document["runs"], document["scale"], rows)
