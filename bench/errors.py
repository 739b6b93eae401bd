"""What can go wrong in a turn. Any of these ends the row it happens in, and no other."""


class BenchError(Exception):
    """The base of all."""


class BrokerFailed(BenchError):
    """The broker did not start, or ended by itself; carries the end of its output."""


class LoadFailed(BenchError):
    """A load raised, ended early or took too long."""


class Unanswered(BenchError):
    """The broker closed the connection or kept silent."""


class Refused(BenchError):
    """A response carries an error code, or other data than were produced."""


class Unserved(BenchError):
    """The broker does not have the request that a row is about."""


class Malformed(BenchError):
    """A response does not have the layout it should have."""


class Miscounted(BenchError):
    """The log holds another number of messages than were acknowledged."""


def check_count(acknowledged: int, held: int) -> None:
    """Raise Miscounted unless the log gained exactly what was acknowledged."""
    if acknowledged != held:
        raise Miscounted(f"{acknowledged:,} messages acknowledged, {held:,} in the log")
