"""The bench's hand-written bytes of transactions against riverlog's own codecs."""

import pytest

from bench import wire, wire_transactions
from bench.wire_transactions import Identity
from riverlog.protocol import messages
from riverlog.protocol.batches import crc_is_valid, read_header
from tests.unit.bench.test_wire import decoded, response

IDENTITY = Identity(producer_id=1 << 40, epoch=7)


def test_a_transactional_batch_says_who_wrote_it() -> None:
    batch = wire.batch_of_records([wire.record(0, b"value", b"key")], 1234, wire.ProducerState(*IDENTITY, 5))

    header = read_header(batch)
    assert crc_is_valid(batch, 0, header)
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (*IDENTITY, 5)


@pytest.mark.parametrize("version", [11, 12])
def test_one_produce_request_carries_a_batch_for_each_partition(version: int) -> None:
    batches = [wire.batch_of([value], 1234) for value in (b"one", b"other")]

    request = decoded(wire_transactions.produce_request(version, "id", "topic", batches))

    partitions = [
        messages.PartitionProduceData(index=index, records=batch) for index, batch in enumerate(batches)
    ]
    assert request == messages.ProduceRequest(
        transactional_id="id",
        acks=-1,
        timeout_ms=60_000,
        topic_data=[messages.TopicProduceData(name="topic", partition_data=partitions)],
    )


def test_the_errors_of_all_partitions_are_read() -> None:
    partitions = [
        messages.PartitionProduceResponse(index=0, base_offset=41),
        messages.PartitionProduceResponse(index=1, error_code=51, error_message="busy"),
    ]
    topic = messages.TopicProduceResponse(name="topic", partition_responses=partitions)

    frame = response(0, 12, messages.ProduceResponse(responses=[topic]))

    assert wire_transactions.read_produce_errors(frame) == [0, 51]


def test_an_identity_is_asked_for_and_read() -> None:
    assert decoded(wire_transactions.init_producer_id_request("id")) == messages.InitProducerIdRequest(
        transactional_id="id", transaction_timeout_ms=60_000
    )
    answer = messages.InitProducerIdResponse(
        error_code=16, producer_id=IDENTITY.producer_id, producer_epoch=IDENTITY.epoch
    )
    assert wire_transactions.read_identity(response(22, 1, answer)) == (16, IDENTITY)


def test_partitions_are_named_beforehand_in_the_older_flow() -> None:
    request = decoded(wire_transactions.add_partitions_request("id", IDENTITY, "topic", [0, 2]))

    assert request == messages.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="id",
        v3_and_below_producer_id=IDENTITY.producer_id,
        v3_and_below_producer_epoch=IDENTITY.epoch,
        v3_and_below_topics=[messages.AddPartitionsToTxnTopic(name="topic", partitions=[0, 2])],
    )


@pytest.mark.parametrize("version", [2, 5])
def test_an_end_commits(version: int) -> None:
    request = decoded(wire_transactions.end_request(version, "id", IDENTITY))

    assert request == messages.EndTxnRequest(
        transactional_id="id",
        producer_id=IDENTITY.producer_id,
        producer_epoch=IDENTITY.epoch,
        committed=True,
    )


def test_the_newer_end_gives_the_next_identity_and_the_older_keeps_it() -> None:
    answer = messages.EndTxnResponse(error_code=51, producer_id=9, producer_epoch=8)

    assert wire_transactions.read_ended(5, response(26, 5, answer), IDENTITY) == (51, Identity(9, 8))
    assert wire_transactions.read_ended(2, response(26, 2, answer), IDENTITY) == (51, IDENTITY)
