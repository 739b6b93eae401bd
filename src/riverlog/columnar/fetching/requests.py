"""What a reader asks a cluster, and what the answers mean. No socket and no clock."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from riverlog.errors import ConfigError, RequestRefused
from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from riverlog.types import TopicPartition

FETCH, LIST_OFFSETS, METADATA, API_VERSIONS = 1, 2, 3, 18

SPOKEN = {FETCH: (4, 12), LIST_OFFSETS: (2, 7), METADATA: (4, 12), API_VERSIONS: (0, 0)}
"""The versions used, first and last: batches of format 2 and isolation levels on the one end, topics by their
names on the other. Brokers since Apache Kafka 1.0 speak some of each; ids of topics come since 2.8."""

EARLIEST, LATEST = -2, -1
"""Times that ask ListOffsets for an end of the log."""

FETCH_WAIT_MS = 500
"""How long a broker may wait for records that are not there yet."""

_DEFAULT_PORT = 9092
_ACCEPTED = "HOST:PORT[,HOST:PORT]..., as in 127.0.0.1:9092"


class Retry(Exception):
    """An answer that may be another one soon: the cluster is about to change, or has changed."""


class Absent(Retry):
    """The cluster knows no such topic. It may be that this broker does not know it yet."""

    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class Leaders(NamedTuple):
    """What a broker knows of the cluster: who is where, and who leads the partitions asked for."""

    brokers: dict[int, tuple[str, int]]
    leaders: dict[TopicPartition, int]
    absent: frozenset[str]
    """Topics asked for that the broker does not know."""
    cluster_id: str | None
    topic_ids: dict[str, bytes]


class Fetched(NamedTuple):
    """What a broker sent of one partition."""

    error: ErrorCode
    records: bytes
    aborted: list[tuple[int, int]]
    """(first offset, producer id)"""


def addresses(bootstrap: str) -> list[tuple[str, int]]:
    """Split a list of addresses into (host, port). Raises ConfigError."""
    found = []
    for entry in filter(None, (each.strip() for each in bootstrap.split(","))):
        host, colon, port = entry.rpartition("://")[2].rpartition(":")
        if not colon or port.endswith("]"):
            host, port = f"{host}{colon}{port}", str(_DEFAULT_PORT)
        host = host.removeprefix("[").removesuffix("]")
        if not host or not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise ConfigError("bootstrap", entry, _ACCEPTED)
        found.append((host, int(port)))
    if not found:
        raise ConfigError("bootstrap", bootstrap, _ACCEPTED)
    return found


def agreed_versions(response: messages.ApiVersionsResponse, address: str) -> dict[int, int]:
    """Choose the newest version of each API that both sides speak. Raises RequestRefused."""
    _refuse(response.error_code, f"{address}: ApiVersions")
    offered = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
    agreed = {}
    for key, (first, last) in SPOKEN.items():
        lowest, highest = offered.get(key, (1, 0))
        if max(first, lowest) > min(last, highest):
            raise RequestRefused(
                ErrorCode.UNSUPPORTED_VERSION,
                f"{address}: the broker speaks versions {lowest} to {highest} of API {key}, "
                f"needed is one of {first} to {last}",
            )
        agreed[key] = min(last, highest)
    return agreed


def metadata_request(topics: Collection[str] | None) -> messages.MetadataRequest:
    """Ask who leads the partitions of topics, of all for None, and do not create one by asking."""
    asked = None if topics is None else [messages.MetadataRequestTopic(name=topic) for topic in topics]
    return messages.MetadataRequest(topics=asked, allow_auto_topic_creation=False)


def leaders_in(response: messages.MetadataResponse, topics: Collection[str]) -> Leaders:
    """Read who leads these topics' partitions. Raises Retry, and RequestRefused for what will not pass."""
    brokers = {broker.node_id: (broker.host, broker.port) for broker in response.brokers}
    leaders = {}
    absent = set()
    topic_ids = {}
    for answer in response.topics:
        if answer.name is None or answer.name not in topics:
            continue
        topic_ids[answer.name] = answer.topic_id
        if answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            absent.add(answer.name)
            continue
        _refuse(answer.error_code, f"topic {answer.name!r}")
        for partition in answer.partitions:
            leaders[TopicPartition(answer.name, partition.partition_index)] = partition.leader_id
    for topic in topics:
        if topic not in topic_ids:
            raise Retry(f"the cluster says nothing about topic {topic!r}")
    return Leaders(brokers, leaders, frozenset(absent), response.cluster_id, topic_ids)


def topics_in(response: messages.MetadataResponse) -> list[str]:
    """Read the names of all topics but those that the cluster keeps for itself."""
    return sorted(answer.name for answer in response.topics if answer.name and not answer.is_internal)


def absence(topic: str) -> Absent:
    """Give what to raise for a topic that should be there."""
    error = Absent.error
    return Absent(f"topic {topic!r}: {error.name}, {error.text}")


def list_offsets_request(
    moments: Mapping[TopicPartition, int], *, committed: bool
) -> messages.ListOffsetsRequest:
    """Ask for the first offset at or after a time, or for an end of the log, of each partition."""
    partitions: dict[str, list[messages.ListOffsetsPartition]] = {}
    for place, moment in moments.items():
        asked = messages.ListOffsetsPartition(partition_index=place.partition, timestamp=moment)
        partitions.setdefault(place.topic, []).append(asked)
    topics = [messages.ListOffsetsTopic(name=topic, partitions=asked) for topic, asked in partitions.items()]
    return messages.ListOffsetsRequest(replica_id=-1, isolation_level=int(committed), topics=topics)


def offsets_in(
    response: messages.ListOffsetsResponse, places: Collection[TopicPartition]
) -> dict[TopicPartition, int | None]:
    """Read the offsets; None where no record is that young. Raises Retry, RequestRefused."""
    found: dict[TopicPartition, int | None] = {}
    for topic in response.topics:
        for partition in topic.partitions:
            place = TopicPartition(topic.name, partition.partition_index)
            _refuse(partition.error_code, f"{place}: ListOffsets")
            found[place] = None if partition.offset < 0 else partition.offset
    for place in places:
        if place not in found:
            raise Retry(f"{place}: no answer about it")
    return found


def fetch_request(
    place: TopicPartition, offset: int, *, committed: bool, max_bytes: int
) -> messages.FetchRequest:
    """Ask for the batches of one partition from the one that holds `offset` on."""
    partition = messages.FetchRequestFetchPartition(
        partition=place.partition, fetch_offset=offset, partition_max_bytes=max_bytes
    )
    return messages.FetchRequest(
        replica_id=-1,
        max_wait_ms=FETCH_WAIT_MS,
        min_bytes=1,
        max_bytes=max_bytes,
        isolation_level=int(committed),
        session_epoch=-1,
        topics=[messages.FetchRequestFetchTopic(topic=place.topic, partitions=[partition])],
    )


def fetched(response: messages.FetchResponse, place: TopicPartition) -> Fetched:
    """Read what was sent; OFFSET_OUT_OF_RANGE is left to the caller. Raises Retry, RequestRefused."""
    _refuse(response.error_code, f"{place}: Fetch")
    for topic in response.responses:
        for partition in topic.partitions:
            if (topic.topic, partition.partition_index) != place:
                continue
            if partition.error_code != ErrorCode.OFFSET_OUT_OF_RANGE:
                _refuse(partition.error_code, f"{place}: Fetch")
            aborted = [(each.first_offset, each.producer_id) for each in partition.aborted_transactions or ()]
            return Fetched(_known(partition.error_code), partition.records or b"", aborted)
    raise Retry(f"{place}: an answer about another partition")


def _refuse(number: int, what: str) -> None:
    """Raise what an error code asks for: Retry if it may pass, else RequestRefused."""
    if number == ErrorCode.NONE:
        return
    error = _known(number)
    if error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise Absent(f"{what}: {error.name}, {error.text}")
    if error.retriable:
        raise Retry(f"{what}: {error.name}, {error.text}")
    raise RequestRefused(number, f"{what}: {error.name}, {error.text}")


def _known(number: int) -> ErrorCode:
    try:
        return ErrorCode(number)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def describe(trouble: BaseException) -> str:
    """Say in words what went wrong on the way to a broker."""
    if isinstance(trouble, OSError):
        return (trouble.strerror or str(trouble) or type(trouble).__name__).lower()
    return str(trouble)
