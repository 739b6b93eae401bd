"""Show what a row measured: as lines for a terminal, as a table for docs/performance.md. Pure."""

from collections.abc import Sequence

from bench.pipelines.contest import Contest, Line, is_met, line
from bench.pipelines.kept import Kept

START_MARK = "<!-- pipelines: written by `python -m bench.pipelines --record` -->"
END_MARK = "<!-- end of pipelines -->"


def lines_of(contest: Contest, kept: Kept) -> list[Line]:
    """Sum up the figures that were measured of anybody."""
    lines = [line(figure, contest.contenders, kept.turns) for figure in contest.figures]
    return [each for each in lines if each.medians]


def terminal(contest: Contest, kept: Kept) -> str:
    """Show a row as aligned columns, and what is promised below."""
    shown = [f"\n{contest.name}: {contest.title}"]
    if kept.failure is not None:
        return f"{shown[0]}\n  FAILED: {kept.failure}"
    table = _table(contest, kept)
    widths = [max(len(cells[place]) for cells in table) for place in range(len(table[0]))]
    for cells in table:
        words = [cell.ljust(width) for cell, width in zip(cells[:2], widths[:2], strict=True)]
        numbers = [cell.rjust(width) for cell, width in zip(cells[2:], widths[2:], strict=True)]
        shown.append("  " + "  ".join([*words, *numbers]).rstrip())
    return "\n".join([*shown, *(f"  {text}" for text in promised(contest, kept))])


def markdown(contest: Contest, kept: Kept) -> str:
    """Show a row as a part of the page."""
    scale = "" if kept.scale == 1 else f", at {kept.scale:g} of the full load"
    turns = max((len(samples) for samples in kept.turns.values()), default=0)
    shown = [f"### {contest.title[0].upper()}{contest.title[1:]} (`{contest.name}`)", ""]
    shown += [f"Measured on {kept.date}, medians of {turns} turns{scale}. {_machine(kept)}", ""]
    if kept.failure is not None:
        return "\n".join([*shown, f"No result: {kept.failure.splitlines()[0]}", ""])
    heading, *rest = _table(contest, kept)
    shown += ["| " + " | ".join(heading) + " |", "|---|---|" + "--:|" * (len(heading) - 2)]
    shown += ["| " + " | ".join(cells) + " |" for cells in rest]
    found = promised(contest, kept)
    return "\n".join([*shown, *(["", *(f"- {text}" for text in found)] if found else []), ""])


def promised(contest: Contest, kept: Kept) -> list[str]:
    """Say of each promise whether it is kept."""
    lines = lines_of(contest, kept)
    measured = {each.figure.name for each in lines}
    said = []
    for promise in contest.promises:
        if promise.figure not in measured:
            continue
        verdict = is_met(promise, contest.contenders, lines)
        if verdict is not None:
            title = next(each.figure.title for each in lines if each.figure.name == promise.figure)
            said.append(f"{title} {promise}: {'kept' if verdict else 'NOT KEPT'}")
    return said


def _table(contest: Contest, kept: Kept) -> list[list[str]]:
    ours, *others = contest.contenders
    heading = ["", "unit", ours]
    for name in others:
        heading += [name, "ratio (range)"]
    table = [heading]
    for each in lines_of(contest, kept):
        cells = [each.figure.title, each.figure.unit, _number(each, ours)]
        for name in others:
            cells += [_number(each, name), _ratio(each, name)]
        table.append(cells)
    return table


def _number(each: Line, name: str) -> str:
    return f"{each.medians[name]:,.{each.figure.digits}f}" if name in each.medians else ""


def _ratio(each: Line, name: str) -> str:
    if name not in each.ratios:
        return ""
    middle, low, high = each.ratios[name]
    return f"{middle:.2f} ({low:.2f}-{high:.2f})"


def _machine(kept: Kept) -> str:
    wanted: Sequence[str] = ("processor", "cores", "memory", "Python", "Java", "PySpark")
    return ", ".join(f"{name} {kept.machine[name]}" for name in wanted if name in kept.machine) + "."
