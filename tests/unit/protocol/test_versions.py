import pytest

from riverlog.protocol import schema
from riverlog.protocol.versions import APIS, NEVER, has_flexible_response_header, is_flexible, is_supported

API_DEFINITIONS = [schema.load(name) for name in sorted(set(schema.index().values())) if "/" not in name]


def test_the_table_names_the_apis_of_the_definition_files() -> None:
    assert sorted(APIS) == sorted(definition.key for definition in API_DEFINITIONS)


@pytest.mark.parametrize("definition", API_DEFINITIONS, ids=lambda definition: definition.name)
def test_the_table_has_the_versions_of_the_definition_files(definition: schema.Definition) -> None:
    api = APIS[definition.key]

    assert list(definition.messages) == [f"{api.name}Request", f"{api.name}Response"]
    for message in definition.messages.values():
        assert message.versions == (api.min_version, api.max_version)
        assert message.flexible_from == api.flexible_from


@pytest.mark.parametrize(
    ("key", "version", "supported"),
    [
        (0, 2, False),
        (0, 3, True),
        (0, 13, True),
        (0, 14, False),
        (0, -1, False),
        (4, 0, False),
        (-1, 0, False),
    ],
)
def test_a_version_is_supported_when_its_encoding_is_known(key: int, version: int, supported: bool) -> None:
    assert is_supported(key, version) is supported


def test_versions_are_flexible_from_the_first_flexible_one_on_into_the_future() -> None:
    assert not is_flexible(3, 8)
    assert is_flexible(3, 9)
    assert is_flexible(3, 1000)


def test_an_api_without_flexible_versions_has_none() -> None:
    assert APIS[17].flexible_from == NEVER
    assert not is_flexible(17, 1)


def test_an_unknown_api_is_taken_for_not_flexible() -> None:
    assert not is_flexible(1234, 0)


def test_api_versions_answers_with_the_old_header_in_every_version() -> None:
    assert is_flexible(18, 3)
    assert not has_flexible_response_header(18, 3)
    assert has_flexible_response_header(3, 9)
    assert not has_flexible_response_header(3, 8)
