"""What a host expects of a machine: decisions as outcomes, and replay as the only way to change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from riverlog.shards.outcome import NO_PRODUCER

if TYPE_CHECKING:
    from riverlog.protocol.error_codes import ErrorCode
    from riverlog.shards.moment import Moment
    from riverlog.shards.outcome import Outcome


class Machine(Protocol):
    """A replicated state machine, kept in one partition. Pure: time comes in with each call.

    `encode` and `decode` are between its records and their keys and values; records have a `value`, None
    where they remove what they are about. `decode` raises RemoteProtocolError, or gives an OtherKind.
    """

    encode: Any
    decode: Any

    @property
    def next_deadline_ms(self) -> int:
        """When to call `pass_time` again, on the steady clock; NEVER if nothing is waited for."""

    def pass_time(self, now: Moment, /) -> Iterator[Outcome]:
        """Decide what is due. Each outcome is to be carried out before the next is asked for."""

    def loaded(self, now: Moment, /) -> Iterator[Outcome]:
        """Begin to serve what was replayed. To be used as `pass_time` is."""

    def refused(self, refused: Any, /) -> Outcome:
        """Go on after the log refused an outcome's records."""

    def unload(self, error_code: ErrorCode, now: Moment, /) -> Outcome:
        """Stop serving: whoever waits is told to look elsewhere."""

    def replay(self, record: Any, place: int, producer_id: int = NO_PRODUCER, /) -> None:
        """Take in a record that lies at `place` in the log, with a producer id as part of a transaction."""

    def replay_marker(self, producer_id: int, *, is_commit: bool) -> None:
        """Take in the end of a transaction."""
