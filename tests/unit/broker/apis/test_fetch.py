"""Fetch: a reader that names the leader epoch of what it read last (row 39)."""

from __future__ import annotations

import pytest

from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.unit.broker.apis.asking import AskedBroker


@pytest.fixture
def led(asked: AskedBroker) -> AskedBroker:
    """Epoch 1 holds offsets 0-2, epoch 3 offsets 3-5; the log starts at 2."""
    asked.topic("a")
    asked.log("a").assign_epoch(1)
    asked.append("a")
    asked.log("a").assign_epoch(3)
    asked.append("a")
    asked.log("a").delete_records_before(2)
    return asked


@pytest.mark.parametrize(
    ("offset", "last_fetched_epoch", "error_code", "parting"),
    [
        (6, 3, ErrorCode.NONE, (-1, -1)),
        (4, 1, ErrorCode.NONE, (1, 3)),
        (6, 2, ErrorCode.NONE, (1, 3)),
        (6, 4, ErrorCode.OFFSET_OUT_OF_RANGE, (-1, -1)),
        (1, 1, ErrorCode.OFFSET_OUT_OF_RANGE, (-1, -1)),
        (1, 2, ErrorCode.OFFSET_OUT_OF_RANGE, (-1, -1)),
    ],
)
def test_a_reader_learns_where_its_log_and_this_one_part(
    led: AskedBroker, offset: int, last_fetched_epoch: int, error_code: int, parting: tuple[int, int]
) -> None:
    partition = messages.FetchRequestFetchPartition(
        fetch_offset=offset, last_fetched_epoch=last_fetched_epoch, partition_max_bytes=1 << 20
    )
    topic = messages.FetchRequestFetchTopic(topic="a", partitions=[partition])
    request = messages.FetchRequest(max_wait_ms=0, max_bytes=1 << 20, topics=[topic])

    [told] = led.ask(request, 12).responses
    [answer] = told.partitions

    assert answer.error_code == error_code
    assert (answer.diverging_epoch.epoch, answer.diverging_epoch.end_offset) == parting
    assert not answer.records
