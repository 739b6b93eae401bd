"""Which APIs exist, in which versions, and from which version each is flexible.

These are the versions whose encoding riverlog knows: Apache Kafka 4.3.1's stable ones of the APIs that a
broker offers to clients. What a broker advertises is its own choice among them. A test holds the table
against the definition files.
"""

from __future__ import annotations

from typing import NamedTuple

NEVER = 1 << 15
"""A version number above all versions: of an API or message without flexible versions."""

PRODUCE = 0
FETCH = 1
API_VERSIONS = 18


class Api(NamedTuple):
    """One API: versions `min_version` to `max_version`, both included, flexible from `flexible_from` on."""

    key: int
    name: str
    min_version: int
    max_version: int
    flexible_from: int


APIS: dict[int, Api] = {
    api.key: api
    for api in (
        Api(0, "Produce", 3, 13, 9),
        Api(1, "Fetch", 4, 18, 12),
        Api(2, "ListOffsets", 1, 11, 6),
        Api(3, "Metadata", 0, 13, 9),
        Api(8, "OffsetCommit", 2, 10, 8),
        Api(9, "OffsetFetch", 1, 10, 6),
        Api(10, "FindCoordinator", 0, 6, 3),
        Api(11, "JoinGroup", 0, 9, 6),
        Api(12, "Heartbeat", 0, 4, 4),
        Api(13, "LeaveGroup", 0, 5, 4),
        Api(14, "SyncGroup", 0, 5, 4),
        Api(15, "DescribeGroups", 0, 6, 5),
        Api(16, "ListGroups", 0, 5, 3),
        Api(17, "SaslHandshake", 0, 1, NEVER),
        Api(18, "ApiVersions", 0, 4, 3),
        Api(19, "CreateTopics", 2, 7, 5),
        Api(20, "DeleteTopics", 1, 6, 4),
        Api(21, "DeleteRecords", 0, 2, 2),
        Api(22, "InitProducerId", 0, 5, 2),
        Api(23, "OffsetForLeaderEpoch", 2, 4, 4),
        Api(24, "AddPartitionsToTxn", 0, 5, 3),
        Api(25, "AddOffsetsToTxn", 0, 4, 3),
        Api(26, "EndTxn", 0, 5, 3),
        Api(27, "WriteTxnMarkers", 1, 2, 1),
        Api(28, "TxnOffsetCommit", 0, 5, 3),
        Api(29, "DescribeAcls", 1, 3, 2),
        Api(30, "CreateAcls", 1, 3, 2),
        Api(31, "DeleteAcls", 1, 3, 2),
        Api(32, "DescribeConfigs", 1, 4, 4),
        Api(33, "AlterConfigs", 0, 2, 2),
        Api(34, "AlterReplicaLogDirs", 1, 2, 2),
        Api(35, "DescribeLogDirs", 1, 5, 2),
        Api(36, "SaslAuthenticate", 0, 2, 2),
        Api(37, "CreatePartitions", 0, 3, 2),
        Api(38, "CreateDelegationToken", 1, 3, 2),
        Api(39, "RenewDelegationToken", 1, 2, 2),
        Api(40, "ExpireDelegationToken", 1, 2, 2),
        Api(41, "DescribeDelegationToken", 1, 3, 2),
        Api(42, "DeleteGroups", 0, 2, 2),
        Api(43, "ElectLeaders", 0, 2, 2),
        Api(44, "IncrementalAlterConfigs", 0, 1, 1),
        Api(45, "AlterPartitionReassignments", 0, 1, 0),
        Api(46, "ListPartitionReassignments", 0, 0, 0),
        Api(47, "OffsetDelete", 0, 0, NEVER),
        Api(48, "DescribeClientQuotas", 0, 1, 1),
        Api(49, "AlterClientQuotas", 0, 1, 1),
        Api(50, "DescribeUserScramCredentials", 0, 0, 0),
        Api(51, "AlterUserScramCredentials", 0, 0, 0),
        Api(55, "DescribeQuorum", 0, 2, 0),
        Api(57, "UpdateFeatures", 0, 2, 0),
        Api(60, "DescribeCluster", 0, 2, 0),
        Api(61, "DescribeProducers", 0, 0, 0),
        Api(64, "UnregisterBroker", 0, 0, 0),
        Api(65, "DescribeTransactions", 0, 0, 0),
        Api(66, "ListTransactions", 0, 2, 0),
        Api(68, "ConsumerGroupHeartbeat", 0, 1, 0),
        Api(69, "ConsumerGroupDescribe", 0, 1, 0),
        Api(71, "GetTelemetrySubscriptions", 0, 0, 0),
        Api(72, "PushTelemetry", 0, 0, 0),
        Api(74, "ListConfigResources", 0, 1, 0),
        Api(75, "DescribeTopicPartitions", 0, 0, 0),
        Api(76, "ShareGroupHeartbeat", 1, 1, 1),
        Api(77, "ShareGroupDescribe", 1, 1, 1),
        Api(78, "ShareFetch", 1, 2, 1),
        Api(79, "ShareAcknowledge", 1, 2, 1),
        Api(80, "AddRaftVoter", 0, 1, 0),
        Api(81, "RemoveRaftVoter", 0, 0, 0),
        Api(83, "InitializeShareGroupState", 0, 0, 0),
        Api(84, "ReadShareGroupState", 0, 0, 0),
        Api(85, "WriteShareGroupState", 0, 1, 0),
        Api(86, "DeleteShareGroupState", 0, 0, 0),
        Api(87, "ReadShareGroupStateSummary", 0, 1, 0),
        Api(88, "StreamsGroupHeartbeat", 0, 0, 0),
        Api(89, "StreamsGroupDescribe", 0, 0, 0),
        Api(90, "DescribeShareGroupOffsets", 0, 1, 0),
        Api(91, "AlterShareGroupOffsets", 0, 0, 0),
        Api(92, "DeleteShareGroupOffsets", 0, 0, 0),
    )
}

_FLEXIBLE_FROM = {api.key: api.flexible_from for api in APIS.values()}


def is_supported(key: int, version: int) -> bool:
    """Say whether the encoding of an API's version is known."""
    api = APIS.get(key)
    return api is not None and api.min_version <= version <= api.max_version


def is_flexible(key: int, version: int) -> bool:
    """Say whether an API's version is flexible (KIP-482), also for versions above those known here.

    So the header of a request from the future can be read, which is what ApiVersions needs.
    """
    return version >= _FLEXIBLE_FROM.get(key, NEVER)


def has_flexible_response_header(key: int, version: int) -> bool:
    """Say whether the response's header is version 1, which carries tagged fields.

    ApiVersions always answers with header version 0: the client does not know yet what the broker speaks.
    """
    return key != API_VERSIONS and version >= _FLEXIBLE_FROM.get(key, NEVER)
