"""groups: consumer groups, as Kafka's group coordinator serves them, of both protocols.

    coordinator   what can be asked; the shell around the machines is riverlog.shards
        machine   decides and replays, pure: the groups of one partition
          membership  rebalance  group  member  vote  deadlines    the classic protocol: a member assigns
          consumer/   assignors/                                   the consumer protocol: the broker assigns
          commits     offsets    subscription                      what groups have committed
          records     replies                                      what is stored, what is answered
          surroundings                                             settings, and the topics that there are
    overview  lag                                                  groups seen from outside; who falls behind

The room promises: no answer leaves before what it tells is as safe as an acknowledged message; after a crash
a group is in its last stored generation, with its members and all acknowledged commits; a rebalance ends,
whoever falls silent in it.
"""

from riverlog.groups.commits import Commit, OffsetToCommit, WantedTopic
from riverlog.groups.coordinator import GroupCoordinator
from riverlog.groups.lag import Lag, LagAlarms, Pair, Risk, warning
from riverlog.groups.machine import CONSUMER_KIND, DEAD
from riverlog.groups.member import Client
from riverlog.groups.overview import CommittedPlace, GroupOverview
from riverlog.groups.records import OFFSETS_TOPIC
from riverlog.groups.replies import CommitReply, FetchedOffset, OffsetDeleteReply, OffsetFetchReply
from riverlog.shards import partition_of

__all__ = [
    "GroupCoordinator",
    "Client",
    "Commit",
    "OffsetToCommit",
    "CommitReply",
    "WantedTopic",
    "FetchedOffset",
    "OffsetFetchReply",
    "OffsetDeleteReply",
    "GroupOverview",
    "CommittedPlace",
    "Lag",
    "LagAlarms",
    "Pair",
    "Risk",
    "warning",
    "OFFSETS_TOPIC",
    "partition_of",
    "DEAD",
    "CONSUMER_KIND",
]
