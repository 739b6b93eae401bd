"""Pipelines to run, read and copy, each with data from a seed and a check of what comes out.

    example.py              what an example is; how two results are compared
    arrivals.py             events as a network brings them: out of order, some twice
    search_clicks.py        two streams joined, unmatched after a time-out
    card_fraud.py           a pattern in the events of a key
    top_movers.py           aggregated by one key, then ranked by another
    machine_monitoring.py   event times from clocks that are wrong
    timelines.py            two changing tables joined into a view
    price_alerts.py         stored queries against each event
    enriched_clicks.py      a stream joined with a table from change capture
    live.py                 any of them from topic to topic of a cluster, fed as it goes
      records.py              rows as records and back
    app.py                  all of them as an app, for `riverlog run`

Each module has `pipeline`, from frames to a frame, made of Spark's operators and those of `pipelines`;
`events`, its data; and `expected`, which computes from the same data, without Spark and all at once, what the
pipeline must give. `riverlog demo` runs them from topic to topic; tests feed them in disorder.
"""

from __future__ import annotations

from importlib import import_module

from riverlog.errors import RiverlogError
from riverlog.examples.example import Arrival, Example, Input, Row, comparable

NAMES = (
    "search-clicks",
    "card-fraud",
    "top-movers",
    "machine-monitoring",
    "timelines",
    "price-alerts",
    "enriched-clicks",
)


class ExampleUnknown(RiverlogError):
    """A name that no example has."""


def example(name: str) -> Example:
    """Give an example by its name."""
    if name not in NAMES:
        raise ExampleUnknown(f"there is no example {name!r}: there are {', '.join(NAMES)}")
    found: Example = import_module(f"{__name__}.{name.replace('-', '_')}").EXAMPLE
    return found


def examples() -> list[Example]:
    """Give all examples."""
    return [example(name) for name in NAMES]


__all__ = [
    "NAMES",
    "example",
    "examples",
    "Example",
    "Arrival",
    "Input",
    "Row",
    "comparable",
    "ExampleUnknown",
]
