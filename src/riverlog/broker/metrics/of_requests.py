"""Metrics of connections, requests and the disk that acknowledgements wait for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from riverlog.broker.metrics.counters import BUCKETS, TIMED_EVERY
from riverlog.broker.metrics.exposition import Family, Kind, Sample, histogram, labels
from riverlog.broker.metrics.scrape import Metric, Scrape
from riverlog.protocol.error_codes import ErrorCode
from riverlog.protocol.versions import APIS

_ERROR_NAMES = {code.value: code.name for code in ErrorCode}


def _requests(scrape: Scrape) -> Iterable[Sample]:
    for api_key, counters in scrape.sources.broker.counters.used():
        yield labels(api=APIS[api_key].name), counters.requests


def _errors(scrape: Scrape) -> Iterable[Sample]:
    for api_key, counters in scrape.sources.broker.counters.used():
        for error_code, count in sorted(counters.errors.items()):
            name = _ERROR_NAMES.get(error_code, str(error_code))
            yield labels(api=APIS[api_key].name, error=name), count


def _seconds(scrape: Scrape) -> Iterable[Sample]:
    for api_key, counters in scrape.sources.broker.counters.used():
        seconds = counters.seconds
        yield from histogram("api", APIS[api_key].name, BUCKETS, seconds.counts, seconds.sum)


METRICS: Final[tuple[Metric, ...]] = (
    (
        Family("riverlog_connections", Kind.GAUGE, "Connections that are open."),
        lambda scrape: [("", scrape.sources.listeners.connection_count)],
    ),
    (
        Family("riverlog_connections_accepted_total", Kind.COUNTER, "Connections that clients opened."),
        lambda scrape: [("", scrape.sources.listeners.connections_accepted)],
    ),
    (
        Family(
            "riverlog_connections_refused_total",
            Kind.COUNTER,
            "Connections closed at once because their address has too many (max.connections.per.ip).",
        ),
        lambda scrape: [("", scrape.sources.listeners.connections_refused)],
    ),
    (
        Family("riverlog_received_bytes_total", Kind.COUNTER, "Bytes that clients sent."),
        lambda scrape: [("", scrape.sources.listeners.traffic.received_bytes)],
    ),
    (
        Family("riverlog_sent_bytes_total", Kind.COUNTER, "Bytes that were sent to clients."),
        lambda scrape: [("", scrape.sources.listeners.traffic.sent_bytes)],
    ),
    (
        Family("riverlog_requests_total", Kind.COUNTER, "Requests that were taken up.", ("api",)),
        _requests,
    ),
    (
        Family(
            "riverlog_request_errors_total",
            Kind.COUNTER,
            "Errors that were answered: of Produce and Fetch for each partition, of the others for the answer"
            " as a whole.",
            ("api", "error"),
        ),
        _errors,
    ),
    (
        Family(
            "riverlog_request_seconds",
            Kind.HISTOGRAM,
            "Seconds from a request to its reply, waiting for data, members or the disk included. One request"
            f" in {TIMED_EVERY} of each API is timed.",
            ("api",),
        ),
        _seconds,
    ),
    (
        Family(
            "riverlog_requests_rejected_total",
            Kind.COUNTER,
            "Requests that ended their connection: they could not be read, are not served, or were refused"
            " with acks=0, where no answer can say so.",
        ),
        lambda scrape: [("", scrape.sources.listeners.traffic.rejected_requests)],
    ),
    (
        Family(
            "riverlog_requests_failed_total",
            Kind.COUNTER,
            "Requests that failed through a fault of the broker's, which its log tells of; each ended its"
            " connection.",
        ),
        lambda scrape: [("", scrape.sources.listeners.traffic.failed_requests)],
    ),
    (
        Family(
            "riverlog_request_memory_bytes",
            Kind.GAUGE,
            "Memory held by requests that are still arriving.",
        ),
        lambda scrape: [("", scrape.sources.memory.taken_bytes)],
    ),
    (
        Family(
            "riverlog_request_memory_limit_bytes",
            Kind.GAUGE,
            "The most of it, as queued.max.request.bytes says; -1 without a limit.",
        ),
        lambda scrape: [("", scrape.sources.memory.limit_bytes)],
    ),
    (
        Family("riverlog_fetches_waiting", Kind.GAUGE, "Fetches that wait for data."),
        lambda scrape: [("", len(scrape.sources.broker.waiters))],
    ),
    (
        Family("riverlog_fetch_sessions", Kind.GAUGE, "Fetch sessions that are remembered."),
        lambda scrape: [("", len(scrape.sources.broker.sessions))],
    ),
    (
        Family(
            "riverlog_syncs_total",
            Kind.COUNTER,
            "Calls that brought a file or a file system to the disk (fdatasync, syncfs).",
        ),
        lambda scrape: [("", scrape.sources.broker.commit.synced[0])],
    ),
    (
        Family("riverlog_sync_seconds_total", Kind.COUNTER, "Seconds that these calls took."),
        lambda scrape: [("", scrape.sources.broker.commit.synced[1])],
    ),
    (
        Family("riverlog_partitions_syncing", Kind.GAUGE, "Partitions that wait for the disk."),
        lambda scrape: [("", scrape.sources.broker.commit.waiting_count)],
    ),
)
