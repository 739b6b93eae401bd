"""May a producer write to these partitions as part of its transaction? The coordinator has the word.

The first write of a transaction to a partition must be known to the coordinator before it is in the log:
otherwise nobody would ever end it there, and readers of committed data would wait for ever (KIP-890).
- A newer client's write adds the partition to the transaction, if it is not part of it.
- An older client has added it itself. That is looked up, so that a late write of a transaction that has
  ended is refused.
Once the transaction has a record in the partition, nobody needs to be asked any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from riverlog.broker.fencing import fencing_error
from riverlog.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Collection, Coroutine, Mapping

    from riverlog.broker.broker import Broker
    from riverlog.shards import ProducerIdentity
    from riverlog.transactions import TransactionReply
    from riverlog.types import TopicPartition

    Refusals: TypeAlias = "dict[TopicPartition, int]"

NEWER = 2
"""The `transaction.version` of clients whose writes add partitions."""


def needs_admission(
    broker: Broker, partition: TopicPartition, producer: ProducerIdentity, *, adds: bool
) -> bool:
    """Say whether the coordinator must be asked before this write."""
    if not adds and not broker.settings.transactions.transaction_partition_verification_enable:
        return False
    log = broker.partitions.find(partition.topic, partition.partition)
    return log is not None and not log.is_in_transaction(*producer)


def admit(
    broker: Broker,
    transactional_id: str | None,
    producer: ProducerIdentity,
    partitions: Collection[TopicPartition],
    *,
    adds: bool,
    knows_abortable: bool,
) -> Refusals | Coroutine[Any, Any, Refusals]:
    """See to it that partitions are part of the transaction; give the error codes of those that are not.

    Often the answer is there at once. If not, what is given is to be awaited.
    """
    asked = [each for each in partitions if needs_admission(broker, each, producer, adds=adds)]
    if not asked:
        return {}
    if not transactional_id:
        return dict.fromkeys(asked, ErrorCode.INVALID_TXN_STATE)
    transactions = broker.transactions
    if not adds:
        verdicts = transactions.verify(transactional_id, producer, asked)
        if verdicts.done():
            return _refusals(verdicts.result(), knows_abortable=knows_abortable)
        return _verified(broker, transactional_id, producer, verdicts, knows_abortable=knows_abortable)
    added = transactions.add_partitions(transactional_id, producer, asked, NEWER)
    if added.done() and added.result().error_code != ErrorCode.CONCURRENT_TRANSACTIONS:
        return _refusals(dict.fromkeys(asked, added.result().error_code), knows_abortable=knows_abortable)
    later = transactions.add_partitions_after_end(transactional_id, producer, asked, NEWER, added)
    return _added(later, asked, knows_abortable=knows_abortable)


async def _verified(
    broker: Broker,
    transactional_id: str,
    producer: ProducerIdentity,
    verdicts: Awaitable[Mapping[TopicPartition, int]],
    *,
    knows_abortable: bool,
) -> Refusals:
    """Wait until what the verdicts rest on is safe, and judge again: the transaction may have ended since.

    Whoever awaits this must write without waiting once more. A batch behind its transaction's marker would
    begin one that nobody ends.
    """
    before = await verdicts
    accepted = [partition for partition, error_code in before.items() if not error_code]
    now = broker.transactions.verify_at_once(transactional_id, producer, accepted)
    return _refusals({**before, **now}, knows_abortable=knows_abortable)


async def _added(
    later: Awaitable[TransactionReply], asked: Collection[TopicPartition], *, knows_abortable: bool
) -> Refusals:
    reply = await later
    return _refusals(dict.fromkeys(asked, reply.error_code), knows_abortable=knows_abortable)


def _refusals(verdicts: Mapping[TopicPartition, int], *, knows_abortable: bool) -> Refusals:
    """Give the errors, as the sender of a write understands them."""
    return {
        partition: ErrorCode.INVALID_TXN_STATE
        if error_code == ErrorCode.TRANSACTION_ABORTABLE and not knows_abortable
        else fencing_error(error_code)
        for partition, error_code in verdicts.items()
        if error_code
    }
