from riverlog.protocol import schema
from riverlog.protocol.schema import NONE, Field, Versions
from tools import generate_message_stubs

ALWAYS = Versions(0, 3)


def field(
    kind: str, *, is_struct: bool = False, is_list: bool = False, null_versions: Versions = NONE
) -> Field:
    return Field("name", kind, is_struct, is_list, ALWAYS, null_versions, None, ())


def test_the_stubs_are_those_of_the_definition_files() -> None:
    assert generate_message_stubs.TARGET.read_text() == generate_message_stubs.stubs()


def test_every_message_and_structure_has_its_stub() -> None:
    text = generate_message_stubs.stubs()

    assert all(f"\nclass {name}(Message):" in text for name in schema.index())


def test_a_field_is_annotated_with_the_type_of_its_values() -> None:
    annotation = generate_message_stubs.annotation

    assert annotation(field("int16")) == "int"
    assert annotation(field("uuid")) == "bytes"
    assert annotation(field("string", null_versions=Versions(2, 3))) == "str | None"
    assert annotation(field("Topic", is_struct=True, is_list=True)) == "list[Topic]"
    assert annotation(field("int32", is_list=True, null_versions=ALWAYS)) == "list[int] | None"
