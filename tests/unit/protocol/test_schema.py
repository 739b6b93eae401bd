import pytest

from riverlog.protocol import schema
from riverlog.protocol.schema import NONE, DefinitionError, Field, Message, Versions

PICK = """
api 99 Pick

message PickRequest 1-4 flexible 3+
  group_id     string
  deadline_ms  int64       2+ = -1
  topics       []PickTopic null 2+
    name   string   1-3
    parts  []int32
  rack         string      3+ null tag 0 = null
  limits       Limits

struct Limits
  is_hard  bool  = true

message PickResponse 1-4 flexible 3+
  error_code  int16
"""


def fields(struct: str) -> dict[str, Field]:
    return {field.name: field for field in schema.parse("pick", PICK).structs[struct]}


def test_a_definition_holds_its_messages_and_structures() -> None:
    definition = schema.parse("pick", PICK)

    assert definition.key == 99
    assert definition.messages == {
        "PickRequest": Message("PickRequest", Versions(1, 4), flexible_from=3),
        "PickResponse": Message("PickResponse", Versions(1, 4), flexible_from=3),
    }
    assert list(fields("PickRequest")) == ["group_id", "deadline_ms", "topics", "rack", "limits"]
    assert list(fields("PickTopic")) == ["name", "parts"]
    assert list(fields("Limits")) == ["is_hard"]


def test_a_field_has_the_versions_of_what_is_around_it_unless_it_says_otherwise() -> None:
    request, topic = fields("PickRequest"), fields("PickTopic")

    assert request["group_id"].versions == Versions(1, 4)
    assert request["deadline_ms"].versions == Versions(2, 4)
    assert topic["name"].versions == Versions(1, 3)
    assert topic["parts"].versions == Versions(1, 4)


def test_a_field_may_be_null_in_some_versions_in_all_or_in_none() -> None:
    request = fields("PickRequest")

    assert request["group_id"].null_versions == NONE
    assert request["topics"].null_versions == Versions(2, 4)
    assert request["rack"].null_versions == Versions(3, 4)


def test_a_field_knows_its_kind() -> None:
    request, topic = fields("PickRequest"), fields("PickTopic")

    assert (request["topics"].kind, request["topics"].is_list, request["topics"].is_struct) == (
        "PickTopic",
        True,
        True,
    )
    assert (topic["parts"].kind, topic["parts"].is_list, topic["parts"].is_struct) == ("int32", True, False)
    assert (request["limits"].kind, request["limits"].is_list, request["limits"].is_struct) == (
        "Limits",
        False,
        True,
    )


def test_a_default_left_out_is_the_one_of_the_type() -> None:
    request = fields("PickRequest")

    assert request["group_id"].default == ""
    assert request["topics"].default == ()
    assert request["deadline_ms"].default == -1
    assert request["rack"].default is None
    assert fields("Limits")["is_hard"].default is True


def test_records_are_null_by_default_where_they_may_be() -> None:
    definition = schema.parse("x", "message X 0-1\n  may_be_null records null\n  is_there records\n")

    assert [field.default for field in definition.structs["X"]] == [None, b""]


def test_only_a_tagged_field_has_a_tag() -> None:
    request = fields("PickRequest")

    assert request["rack"].tag == 0
    assert request["group_id"].tag is None


@pytest.mark.parametrize("text", ["massage X 0-1", "message X 0-1\n  name string 0+ nul", "  lost int32"])
def test_what_does_not_follow_the_grammar_is_named(text: str) -> None:
    with pytest.raises(DefinitionError, match="file-name"):
        schema.parse("file-name", text)


def test_the_index_says_where_each_message_and_structure_is_defined() -> None:
    for name, home in schema.index().items():
        assert name in schema.load(home).structs


@pytest.mark.parametrize("home", sorted(set(schema.index().values())))
def test_every_structure_that_a_definition_uses_is_defined_and_indexed(home: str) -> None:
    definition = schema.load(home)

    for name, struct_fields in definition.structs.items():
        assert schema.index()[name] == home
        assert all(field.kind in definition.structs for field in struct_fields if field.is_struct)
