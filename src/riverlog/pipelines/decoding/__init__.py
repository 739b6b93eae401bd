"""Bytes of records to columns: JSON, Avro and Protobuf, and records that are none of it.

    decode.py          a frame of records to a frame of decoded columns, bad records marked
    dead_letters.py    bad records as records of a dead-letter topic, and both halves written
    framing.py         the schema id that Confluent's serialisers put before a value, pure
    records.py         values to a column of records, each bad one with its reason, pure
      avro_records.py       Avro by fastavro, pure
      protobuf_records.py   Protobuf by its own runtime and a compiled descriptor, pure
    sql_types.py       types of Arrow as SQL declares them, pure
    json_columns.py    many JSON values to columns at once, for the source (valueFormat), pure
      json_shape.py        which values are one object, so that they can be parsed at once, pure
      json_record.py       one of them in Python, where those at once are refused, pure
      declared.py          columns in SQL's words to types of Arrow, pure

    value ──▶ JSON: Spark's from_json      ──▶ columns, bad
          └─▶ Avro, Protobuf: Arrow batches ──▶ columns, bad

    source with valueFormat=json: Arrow's parser in the task that reads ──▶ value as a struct, bad

A record that cannot be decoded never ends a query: its columns are null, and `bad` holds it with the reason.
"""
