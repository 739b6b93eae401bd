"""What holds for all APIs: each can be asked in each version that is advertised."""

from __future__ import annotations

import pytest

from riverlog.broker.apis import HANDLERS
from riverlog.broker.handler import Handler
from riverlog.protocol import messages
from riverlog.protocol.versions import APIS
from tests.unit.broker.apis.asking import AskedBroker

ASKABLE = {APIS[handler.api_key].name: handler for handler in HANDLERS if isinstance(handler, Handler)}


def test_each_key_has_one_handler() -> None:
    keys = [handler.api_key for handler in HANDLERS]

    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("name", ASKABLE)
def test_each_version_answers_an_empty_request(asked: AskedBroker, name: str) -> None:
    handler = ASKABLE[name]
    request = getattr(messages, f"{name}Request")

    for version in range(handler.min_version, handler.max_version + 1):
        answer = asked.ask(request(), version)

        assert type(answer).__name__ == f"{name}Response"


@pytest.mark.parametrize("handler", HANDLERS, ids=lambda handler: APIS[handler.api_key].name)
def test_the_versions_are_those_of_the_definitions(handler: Handler) -> None:
    api = APIS[handler.api_key]

    assert (handler.min_version, handler.max_version) == (api.min_version, api.max_version)
