"""A frame of records to a frame of decoded columns.

    clicks = decode(records, "json", "page string NOT NULL, at timestamp")

    key, value, topic, partition, offset, timestamp ...  ──▶  page, at, key, topic, partition, ..., bad

Columns of the frame stay, but for the one that was decoded. `bad` is null, or says what is wrong with a
record and holds all of it; see `dead_letters`. A null value, a tombstone, is not bad: its columns are null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from riverlog.errors import ConfigError
from riverlog.pipelines.columns import ColumnRefused, require, require_new
from riverlog.pipelines.decoding.framing import HEADER_BYTES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType

    from riverlog.pipelines.decoding.records import Decoder

Encoding: TypeAlias = Literal["json", "avro", "protobuf"]

BAD = "bad"
DECODED = "riverlog_decoded"
"""A column on the way, from which those of the result are taken."""

_CORRUPT = "riverlog_corrupt"
_PARTS = {
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "key": "binary",
    "headers": "array<struct<key: string, value: binary>>",
}
"""What of a record is kept with a bad one, if the frame has it."""


def decode(
    frame: DataFrame,
    encoding: Encoding,
    schema: Any,
    *,
    column: str = "value",
    framed: bool = False,
    schemas: Mapping[int, str] | None = None,
    descriptors: bytes | str | Path | None = None,
    options: Mapping[str, str] | None = None,
    bad: str = BAD,
) -> DataFrame:
    """Decode a column of bytes, in place of which come the columns of its records, and `bad`.

    encoding     json: Spark's own; avro, protobuf: without jars, see there for the types they become
    schema       json: columns in SQL's words or a StructType; without one that is NOT NULL a record is bad
                 avro: a schema, as JSON or as what json.loads makes of it
                 protobuf: a generated message class, or a message's full name with `descriptors`
    framed       whether a schema id stands before each value, as Confluent's serialisers put it there
    schemas      avro, framed: the schemas by their ids that values were written with, read as `schema`
    descriptors  protobuf: a FileDescriptorSet or the path of one (`protoc --descriptor_set_out`)
    options      json: options of `from_json`, such as timestampFormat

    Raises ColumnRefused for a column that is missing or would be there twice, and ConfigError.
    """
    from pyspark.sql import functions as F

    require(frame, "column", column)
    require_new(frame, "bad", bad)
    kept = [name for name in frame.columns if name != column]
    if encoding == "json":
        if schemas is not None or descriptors is not None:
            raise ConfigError("encoding", encoding, "avro with `schemas`, protobuf with `descriptors`")
        fields, parsed, reason = _json(column, schema, framed=framed, options=options or {})
        names = fields.fieldNames()
        record = F.col(DECODED)
    else:
        decoder_of = _decoder_of(encoding, schema, framed, schemas, descriptors)
        names, parsed = _by_arrow(decoder_of, column)
        record = F.col(DECODED)["record"]
        reason = F.col(DECODED)["reason"]
    for name in (*names, bad):
        if name in kept or (name == bad and name in names):
            raise ColumnRefused(
                f"{name!r} is decoded, and a column of the frame already: rename that one before "
                f"(withColumnRenamed), or drop it"
            )
    parts = [
        (F.col(_quoted(name)) if name in frame.columns else F.lit(None)).cast(kind).alias(name)
        for name, kind in _PARTS.items()
    ]
    whole = F.struct(reason.alias("reason"), F.col(_quoted(column)).cast("binary").alias("value"), *parts)
    # A generator is what Spark moves no filter through: without it, whoever filters by `bad` decodes twice.
    once = F.explode(F.array(parsed))
    return frame.withColumn(DECODED, once).select(
        *(record[name].alias(name) for name in names),
        *(F.col(_quoted(name)) for name in kept),
        F.when(reason.isNotNull(), whole).alias(bad),
    )


def _json(
    column: str, schema: StructType | str, *, framed: bool, options: Mapping[str, str]
) -> tuple[StructType, Column, Column]:
    """Give the columns, Spark's expression that decodes them, and the one that says what is wrong."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType, StructField, StructType

    fields = schema if isinstance(schema, StructType) else _declared(schema)
    corrupt = StructField(_CORRUPT, StringType())
    asked = StructType([*fields.fields, corrupt])
    value = F.col(_quoted(column))
    payload = F.substring(value.cast("binary"), HEADER_BYTES + 1, 2**31 - 1) if framed else value
    text = payload.cast("string")
    settings = {**options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    parsed = F.from_json(text, asked, settings)
    record = F.col(DECODED)
    reason = F.when(value.isNull(), F.lit(None).cast("string"))
    if framed:
        has_id = F.substring(value.cast("binary"), 1, 1) == F.lit(bytearray(b"\0"))
        is_long = F.octet_length(value) >= HEADER_BYTES
        reason = reason.when(~(has_id & is_long), "it does not begin with a schema id")
    reason = (
        reason.when(~F.is_valid_utf8(text), "it is no text in UTF-8")
        .when(record.isNull(), "it is empty")
        .when(record[_CORRUPT].isNotNull(), "it is no JSON that fits the schema")
    )
    for field in fields.fields:
        if not field.nullable:
            reason = reason.when(record[field.name].isNull(), f"{field.name} is missing")
    return fields, parsed, reason


def _declared(text: str) -> StructType:
    from pyspark.sql.types import StructType

    if not isinstance(text, str):
        raise ConfigError("schema", text, "columns in SQL's words, or a StructType")
    made: DataType = StructType.fromDDL(text)
    assert isinstance(made, StructType)
    return made


def _by_arrow(decoder_of: Callable[[], Decoder], column: str) -> tuple[list[str], Column]:
    """Give the names of the columns, and the expression that decodes them in Python, by Arrow batches."""
    from pyspark.sql import functions as F

    from riverlog.pipelines.decoding.records import REASON, RECORD, arrow_function
    from riverlog.pipelines.decoding.sql_types import sql_type

    kind = decoder_of().kind
    result = f"struct<{RECORD}: {sql_type(kind)}, {REASON}: string>"
    function = F.arrow_udf(arrow_function(decoder_of), result)  # type: ignore[attr-defined]  # not in its stub
    parsed: Column = function(F.col(_quoted(column)).cast("binary"))
    return [field.name for field in kind], parsed


def _decoder_of(
    encoding: str,
    schema: Any,
    framed: bool,
    schemas: Mapping[int, str] | None,
    descriptors: bytes | str | Path | None,
) -> Callable[[], Decoder]:
    """Give what makes the decoder, on the driver for its types, and once in each task."""
    if encoding == "avro":
        from riverlog.pipelines.decoding.avro_records import AvroRecords

        if descriptors is not None or (schemas is not None and not framed):
            raise ConfigError("encoding", encoding, "`schemas` with framed=True, and no `descriptors`")
        text = schema if isinstance(schema, str) else json.dumps(schema)
        return partial(AvroRecords, text, framed=framed, schemas=None if schemas is None else dict(schemas))
    if encoding != "protobuf":
        raise ConfigError("encoding", encoding, "json, avro or protobuf")
    from riverlog.pipelines.decoding.protobuf_records import ProtobufRecords, descriptor_set

    if schemas is not None:
        raise ConfigError(
            "encoding", encoding, "no `schemas`: the descriptors read all versions of a message"
        )
    if not isinstance(schema, str):
        return partial(ProtobufRecords, schema.DESCRIPTOR.full_name, descriptor_set(schema), framed=framed)
    if descriptors is None:
        raise ConfigError("descriptors", descriptors, "a FileDescriptorSet or its path, or a message class")
    content = descriptors if isinstance(descriptors, bytes) else Path(descriptors).read_bytes()
    return partial(ProtobufRecords, schema, content, framed=framed)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
