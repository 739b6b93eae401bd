"""The examples as an app, for a cluster of one's own: `riverlog run PATH-OF-THIS-FILE --bootstrap HOST:PORT`.

It reads the topics that the examples name, and writes theirs; `riverlog pipelines` tells how far it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from riverlog.examples import Example, examples
from riverlog.pipelines import App

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from riverlog.pipelines.jobs.context import Context

app = App("examples")


def declare(example: Example) -> None:
    """Make an example a query of the app."""

    @app.query(example.name, output=example.output)
    def query(context: Context) -> DataFrame:
        return example.pipeline(*(context.topic(each.topic, schema=each.schema) for each in example.inputs))


for each_example in examples():
    declare(each_example)
