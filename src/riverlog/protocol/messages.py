"""Every message of the protocol as a class: `messages.MetadataRequest`, `messages.MetadataResponseTopic`, ...

The classes are made on first use from the definition files, so importing this module costs nothing.
`messages.pyi` beside it lists them all for people and type checkers; a test keeps it in step. How they behave
is told in `riverlog.protocol.message`.
"""

from typing import Any

from riverlog.protocol.message import Message, message_class
from riverlog.protocol.schema import index

__all__ = ["Message"]


def __getattr__(name: str) -> Any:
    try:
        found = message_class(name)
    except KeyError:
        raise AttributeError(f"the protocol has no message {name!r}") from None
    globals()[name] = found  # the next look-up does not come here
    return found


def __dir__() -> list[str]:
    return [*globals(), *index()]
