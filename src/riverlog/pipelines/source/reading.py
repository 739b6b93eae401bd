"""A task: the records of one range of offsets, as Arrow. It runs in Spark's Python workers.

Where a range ends was asked of the broker with the isolation of the query: it is the high watermark or the
last stable offset of that time, at most. So segment files may be read up to there without asking again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from riverlog.columnar import RecordsLost, Source, Split
from riverlog.errors import RequestRefused
from riverlog.pipelines.decoding.json_columns import JsonColumns
from riverlog.pipelines.source import rows
from riverlog.pipelines.source.loss import report
from riverlog.pipelines.source.offsets import Range
from riverlog.pipelines.source.options import SourceOptions

_OFFSET_OUT_OF_RANGE = 1


def read_range(options: SourceOptions, wanted: Range, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Read the records of a range, with these columns in their order.

    Raises OffsetsLost for what was deleted (or logs it, as options say), ClusterUnavailable, BadBatch.
    """
    schema = rows.arrow_schema(columns, options.value_fields)
    values = None if options.value_fields is None else JsonColumns(options.value_fields)
    source = Source(
        bootstrap=options.bootstrap,
        isolation=options.isolation,
        columns=rows.log_columns(columns),
        timeout_seconds=options.timeout_seconds,
        skip_lost=not options.fails_on_loss,
        directories=options.directories,
    )
    split = Split(wanted.place.topic, wanted.place.partition, wanted.start, wanted.end)
    try:
        for batch in source.batches(split):
            yield rows.for_spark(batch, schema, values)
    except RecordsLost as error:
        report([_deleted(wanted, error.start, error.end)], fails=True)
    except RequestRefused as error:
        if error.error_code != _OFFSET_OUT_OF_RANGE:
            raise
        report([str(error)], fails=options.fails_on_loss)


def _deleted(wanted: Range, start: int, end: int) -> str:
    return (
        f"{wanted.place}: the records from offset {start} up to {end} were deleted before they were read "
        f"(in a task that reads {wanted.start} up to {wanted.end})"
    )
