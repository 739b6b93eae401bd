"""Checks between settings: each value is fine alone, and together they cannot work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final

from riverlog.config.listeners import EVERY_INTERFACE, security_protocol_of
from riverlog.config.settings import BrokerSettings, NetworkSettings
from riverlog.errors import ConfigError

SERVED_PROTOCOLS: Final = ("PLAINTEXT",)
"""The security protocols that a listener may speak so far. Another one is refused at the start: to open
it in plain text instead would break a promise."""

Problem = tuple[str, str, str]
"""A setting's name, its value and what would be accepted."""


def check_broker_settings(settings: BrokerSettings, places: Mapping[str, str]) -> list[ConfigError]:
    """List what contradicts. `places` says where a setting's value came from, by the setting's name."""
    found = [problem for check in _CHECKS for problem in check(settings)]
    return [ConfigError(name, value, wanted, source=places.get(name, "")) for name, value, wanted in found]


def _listeners(settings: BrokerSettings) -> Iterator[Problem]:
    network = settings.network
    shown = ",".join(map(str, network.listeners))
    if not network.listeners:
        yield "listeners", shown, "a listener for clients besides those in controller.listener.names"
    taken = [(listener.host, listener.port) for listener in network.listeners if listener.port]
    if len(set(taken)) < len(taken):
        yield "listeners", shown, "a different address for each listener"
    for listener in network.listeners:
        protocol = security_protocol_of(listener.name, network.listener_security_protocol_map)
        if protocol is None:
            yield "listeners", str(listener), "a listener name that listener.security.protocol.map maps"
        elif protocol not in SERVED_PROTOCOLS:
            yield (
                "listeners",
                str(listener),
                f"a listener that speaks {' or '.join(SERVED_PROTOCOLS)}, not {protocol}",
            )


def _advertised_listeners(settings: BrokerSettings) -> Iterator[Problem]:
    network: NetworkSettings = settings.network
    names = {listener.name for listener in network.listeners}
    for advertised in network.advertised_listeners or ():
        if advertised.host in EVERY_INTERFACE:
            yield "advertised.listeners", str(advertised), "a host that clients can reach"
        if advertised.name not in names:
            yield (
                "advertised.listeners",
                str(advertised),
                f"a name out of listeners: {', '.join(sorted(names))}",
            )


def _request_memory(settings: BrokerSettings) -> Iterator[Problem]:
    held, largest = settings.network.queued_max_request_bytes, settings.network.socket_request_max_bytes
    if 0 <= held < largest:
        yield (
            "queued.max.request.bytes",
            str(held),
            f"-1, or at least socket.request.max.bytes, which is {largest}",
        )


def _ordered(settings: BrokerSettings) -> Iterator[Problem]:
    """Minimum <= value <= maximum, where three settings or two belong together."""
    groups, consumer, share = settings.groups, settings.consumer_groups, settings.share_groups
    replication, topic = settings.replication, settings.topic_defaults
    chains: Iterable[tuple[tuple[str, int], ...]] = (
        (
            ("group.min.session.timeout.ms", groups.group_min_session_timeout_ms),
            ("group.max.session.timeout.ms", groups.group_max_session_timeout_ms),
        ),
        (
            ("group.consumer.min.session.timeout.ms", consumer.group_consumer_min_session_timeout_ms),
            ("group.consumer.session.timeout.ms", consumer.group_consumer_session_timeout_ms),
            ("group.consumer.max.session.timeout.ms", consumer.group_consumer_max_session_timeout_ms),
        ),
        (
            ("group.consumer.min.heartbeat.interval.ms", consumer.group_consumer_min_heartbeat_interval_ms),
            ("group.consumer.heartbeat.interval.ms", consumer.group_consumer_heartbeat_interval_ms),
            ("group.consumer.max.heartbeat.interval.ms", consumer.group_consumer_max_heartbeat_interval_ms),
        ),
        (
            ("group.consumer.min.assignment.interval.ms", consumer.group_consumer_min_assignment_interval_ms),
            ("group.consumer.assignment.interval.ms", consumer.group_consumer_assignment_interval_ms),
            ("group.consumer.max.assignment.interval.ms", consumer.group_consumer_max_assignment_interval_ms),
        ),
        (
            ("group.consumer.heartbeat.interval.ms", consumer.group_consumer_heartbeat_interval_ms),
            ("group.consumer.session.timeout.ms", consumer.group_consumer_session_timeout_ms),
        ),
        (
            ("group.share.min.record.lock.duration.ms", share.group_share_min_record_lock_duration_ms),
            ("group.share.record.lock.duration.ms", share.group_share_record_lock_duration_ms),
            ("group.share.max.record.lock.duration.ms", share.group_share_max_record_lock_duration_ms),
        ),
        (
            ("group.share.heartbeat.interval.ms", share.group_share_heartbeat_interval_ms),
            ("group.share.session.timeout.ms", share.group_share_session_timeout_ms),
        ),
        (
            ("log.cleaner.min.compaction.lag.ms", topic.min_compaction_lag_ms),
            ("log.cleaner.max.compaction.lag.ms", topic.max_compaction_lag_ms),
        ),
        (
            ("replica.fetch.wait.max.ms", replication.replica_fetch_wait_max_ms),
            ("replica.lag.time.max.ms", replication.replica_lag_time_max_ms),
        ),
    )
    for chain in chains:
        for (low_name, low), (high_name, high) in pairwise(chain):
            if low > high:
                yield low_name, str(low), f"at most {high_name}, which is {high}"


_CHECKS: Final[tuple[Callable[[BrokerSettings], Iterator[Problem]], ...]] = (
    _listeners,
    _advertised_listeners,
    _request_memory,
    _ordered,
)
