"""Which version of a query runs, and what to say where none may: pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from riverlog.pipelines.jobs.comparison import Level, Verdict


@dataclass(frozen=True, slots=True)
class Choice:
    """The version to run; None where none may, and then `refusal` says why and what to do."""

    version: int | None
    refusal: str = ""


def current_version(pointed_at: int | None, with_state: Collection[int]) -> int | None:
    """The version that readers are on: by the pointer, else the newest that has ever run here."""
    return pointed_at if pointed_at is not None else max(with_state, default=None)


def choose(file: str, query: str, in_file: Collection[int], current: int | None) -> Choice:
    """Choose the version to run of those that the file has."""
    if current is None:
        return Choice(max(in_file))
    if current in in_file:
        return Choice(current)
    newer = max(in_file)
    return Choice(
        None,
        f"{query}: readers are on version {current}, and {file} has {_listed(in_file)}. To go over to "
        "version "
        f"{newer}: `riverlog pipelines replay {file} {query} --version {newer}`, then `riverlog pipelines "
        "switch "
        f"{file} {query} --to {newer}`. To go on as before, put version {current} back",
    )


def refusal(file: str, query: str, version: int, verdict: Verdict) -> str:
    """Say why a query is not started on its checkpoint, and what to do; empty where it is."""
    if verdict.level < Level.MIGRATION:
        return ""
    reasons = "".join(f"\n  {each.reason}" for each in verdict.differences if each.level >= Level.MIGRATION)
    head = f"{query} v{version} is not what its checkpoint was made by ({verdict.level.words}):{reasons}\n"
    if verdict.level is Level.MIGRATION:
        return (
            f"{head}Its state fits. Once its readers are prepared, start it with --accept {query}; or give "
            "it "
            f"version={version + 1} and an output of its own"
        )
    return (
        f"{head}Give the changed query version={version + 1}, then: `riverlog pipelines replay {file} "
        f"{query}` runs "
        f"it beside version {version} and compares the two, `riverlog pipelines switch` brings readers over"
    )


def _listed(versions: Collection[int]) -> str:
    numbers = [str(version) for version in sorted(versions)]
    return f"version {numbers[0]} alone" if len(numbers) == 1 else f"versions {', '.join(numbers)}"
