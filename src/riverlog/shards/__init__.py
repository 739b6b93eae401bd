"""shards: how coordinators keep their state, each in a topic of its own, and what they share because of that.

    host        the shell of a coordinator: shards, futures, one timer, answers once they are safe
      shard     one partition of the topic: what its log takes, its machine replays
      loading   what a start replays, in short steps
      outcome   what a machine decided      machine   what a host expects of it
      moment    time, as decisions get it   partitioning   which partition an id lives in

The room promises: a machine's state changes by replay alone, of records that are in the log; no answer
leaves before what it tells is as safe as an acknowledged message.
"""

from riverlog.shards.host import ShardHost
from riverlog.shards.kinds import OtherKind
from riverlog.shards.machine import Machine
from riverlog.shards.moment import NEVER, Moment
from riverlog.shards.outcome import NO_PRODUCER, Answer, Outcome, ProducerIdentity, Token
from riverlog.shards.partitioning import partition_of
from riverlog.shards.shard import Shard

__all__ = [
    "ShardHost",
    "Shard",
    "Machine",
    "Outcome",
    "Answer",
    "Token",
    "ProducerIdentity",
    "NO_PRODUCER",
    "Moment",
    "NEVER",
    "OtherKind",
    "partition_of",
]
