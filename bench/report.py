"""Show a run: as lines for a terminal, as a table for docs/performance.md. Pure."""

from bench.results import Results, RowResult
from bench.row import Row, System, Verdict, judge

START_MARK = "<!-- measured: written by `python -m bench --record` -->"
END_MARK = "<!-- end of measured -->"

NOTE = """\
Ratios are riverlog / Kafka: the median of the ratios of neighbouring turns, with the lowest and highest.
Like is compared with like: Kafka acknowledges acks=all from the page cache, so the column `riverlog` runs
with `durability=page-cache`. The column `riverlog fsync` is riverlog's default, which acknowledges acks=all
only after an fdatasync; it is shown beside, and no ratio is taken of it."""

HEADINGS = ("", "unit", "Kafka", "riverlog", "ratio (range)", "budget", "met", "riverlog fsync")


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _cells(verdict: Verdict) -> tuple[str, ...]:
    figure = verdict.figure
    ratio = ""
    if verdict.ratio is not None:
        ratio = f"{verdict.ratio:.2f} ({verdict.ratio_min:.2f}-{verdict.ratio_max:.2f})"
    peer, subject, fsync = (
        _number(verdict.medians.get(system), figure.digits)
        for system in (System.PEER, System.SUBJECT, System.SUBJECT_FSYNC)
    )
    return (
        figure.title,
        figure.unit,
        peer,
        subject,
        ratio,
        "" if figure.budget is None else str(figure.budget),
        "" if verdict.is_met is None else "yes" if verdict.is_met else "NO",
        fsync,
    )


def verdicts(row: Row, result: RowResult) -> list[Verdict]:
    """Judge every figure of a row."""
    return [judge(figure, result.turns) for figure in row.figures]


def terminal(row: Row, result: RowResult) -> str:
    """Show a row as aligned columns."""
    lines = [("", *HEADINGS[1:]), *(_cells(verdict) for verdict in verdicts(row, result))]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    shown = [f"\n{row.name}: {row.title}"]
    if result.failure is not None:
        return f"{shown[0]}\n  FAILED: {result.failure}"
    for line in lines:
        title, unit, *rest = line
        numbers = [cell.rjust(width) for cell, width in zip(rest, widths[2:], strict=True)]
        shown.append("  " + "  ".join([title.ljust(widths[0]), unit.ljust(widths[1]), *numbers]).rstrip())
    return "\n".join(shown)


def summary(rows: list[tuple[Row, RowResult]]) -> str:
    """Say how many budgets are met, which are not, and which rows have no result."""
    judged = [
        (row, verdict)
        for row, result in rows
        for verdict in verdicts(row, result)
        if result.failure is None and verdict.is_met is not None
    ]
    missed = [f"{row.name}: {verdict.figure.title}" for row, verdict in judged if not verdict.is_met]
    failed = [row.name for row, result in rows if result.failure is not None]
    lines = [f"{len(judged) - len(missed)} of {len(judged)} budgets met"]
    if missed:
        lines.append("not met: " + "; ".join(missed))
    if failed:
        lines.append("without result: " + ", ".join(failed))
    return "\n".join(lines)


def markdown(results: Results, rows: dict[str, Row]) -> str:
    """Show a run as the measured part of docs/performance.md."""
    lines = [f"Measured on {results.date}, {results.runs} turns each, medians."]
    if results.scale != 1:
        lines[0] += f" A quick run at {results.scale:g} of the full load."
    lines += ["", "| | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in results.machine.items()]
    lines += ["", NOTE]
    for result in results.rows:
        row = rows[result.name]
        lines += ["", f"### {row.title[0].upper()}{row.title[1:]} (`{row.name}`)", ""]
        if result.failure is not None:
            lines.append(f"No result: {result.failure.splitlines()[0]}")
            continue
        lines += ["| " + " | ".join(HEADINGS) + " |", "|---|---|--:|--:|--:|--:|--:|--:|"]
        lines += ["| " + " | ".join(_cells(verdict)) + " |" for verdict in verdicts(row, result)]
    return "\n".join(lines) + "\n"


def record(page: str, measured: str, start_mark: str = START_MARK, end_mark: str = END_MARK) -> str:
    """Return the page with its measured part replaced, which lies between two marks.

    Raises:
        ValueError: the page has no such part.
    """
    before, start, rest = page.partition(start_mark)
    _, end, after = rest.partition(end_mark)
    if not start or not end:
        raise ValueError(f"the page lacks {start_mark} ... {end_mark}")
    return f"{before}{start_mark}\n{measured}\n{end_mark}{after}"
