"""The command line: which rows, how many turns, how much of the load."""

import argparse
import datetime
import signal
import sys
from collections.abc import Sequence
from importlib.metadata import version

from bench import machine
from bench.broker import scratch_directory
from bench.command import PAGE, RESULTS
from bench.pipelines import kept as kept_results
from bench.pipelines import report
from bench.pipelines.contest import Contest
from bench.pipelines.java_program import java_version
from bench.pipelines.kept import Kept
from bench.pipelines.rows import ROWS
from bench.pipelines.turns import run
from bench.report import record

KEPT = RESULTS / "pipelines"


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    built = argparse.ArgumentParser(
        prog="python -m bench.pipelines",
        description="Measure pipelines on riverlog beside what else does the same.",
    )
    built.add_argument("rows", nargs="*", metavar="row", help="rows to measure: " + ", ".join(_by_name()))
    built.add_argument("--runs", type=int, help="turns of each contender")
    built.add_argument("--scale", type=float, default=1.0, help="share of the full load")
    built.add_argument("--only", action="append", metavar="CONTENDER", help="leave the others out")
    built.add_argument("--record", action="store_true", help="write what is kept into docs/performance.md")
    return built


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status: 1 where a row has no result, 2 where nothing could be run."""
    options = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # leave by the exits that stop what was started
    rows = _by_name()
    unknown = [name for name in options.rows if name not in rows]
    if unknown:
        print(f"no row {', '.join(unknown)}; there are {', '.join(rows)}", file=sys.stderr)
        return 2
    if options.record:
        return write_page(list(ROWS))
    chosen = [rows[name] for name in options.rows] or list(ROWS)
    return max(measure(contest, options) for contest in chosen)


def measure(contest: Contest, options: argparse.Namespace) -> int:
    """Measure one row, print and keep it."""
    scratch = scratch_directory()
    scratch.rmdir()
    now = datetime.datetime.now(datetime.UTC)
    surroundings = {
        **machine.describe(str(scratch.parent)),
        "Java": java_version(),
        "PySpark": version("pyspark"),
    }
    result = Kept(contest.name, f"{now:%Y-%m-%d %H:%M} UTC", surroundings, options.scale)
    contenders = [name for name in contest.contenders if not options.only or name in options.only]
    run(contest, result, contenders, options.runs or contest.runs, _progress)
    print(report.terminal(contest, result), flush=True)
    if len(contenders) == len(contest.contenders):
        result.write(KEPT)
    return 1 if result.failure else 0


def write_page(contests: Sequence[Contest]) -> int:
    """Write the newest result of each row into the page."""
    found = [(contest, kept_results.read(KEPT, contest.name)) for contest in contests]
    shown = [report.markdown(contest, kept) for contest, kept in found if kept is not None]
    if not shown:
        print(f"nothing is kept in {KEPT}", file=sys.stderr)
        return 2
    page = record(PAGE.read_text(), "\n".join(shown), report.START_MARK, report.END_MARK)
    PAGE.write_text(page)
    print(f"written to {PAGE}")
    return 0


def _by_name() -> dict[str, Contest]:
    return {contest.name: contest for contest in ROWS}


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
