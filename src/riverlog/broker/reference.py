"""The reference page of the protocol, written from the table of handlers: `docs/reference/protocol.md`.

    python -m riverlog.broker.reference > docs/reference/protocol.md

A test compares the page with the table, so neither can be changed alone.
"""

from __future__ import annotations

import sys

from riverlog.broker.apis import HANDLERS
from riverlog.protocol.versions import APIS

_INTRODUCTION = """\
# Protocol

<!-- Written by `python -m riverlog.broker.reference`: change src/riverlog/broker/apis instead. -->

The APIs of Apache Kafka's protocol that a broker of riverlog serves, with the versions it answers.
ApiVersions tells clients the same, with one difference: Produce is advertised from version 0, although
0 to 2 carry record formats that are refused. librdkafka would otherwise stop compressing without a word.

| Key | API | Versions |
|---|---|---|
"""


def page() -> str:
    """Write the page."""
    rows = [
        f"| {handler.api_key} | {APIS[handler.api_key].name} | {handler.min_version}-{handler.max_version} |"
        for handler in sorted(HANDLERS, key=lambda handler: handler.api_key)
    ]
    return _INTRODUCTION + "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
