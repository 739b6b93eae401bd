"""The command line: which rows, how many turns, what to do with the results."""

import argparse
import datetime
import pstats
import signal
import sys
import time
from pathlib import Path

from bench import machine, report
from bench.broker import scratch_directory
from bench.errors import BenchError
from bench.peer import jars
from bench.results import Results
from bench.row import Row, System
from bench.rows import ROWS
from bench.schedule import PAGE_CACHE, one_turn, run_row
from bench.subject import RiverlogBroker, riverlog_command

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
PAGE = HERE.parent / "docs" / "performance.md"

RUNS, SCALE = 5, 1.0
QUICK_RUNS, QUICK_SCALE = 2, 0.2
PROFILE_SCALE = 1.0
PROFILE_LINES = 35

SYSTEMS = {
    "all": [System.PEER, System.SUBJECT, System.SUBJECT_FSYNC],
    "quick": [System.PEER, System.SUBJECT],
    "kafka": [System.PEER],
    "riverlog": [System.SUBJECT, System.SUBJECT_FSYNC],
}


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    built = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure riverlog against Apache Kafka, in turns, and compare with the budgets.",
    )
    built.add_argument(
        "rows", nargs="*", metavar="row", help="rows to measure (default: all): " + ", ".join(_rows())
    )
    built.add_argument(
        "--runs", type=int, help=f"turns per row and broker (default {RUNS}; quick {QUICK_RUNS})"
    )
    built.add_argument(
        "--quick", action="store_true", help="small loads, no fsync column: minutes, and noisy"
    )
    built.add_argument("--only", choices=["kafka", "riverlog"], help="measure one broker, compare nothing")
    built.add_argument(
        "--json", type=Path, metavar="FILE", help="where to keep every turn (default: bench/results)"
    )
    built.add_argument(
        "--from", type=Path, metavar="FILE", dest="source", help="show a kept run, measure nothing"
    )
    built.add_argument("--record", action="store_true", help="write the tables into docs/performance.md")
    built.add_argument("--profile", metavar="ROW", help="run one row on riverlog under cProfile")
    return built


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit status: 1 where a row has no result, 2 where nothing could be run."""
    options = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # leave by the exits that stop the brokers
    rows = _rows()
    unknown = [name for name in [*options.rows, options.profile] if name is not None and name not in rows]
    if unknown:
        print(f"no row {', '.join(unknown)}; there are {', '.join(rows)}", file=sys.stderr)
        return 2
    chosen = [rows[name] for name in options.rows] or list(ROWS)
    try:
        if options.profile:
            return profile(rows[options.profile])
        results = Results.read(options.source) if options.source else measure(chosen, options)
    except BenchError as error:
        print(error, file=sys.stderr)
        return 2
    done = [(rows[result.name], result) for result in results.rows]
    if options.source:
        print("\n".join(report.terminal(row, result) for row, result in done))
    print(f"\n{report.NOTE}\n\n{report.summary(done)}")
    if options.record:
        PAGE.write_text(report.record(PAGE.read_text(), report.markdown(results, rows)))
        print(f"written to {PAGE}")
    return 1 if any(result.failure for result in results.rows) else 0


def measure(rows: list[Row], options: argparse.Namespace) -> Results:
    """Measure the rows, printing each as it is done and keeping all in a file."""
    systems = SYSTEMS[options.only or ("quick" if options.quick else "all")]
    if System.PEER in systems:
        jars()  # the one step that may take minutes, before anything is timed
    if System.SUBJECT in systems:
        riverlog_command()
    scratch = scratch_directory()
    scratch.rmdir()
    now = datetime.datetime.now(datetime.UTC)
    results = Results(
        date=now.strftime("%Y-%m-%d %H:%M UTC"),
        machine=machine.describe(str(scratch.parent)),
        runs=options.runs or (QUICK_RUNS if options.quick else RUNS),
        scale=QUICK_SCALE if options.quick else SCALE,
    )
    kept = options.json or RESULTS / f"{now:%Y%m%d-%H%M%S}.json"
    print("\n".join(f"{name}: {value}" for name, value in results.machine.items()))
    started = time.monotonic()
    for row in rows:
        result = run_row(row, systems, results.runs, results.scale, _progress)
        results.rows.append(result)
        _progress("")
        print(report.terminal(row, result), flush=True)
        results.write(kept)
    print(f"\n{time.monotonic() - started:.0f} s; every turn is in {kept}")
    return results


def profile(row: Row) -> int:
    """Run one row on riverlog under cProfile; print where the time went and keep the profile."""
    RESULTS.mkdir(exist_ok=True)
    kept = RESULTS / f"profile-{row.name}.pstats"
    try:
        sample = one_turn(row, RiverlogBroker({**row.settings, **PAGE_CACHE}, profile=kept), PROFILE_SCALE)
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    print("under the profiler, so slower than it is:")
    for figure in row.figures:
        if figure.name in sample:
            print(f"  {figure.title}: {sample[figure.name]:.{figure.digits}f} {figure.unit}")
    pstats.Stats(str(kept)).sort_stats("tottime").print_stats(PROFILE_LINES)
    print(f"kept in {kept}")
    return 0


def _rows() -> dict[str, Row]:
    return {row.name: row for row in ROWS}


def _progress(text: str) -> None:
    """Show on a terminal what is going on, in one line that is overwritten."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
