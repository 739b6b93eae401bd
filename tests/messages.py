"""A Protobuf message for tests, made without a compiler: `shop.Click`, the second message of its file."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

_FIELD = descriptor_pb2.FieldDescriptorProto


def click_class() -> Any:
    """Make the class that a compiler would generate."""
    file = descriptor_pb2.FileDescriptorProto(
        name="shop.proto",
        package="shop",
        syntax="proto3",
        dependency=["google/protobuf/timestamp.proto"],
        message_type=[descriptor_pb2.DescriptorProto(name="Other")],
    )
    click = file.message_type.add(name="Click")
    one, many = _FIELD.LABEL_OPTIONAL, _FIELD.LABEL_REPEATED
    for number, (name, kind, label, reference) in enumerate(
        [
            ("page", _FIELD.TYPE_STRING, one, ""),
            ("at", _FIELD.TYPE_MESSAGE, one, ".google.protobuf.Timestamp"),
            ("total", _FIELD.TYPE_UINT64, one, ""),
            ("tags", _FIELD.TYPE_STRING, many, ""),
            ("counts", _FIELD.TYPE_MESSAGE, many, ".shop.Click.CountsEntry"),
            ("color", _FIELD.TYPE_ENUM, one, ".shop.Click.Color"),
            ("place", _FIELD.TYPE_MESSAGE, one, ".shop.Click.Place"),
        ],
        start=1,
    ):
        field = click.field.add(name=name, number=number, type=kind, label=label)
        if reference:
            field.type_name = reference
    click.oneof_decl.add(name="_age")
    click.field.add(
        name="age", number=8, type=_FIELD.TYPE_INT32, label=one, oneof_index=0, proto3_optional=True
    )
    click.nested_type.add(
        name="CountsEntry",
        field=[
            _FIELD(name="key", number=1, type=_FIELD.TYPE_STRING, label=one),
            _FIELD(name="value", number=2, type=_FIELD.TYPE_SINT32, label=one),
        ],
        options=descriptor_pb2.MessageOptions(map_entry=True),
    )
    click.nested_type.add(
        name="Place", field=[_FIELD(name="city", number=1, type=_FIELD.TYPE_BYTES, label=one)]
    )
    click.enum_type.add(
        name="Color",
        value=[
            descriptor_pb2.EnumValueDescriptorProto(name="RED", number=0),
            descriptor_pb2.EnumValueDescriptorProto(name="BLUE", number=1),
        ],
    )
    pool = descriptor_pool.DescriptorPool()
    imported = descriptor_pb2.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(imported)
    pool.Add(imported)
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Click"))
