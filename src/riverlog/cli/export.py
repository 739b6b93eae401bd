"""`riverlog export`: records of a topic become a file that other tools read as a table.

The file appears under its name once it is complete; until then it is `FILE.partial` beside it, which is
removed if the export fails. Memory stays bounded however large the topic: a record batch comes in, a row
group goes out.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING, Any, BinaryIO

from riverlog.cli.arguments import (
    Subparsers,
    add_command,
    add_connection,
    add_json,
    connection,
    position,
    whole_number,
)
from riverlog.errors import RiverlogError

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMATS = ("parquet", "arrow", "csv")
PARTIAL = ".partial"

_TEXT = """\
Writes the records of a topic into one file, by partition and offset, up to the end that the topic had
when the command started. The columns are topic, partition, offset, timestamp, timestamp_type, key, value
and headers; --columns chooses some of them. --from and --until take the same positions as
`riverlog consume`.

In CSV keys and values must be text, and there are no headers. Needs `pip install 'riverlog[arrow]'`."""

_EXAMPLES = """\
  riverlog export orders -o orders.parquet                      everything
  riverlog export orders -o today.parquet --from 24h            the last day
  riverlog export orders -o orders.csv --columns offset,value   as text
  riverlog export orders -o orders.arrow --json                 with a summary for programs"""


def add_to(commands: Subparsers) -> None:
    """Add the command to the command line."""
    parser = add_command(commands, "export", "write records of a topic into a file", _TEXT, _EXAMPLES)
    parser.add_argument("topic", metavar="TOPIC", help="topic to read")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="file to write")
    parser.add_argument(
        "--format", choices=FORMATS, help="what to write; default: what the file's name ends with"
    )
    parser.add_argument(
        "--columns", metavar="NAME[,...]", help="columns to write, in this order; default: all"
    )
    parser.add_argument("--from", dest="begin", metavar="POSITION", type=position, help="default: start")
    parser.add_argument(
        "--until", metavar="POSITION", type=position, help="itself not included; default: end"
    )
    parser.add_argument(
        "-p",
        "--partition",
        dest="partitions",
        metavar="N",
        type=whole_number,
        action="append",
        help="read only this partition; may be repeated",
    )
    parser.add_argument(
        "--read-uncommitted", action="store_true", help="write records of open and aborted transactions too"
    )
    add_json(parser)
    add_connection(parser)
    parser.set_defaults(run=run, refuse=parser.error)


def run(arguments: argparse.Namespace) -> int:
    """Read, write, and say how much it was."""
    from riverlog.cli.progress import Progress

    form = arguments.format or arguments.output.rpartition(".")[2]
    if form not in FORMATS:
        arguments.refuse(f"--format is needed: {arguments.output!r} ends with none of {', '.join(FORMATS)}")
    if arguments.properties:
        arguments.refuse("-X: export reads stored batches without librdkafka, over plain connections only")
    reader = _reader(arguments, form)
    partial = arguments.output + PARTIAL
    progress = Progress("records written")
    try:
        with open(partial, "wb") as file, _writer(form, file, reader.schema) as writer:
            for batch in reader:
                writer.write(_as_text(batch) if form == "csv" else batch)
                progress.advance(batch.num_rows, batch.nbytes)
        os.replace(partial, arguments.output)
    except BaseException:
        if os.path.exists(partial):
            os.remove(partial)
        raise
    finally:
        progress.clear()
    size = os.path.getsize(arguments.output)
    if arguments.json:
        summary = {"topic": arguments.topic, "file": arguments.output, "format": form}
        print(json.dumps(summary | {"records": progress.count, "bytes": size}))
    else:
        from riverlog.cli.table import quantity
        from riverlog.cli.table import size as shown

        print(f"{quantity(progress.count, 'record')} in {arguments.output}, {shown(size)}")
    return 0


def _reader(arguments: argparse.Namespace, form: str) -> Any:
    try:
        from riverlog.columnar import COLUMNS, Source, Split
    except ImportError as error:
        raise RiverlogError(str(error)) from None
    from riverlog.cli.spans import spans
    from riverlog.client.positions import END, START

    columns = COLUMNS if arguments.columns is None else tuple(arguments.columns.split(","))
    if form == "csv":
        if arguments.columns is not None and "headers" in columns:
            arguments.refuse("CSV has no place for headers: leave them out, or write parquet")
        columns = tuple(name for name in columns if name != "headers")
    source = Source(
        bootstrap=arguments.bootstrap,
        isolation="read_uncommitted" if arguments.read_uncommitted else "read_committed",
        columns=columns,
        timeout_seconds=connection(arguments)["timeout_seconds"],
    )

    def splits() -> Iterator[Split]:
        for partition, span in sorted(found.items()):
            if not span.is_empty:
                assert span.end is not None
                yield Split(arguments.topic, partition, span.start, span.end)

    found = spans(arguments, arguments.begin or START, arguments.until or END)
    return source.read(splits())


def _writer(form: str, file: BinaryIO, schema: Any) -> Any:
    import pyarrow as pa

    if form == "parquet":
        import pyarrow.parquet

        return pa.parquet.ParquetWriter(file, schema, compression="zstd")
    if form == "arrow":
        return pa.ipc.new_file(file, schema)
    import pyarrow.csv

    return pa.csv.CSVWriter(file, _text_schema(schema))


def _text_schema(schema: Any) -> Any:
    import pyarrow as pa

    return pa.schema(
        [field.with_type(pa.string()) if pa.types.is_binary(field.type) else field for field in schema]
    )


def _as_text(batch: Any) -> Any:
    """Make text of keys and values. Raises RiverlogError for what is none."""
    import pyarrow as pa

    try:
        return batch.cast(_text_schema(batch.schema))
    except pa.ArrowInvalid:
        raise RiverlogError("a key or value is not text (UTF-8): write parquet or arrow instead") from None
