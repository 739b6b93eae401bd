"""librdkafka's errors as ours: which error family, and a sentence that says what to do.

    BrokerUnreachable   nothing answered, or not in time: ends the command, a retry may help
    UnknownTopic        RequestRefused: the topic (or partition) is not there
    TopicExists         RequestRefused: the topic is there already
    RequestRefused      any other refusal by the broker, with its error number and its own text

librdkafka numbers its own errors below zero and the broker's above, so the sign tells who spoke.
"""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from riverlog.errors import RequestRefused, RiverlogError


class BrokerUnreachable(RiverlogError):
    """Nothing that speaks Kafka answered at the given addresses, or not in time."""


class UnknownTopic(RequestRefused):
    """The topic or partition does not exist."""


class TopicExists(RequestRefused):
    """A topic of that name exists already."""


_OUT_OF_REACH = frozenset(
    {
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._MSG_TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
        KafkaError._NODE_UPDATE,
        KafkaError._WAIT_COORD,
    }
)
_UNKNOWN = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError.UNKNOWN_TOPIC_ID,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
    }
)
_HINTS = {
    KafkaError._PURGE_QUEUE: "given up before it was sent",
    KafkaError._PURGE_INFLIGHT: "given up before it was acknowledged",
    KafkaError.MSG_SIZE_TOO_LARGE: "larger than the topic's max.message.bytes allows",
}
_PASSING = frozenset(
    {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.NOT_CONTROLLER,
        KafkaError.NETWORK_EXCEPTION,
    }
)


class LastTrouble:
    """What librdkafka last complained of: when a request runs out of time, that is usually why.

    Pass `note` as its `error_cb`; it is called when the client is polled.
    """

    def __init__(self) -> None:
        self.text = ""

    def note(self, error: KafkaError) -> None:
        """Remember a complaint; that all brokers are down only follows from an earlier, telling one."""
        if error.code() != KafkaError._ALL_BROKERS_DOWN or not self.text:
            self.text = error.str()


def refusal(error: KafkaError, doing: str, *, last_trouble: str = "") -> RiverlogError:
    """Turn a librdkafka error met while `doing` something into ours.

    `doing` reads after "while": "creating topic 'orders'"; `last_trouble` is a `LastTrouble`'s text.
    """
    code = error.code()
    reason = error_text(error)
    if code in _OUT_OF_REACH:
        cause = last_trouble or reason
        return BrokerUnreachable(
            f"no usable answer while {doing}: {cause}. Is this the address of a broker? "
            "Does it expect TLS or a password (-X security.protocol=...)?"
        )
    family = UnknownTopic if code in _UNKNOWN else RequestRefused
    if code == KafkaError.TOPIC_ALREADY_EXISTS:
        family = TopicExists
    return family(code, f"{doing} failed: {reason}")


def refusal_of(exception: KafkaException, doing: str, *, last_trouble: str = "") -> RiverlogError:
    """Turn the error inside a raised `KafkaException` into ours."""
    return refusal(exception.args[0], doing, last_trouble=last_trouble)


def is_passing(error: KafkaError) -> bool:
    """Say whether the same request may succeed in a moment: leadership is moving or was just decided."""
    return error.code() in _PASSING


def error_text(error: KafkaError) -> str:
    """The broker's own words where it sent some, else the error's name in words; never a bare number."""
    text = _HINTS.get(error.code()) or error.str() or error.name()
    for prefix in ("Broker: ", "Local: "):
        text = text.removeprefix(prefix)
    name = error.name()
    return text if name.startswith("_") else f"{text.rstrip('.')} ({name})"
