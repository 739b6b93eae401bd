"""transactions: atomic writes over partitions, as Kafka's transaction coordinator serves them.

    coordinator   what can be asked, and the end of a transaction: markers; the shell is riverlog.shards
      machine     decides and replays, pure: the transactional ids of one partition of __transaction_state
        records   what is stored of an id      outcome   what is decided

The room promises: a transaction's outcome is decided once, by one record, and then carried out in every
partition, whatever crashes; epochs only grow; a producer that was fenced changes nothing any more.
"""

from riverlog.transactions.coordinator import TransactionCoordinator
from riverlog.transactions.outcome import Ending, TransactionReply
from riverlog.transactions.records import TRANSACTIONS_TOPIC

__all__ = ["TransactionCoordinator", "Ending", "TransactionReply", "TRANSACTIONS_TOPIC"]
