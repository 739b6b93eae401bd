"""Types of Arrow as Spark's SQL declares them. Pure."""

from __future__ import annotations

import pyarrow as pa

_PLAIN = {
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp",
    pa.timestamp("us"): "timestamp_ntz",
}


def sql_type(kind: pa.DataType) -> str:
    """Declare a type that decoders give."""
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'{quoted(field.name)}: {sql_type(field.type)}' for field in kind)}>"
    if pa.types.is_list(kind):
        return f"array<{sql_type(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"map<{sql_type(kind.key_type)}, {sql_type(kind.item_type)}>"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    return _PLAIN[kind]


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    return f"`{name.replace('`', '``')}`"
