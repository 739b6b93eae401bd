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

_DIFFERENCES = """
## Where answers differ from Apache Kafka's

Measured by the same requests to Apache Kafka 4.3.1. What differs by mistake there, such as an unknown
server error for a number out of range, is a refusal with a code of its own here.

- A fetch that asks for a partition or topic id that is not there is answered at once; there it waits for
  its other partitions, so a consumer learns of a deletion only when the wait is over.
- A fetch session whose topic was created again: `UNKNOWN_TOPIC_ID`; there `INCONSISTENT_TOPIC_ID`.
- CreateTopics, DeleteTopics and CreatePartitions answer when they are done, also with a time-out of 0;
  there the answer is then `REQUEST_TIMED_OUT`, and the change may be made all the same.
- CreateTopics that only validates has no topic id to tell; there it is one that no topic will have.
- Two names in one request that differ only in `.` against `_`: the second is refused; there both are made.
- Settings are told as they were understood (`100`, `true`), not as they were typed (` 100 `, `TRUE`).
- A resource named twice is answered once.
"""


def page() -> str:
    """Write the page."""
    rows = [
        f"| {handler.api_key} | {APIS[handler.api_key].name} | {handler.min_version}-{handler.max_version} |"
        for handler in sorted(HANDLERS, key=lambda handler: handler.api_key)
    ]
    return _INTRODUCTION + "\n".join(rows) + "\n" + _DIFFERENCES


if __name__ == "__main__":
    sys.stdout.write(page())
