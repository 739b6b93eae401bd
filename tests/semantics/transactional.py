"""A transactional producer that does what a test says, request by request, in the older flow or the newer."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from riverlog.protocol import messages
from riverlog.protocol.error_codes import ErrorCode
from tests.batch_builders import batch
from tests.process.raw_client import ALL, INIT_PRODUCER_ID, PRODUCE, RawClient

from .asking import Topic, eventually

FIND_COORDINATOR = 10
ADD_PARTITIONS, ADD_OFFSETS, END_TXN, TXN_OFFSET_COMMIT = 24, 25, 26, 28
DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS, DESCRIBE_PRODUCERS = 65, 66, 61
GROUP_KEY, TRANSACTION_KEY = 0, 1

NOT_YET = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class Flow(NamedTuple):
    """The versions of the requests that a client of one age sends."""

    add_partitions: int
    produce: int
    offset_commit: int
    end: int


OLDER = Flow(add_partitions=3, produce=10, offset_commit=3, end=3)
NEWER = Flow(add_partitions=-1, produce=12, offset_commit=5, end=5)
FLOWS = (OLDER, NEWER)


class TransactionalProducer:
    """One instance with a transactional id."""

    def __init__(self, client: RawClient, transactional_id: str, flow: Flow = NEWER) -> None:
        self._client = client
        self.transactional_id = transactional_id
        self.flow = flow
        self.id, self.epoch = -1, -1
        self.sequences: dict[tuple[str, int], int] = {}

    # Identity

    def ask_for_identity(
        self, *, timeout_ms: int = 60_000, version: int = 5, expected: tuple[int, int] = (-1, -1)
    ) -> Any:
        """Give the reply to InitProducerId, once there is a coordinator."""
        request = messages.InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=timeout_ms,
            producer_id=expected[0],
            producer_epoch=expected[1],
        )
        replies: list[Any] = []

        def is_answered() -> bool:
            replies.append(self._client.call(INIT_PRODUCER_ID, version, request))
            return replies[-1].error_code not in NOT_YET

        find_coordinator(self._client, self.transactional_id)
        eventually(is_answered, f"a coordinator answers for {self.transactional_id}")
        return replies[-1]

    def init(self, *, timeout_ms: int = 60_000) -> TransactionalProducer:
        """Become the producer with this id, when what another one left open is aborted."""

        def is_it() -> bool:
            reply = self.ask_for_identity(timeout_ms=timeout_ms)
            assert reply.error_code in (0, ErrorCode.CONCURRENT_TRANSACTIONS), ErrorCode(reply.error_code)
            self.become(reply.producer_id, reply.producer_epoch)
            return not reply.error_code

        eventually(is_it, f"{self.transactional_id} has a producer")
        return self

    def become(self, producer_id: int, epoch: int) -> None:
        """Go on as another; sequences begin anew."""
        self.id, self.epoch = producer_id, epoch
        self.sequences = {}

    # A transaction

    def records(self, count: int, sequence: int) -> bytes:
        """Build a batch of so many records."""
        return bytes(
            batch(
                count,
                timestamp=int(time.time() * 1000),
                producer_id=self.id,
                producer_epoch=self.epoch,
                base_sequence=sequence,
                is_transactional=True,
            )
        )

    def add(self, topic: Topic, *partitions: int, version: int = 3) -> int:
        """Name partitions, as older clients do; give the error code of the first."""
        request = messages.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[
                messages.AddPartitionsToTxnTopic(name=topic.name, partitions=list(partitions or (0,)))
            ],
        )
        errors: list[int] = []

        def is_answered() -> bool:
            reply = self._client.call(ADD_PARTITIONS, version, request)
            (answered,) = reply.results_by_topic_v3_and_below
            errors.append(int(answered.results_by_partition[0].partition_error_code))
            return errors[-1] != ErrorCode.CONCURRENT_TRANSACTIONS

        eventually(is_answered, "the last transaction is ended")
        return errors[-1]

    def write(self, topic: Topic, *, partition: int = 0, version: int | None = None, count: int = 1) -> int:
        """Append a batch, without naming the partition; give the error code."""
        place = (topic.name, partition)
        sequence = self.sequences.get(place, 0)
        records = self.records(count, sequence)
        request = messages.ProduceRequest(
            transactional_id=self.transactional_id,
            acks=ALL,
            timeout_ms=30_000,
            topic_data=[
                messages.TopicProduceData(
                    name=topic.name,
                    topic_id=topic.id,
                    partition_data=[messages.PartitionProduceData(index=partition, records=records)],
                )
            ],
        )
        errors: list[int] = []

        def is_answered() -> bool:
            reply = self._client.call(PRODUCE, version or self.flow.produce, request)
            (one,) = reply.responses[0].partition_responses
            errors.append(int(one.error_code))
            return errors[-1] != ErrorCode.CONCURRENT_TRANSACTIONS

        eventually(is_answered, "the last transaction is ended")
        if not errors[-1]:
            self.sequences[place] = sequence + count
        return errors[-1]

    def send(self, topic: Topic, *, partition: int = 0, count: int = 1) -> None:
        """Do what a client does to write into its transaction; it must succeed."""
        if self.flow.add_partitions >= 0:
            error_code = self.add(topic, partition, version=self.flow.add_partitions)
            assert error_code == 0, ErrorCode(error_code)
        error_code = self.write(topic, partition=partition, count=count)
        assert error_code == 0, ErrorCode(error_code)

    def add_offsets(self, group: str, *, version: int = 3) -> int:
        request = messages.AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.id,
            producer_epoch=self.epoch,
            group_id=group,
        )
        errors: list[int] = []
        find_coordinator(self._client, group, GROUP_KEY)

        def is_answered() -> bool:
            errors.append(int(self._client.call(ADD_OFFSETS, version, request).error_code))
            return errors[-1] not in (*NOT_YET, ErrorCode.CONCURRENT_TRANSACTIONS)

        eventually(is_answered, "the last transaction is ended")
        return errors[-1]

    def commit_offset(
        self,
        group: str,
        topic: Topic,
        offset: int,
        *,
        version: int | None = None,
        generation: int = -1,
        member: str = "",
        instance: str | None = None,
    ) -> int:
        """Commit a group's offset for partition 0, without naming the group; give the error code."""
        request = messages.TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=group,
            producer_id=self.id,
            producer_epoch=self.epoch,
            generation_id=generation,
            member_id=member,
            group_instance_id=instance,
            topics=[
                messages.TxnOffsetCommitRequestTopic(
                    name=topic.name,
                    partitions=[
                        messages.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
                    ],
                )
            ],
        )
        errors: list[int] = []
        find_coordinator(self._client, group, GROUP_KEY)

        def is_answered() -> bool:
            reply = self._client.call(TXN_OFFSET_COMMIT, version or self.flow.offset_commit, request)
            errors.append(int(reply.topics[0].partitions[0].error_code))
            return errors[-1] not in (*NOT_YET, ErrorCode.CONCURRENT_TRANSACTIONS)

        eventually(is_answered, "the group's coordinator answers")
        return errors[-1]

    def send_offset(self, group: str, topic: Topic, offset: int) -> None:
        """Do what a client does to commit an offset in its transaction; it must succeed."""
        if self.flow.add_partitions >= 0:
            assert self.add_offsets(group) == 0
        error_code = self.commit_offset(group, topic, offset)
        assert error_code == 0, ErrorCode(error_code)

    def ask_for_end(self, *, is_commit: bool, version: int | None = None) -> Any:
        """Give the reply to EndTxn, once the broker has made up its mind."""
        request = self._end_request(is_commit=is_commit)
        replies: list[Any] = []

        def is_answered() -> bool:
            replies.append(self._client.call(END_TXN, version or self.flow.end, request))
            return replies[-1].error_code != ErrorCode.CONCURRENT_TRANSACTIONS

        eventually(is_answered, "the transaction is ended")
        return replies[-1]

    def begin_end(self, *, is_commit: bool) -> None:
        """Ask for the end, and do not wait for the answer."""
        self._client.send(END_TXN, self.flow.end, self._end_request(is_commit=is_commit))

    def _end_request(self, *, is_commit: bool) -> messages.EndTxnRequest:
        return messages.EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.id,
            producer_epoch=self.epoch,
            committed=is_commit,
        )

    def end(self, *, is_commit: bool = True) -> None:
        """End the transaction, and take the identity for the next one."""
        reply = self.ask_for_end(is_commit=is_commit)
        assert reply.error_code == 0, ErrorCode(reply.error_code)
        if self.flow.end >= NEWER.end:
            self.become(reply.producer_id, reply.producer_epoch)

    # Questions

    def described(self) -> Any:
        request = messages.DescribeTransactionsRequest(transactional_ids=[self.transactional_id])
        (told,) = self._client.call(DESCRIBE_TRANSACTIONS, 0, request).transaction_states
        return told

    def await_state(self, state: str) -> None:
        eventually(
            lambda: self.described().transaction_state == state, f"{self.transactional_id} is in {state}"
        )


def find_coordinator(client: RawClient, key: str, key_type: int = TRANSACTION_KEY) -> None:
    """Wait until there is a coordinator for this id."""
    request = messages.FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])

    def is_found() -> bool:
        (found,) = client.call(FIND_COORDINATOR, 4, request).coordinators
        return not found.error_code

    eventually(is_found, f"{key} has a coordinator")
