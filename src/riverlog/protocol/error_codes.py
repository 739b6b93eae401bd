"""The protocol's error codes: number, name, whether a retry may help, and what it means in a sentence.

Numbers, names and retriability are Apache Kafka 4.3.1's. No bare error numbers are used anywhere else.
"""

from __future__ import annotations

from enum import IntEnum

_RETRY = True
_FINAL = False


class ErrorCode(IntEnum):
    """An error code; an int wherever one is asked for, so it can be put into messages as it is."""

    retriable: bool
    """Whether the same request may succeed later, or elsewhere."""
    text: str
    """What it means, for people."""

    def __new__(cls, number: int, retriable: bool = False, text: str = "") -> ErrorCode:
        # (The defaults are for type checkers, which take the look-up `ErrorCode(3)` for a call of this.)
        member = int.__new__(cls, number)
        member._value_ = number
        member.retriable = retriable
        member.text = text
        return member

    UNKNOWN_SERVER_ERROR = -1, _FINAL, "the broker met an error that it did not expect"
    NONE = 0, _FINAL, "no error"
    OFFSET_OUT_OF_RANGE = 1, _FINAL, "the partition's log does not reach that offset, or no longer does"
    CORRUPT_MESSAGE = 2, _RETRY, "the records fail their checksum or are damaged otherwise"
    UNKNOWN_TOPIC_OR_PARTITION = 3, _RETRY, "this broker knows no such topic or partition"
    INVALID_FETCH_SIZE = 4, _FINAL, "the fetch asks for an impossible number of bytes"
    LEADER_NOT_AVAILABLE = 5, _RETRY, "the partition has no leader at the moment"
    NOT_LEADER_OR_FOLLOWER = 6, _RETRY, "this broker does not hold the replica that the request needs"
    REQUEST_TIMED_OUT = 7, _RETRY, "the request took longer than it allowed"
    BROKER_NOT_AVAILABLE = 8, _FINAL, "the broker is not available"
    REPLICA_NOT_AVAILABLE = 9, _RETRY, "the replica is not available"
    MESSAGE_TOO_LARGE = 10, _FINAL, "a batch exceeds max.message.bytes"
    STALE_CONTROLLER_EPOCH = 11, _FINAL, "the controller that sent this has been succeeded by another"
    OFFSET_METADATA_TOO_LARGE = 12, _FINAL, "the metadata of a committed offset is too long"
    NETWORK_EXCEPTION = 13, _RETRY, "the connection ended before the response came"
    COORDINATOR_LOAD_IN_PROGRESS = 14, _RETRY, "the coordinator is still reading its state"
    COORDINATOR_NOT_AVAILABLE = 15, _RETRY, "there is no coordinator at the moment"
    NOT_COORDINATOR = 16, _RETRY, "another broker is the coordinator"
    INVALID_TOPIC_EXCEPTION = 17, _FINAL, "the topic's name is not allowed, or not allowed here"
    RECORD_LIST_TOO_LARGE = 18, _FINAL, "the batches together exceed the segment size"
    NOT_ENOUGH_REPLICAS = (
        19,
        _RETRY,
        "fewer replicas are in sync than min.insync.replicas; nothing was appended",
    )
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = (
        20,
        _RETRY,
        "the records were appended, but fewer replicas than min.insync.replicas have them",
    )
    INVALID_REQUIRED_ACKS = 21, _FINAL, "acks must be -1, 0 or 1"
    ILLEGAL_GENERATION = 22, _FINAL, "the group has moved on to another generation"
    INCONSISTENT_GROUP_PROTOCOL = 23, _FINAL, "the member shares no protocol with the rest of the group"
    INVALID_GROUP_ID = 24, _FINAL, "the group id is not allowed"
    UNKNOWN_MEMBER_ID = 25, _FINAL, "the group has no such member"
    INVALID_SESSION_TIMEOUT = 26, _FINAL, "the session timeout is outside the range that the broker allows"
    REBALANCE_IN_PROGRESS = 27, _FINAL, "the group is rebalancing, so the member must join again"
    INVALID_COMMIT_OFFSET_SIZE = 28, _FINAL, "the offset cannot be committed, it takes too much space"
    TOPIC_AUTHORIZATION_FAILED = 29, _FINAL, "not authorized for the topic"
    GROUP_AUTHORIZATION_FAILED = 30, _FINAL, "not authorized for the group"
    CLUSTER_AUTHORIZATION_FAILED = 31, _FINAL, "not authorized for this operation on the cluster"
    INVALID_TIMESTAMP = 32, _FINAL, "a timestamp is further from the broker's clock than the topic allows"
    UNSUPPORTED_SASL_MECHANISM = 33, _FINAL, "the broker does not offer this SASL mechanism"
    ILLEGAL_SASL_STATE = 34, _FINAL, "this request does not belong at this point of the authentication"
    UNSUPPORTED_VERSION = 35, _FINAL, "the broker does not speak this version of the request"
    TOPIC_ALREADY_EXISTS = 36, _FINAL, "a topic of this name exists already"
    INVALID_PARTITIONS = 37, _FINAL, "the number of partitions is not possible"
    INVALID_REPLICATION_FACTOR = (
        38,
        _FINAL,
        "there are not that many brokers for the replicas, or too few asked for",
    )
    INVALID_REPLICA_ASSIGNMENT = 39, _FINAL, "the replicas cannot be placed as asked"
    INVALID_CONFIG = 40, _FINAL, "a setting is unknown or its value is not allowed"
    NOT_CONTROLLER = 41, _RETRY, "another broker is the controller"
    INVALID_REQUEST = 42, _FINAL, "the request contradicts itself or what is known"
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, _FINAL, "the record format does not support this"
    POLICY_VIOLATION = 44, _FINAL, "a policy of the cluster forbids this"
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, _FINAL, "records of this producer are missing before these"
    DUPLICATE_SEQUENCE_NUMBER = (
        46,
        _FINAL,
        "these records were appended before, longer ago than is remembered",
    )
    INVALID_PRODUCER_EPOCH = 47, _FINAL, "a newer producer has taken this producer's place"
    INVALID_TXN_STATE = 48, _FINAL, "the transaction is in a state that does not allow this"
    INVALID_PRODUCER_ID_MAPPING = 49, _FINAL, "the producer id does not belong to this transactional id"
    INVALID_TRANSACTION_TIMEOUT = 50, _FINAL, "the transaction timeout exceeds the broker's maximum"
    CONCURRENT_TRANSACTIONS = 51, _RETRY, "the previous transaction is still being completed"
    TRANSACTION_COORDINATOR_FENCED = 52, _FINAL, "the transaction coordinator has been succeeded by another"
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, _FINAL, "not authorized for the transactional id"
    SECURITY_DISABLED = 54, _FINAL, "no authorizer is configured"
    OPERATION_NOT_ATTEMPTED = 55, _FINAL, "not tried, since another part of the request failed"
    KAFKA_STORAGE_ERROR = 56, _RETRY, "the disk that holds the partition failed"
    LOG_DIR_NOT_FOUND = 57, _FINAL, "the broker has no such log directory"
    SASL_AUTHENTICATION_FAILED = 58, _FINAL, "authentication failed"
    UNKNOWN_PRODUCER_ID = 59, _FINAL, "nothing is known of this producer in this partition"
    REASSIGNMENT_IN_PROGRESS = 60, _FINAL, "the partition is being reassigned already"
    DELEGATION_TOKEN_AUTH_DISABLED = 61, _FINAL, "delegation tokens are not enabled"
    DELEGATION_TOKEN_NOT_FOUND = 62, _FINAL, "there is no such delegation token"
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, _FINAL, "the delegation token belongs to somebody else"
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = (
        64,
        _FINAL,
        "delegation tokens cannot be asked for on this connection",
    )
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, _FINAL, "not authorized for the delegation token"
    DELEGATION_TOKEN_EXPIRED = 66, _FINAL, "the delegation token has expired"
    INVALID_PRINCIPAL_TYPE = 67, _FINAL, "this type of principal is not supported"
    NON_EMPTY_GROUP = 68, _FINAL, "the group still has members"
    GROUP_ID_NOT_FOUND = 69, _FINAL, "there is no such group"
    FETCH_SESSION_ID_NOT_FOUND = 70, _RETRY, "there is no such fetch session, it may have been evicted"
    INVALID_FETCH_SESSION_EPOCH = 71, _RETRY, "the fetch session expects another epoch"
    LISTENER_NOT_FOUND = 72, _RETRY, "the leader has no listener of the name this request came through"
    TOPIC_DELETION_DISABLED = 73, _FINAL, "deleting topics is disabled"
    FENCED_LEADER_EPOCH = 74, _RETRY, "the leader epoch in the request is older than the broker's"
    UNKNOWN_LEADER_EPOCH = 75, _RETRY, "the leader epoch in the request is newer than the broker's"
    UNSUPPORTED_COMPRESSION_TYPE = 76, _FINAL, "this version of the request does not allow this compression"
    STALE_BROKER_EPOCH = 77, _FINAL, "the broker has registered anew since"
    OFFSET_NOT_AVAILABLE = 78, _RETRY, "the new leader does not know the end of the committed log yet"
    MEMBER_ID_REQUIRED = 79, _FINAL, "join again with the member id in this response"
    PREFERRED_LEADER_NOT_AVAILABLE = 80, _RETRY, "the preferred leader cannot lead now"
    GROUP_MAX_SIZE_REACHED = 81, _FINAL, "the group has as many members as it may"
    FENCED_INSTANCE_ID = 82, _FINAL, "another member has taken this static instance id"
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, _RETRY, "no replica may become leader now"
    ELECTION_NOT_NEEDED = 84, _RETRY, "the partition has the right leader already"
    NO_REASSIGNMENT_IN_PROGRESS = 85, _FINAL, "the partition is not being reassigned"
    GROUP_SUBSCRIBED_TO_TOPIC = (
        86,
        _FINAL,
        "the group is subscribed to the topic, its offsets cannot be deleted",
    )
    INVALID_RECORD = 87, _FINAL, "a record breaks a rule of the topic or of the record format"
    UNSTABLE_OFFSET_COMMIT = 88, _RETRY, "a transaction that commits offsets here is not decided yet"
    THROTTLING_QUOTA_EXCEEDED = 89, _RETRY, "the quota is used up for now"
    PRODUCER_FENCED = 90, _FINAL, "a newer producer with this transactional id has taken over"
    RESOURCE_NOT_FOUND = 91, _FINAL, "there is no such resource"
    DUPLICATE_RESOURCE = 92, _FINAL, "the request names a resource twice"
    UNACCEPTABLE_CREDENTIAL = 93, _FINAL, "the credential does not meet the requirements"
    INCONSISTENT_VOTER_SET = 94, _FINAL, "the sender is not among the voters, or is the only one"
    INVALID_UPDATE_VERSION = 95, _FINAL, "the update is based on a version that is not the current one"
    FEATURE_UPDATE_FAILED = 96, _FINAL, "the features could not be updated"
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, _FINAL, "the forwarded principal cannot be read"
    SNAPSHOT_NOT_FOUND = 98, _FINAL, "there is no such snapshot"
    POSITION_OUT_OF_RANGE = 99, _FINAL, "the position is outside the snapshot"
    UNKNOWN_TOPIC_ID = 100, _RETRY, "this broker knows no topic of this id"
    DUPLICATE_BROKER_REGISTRATION = 101, _FINAL, "this broker id is in use"
    BROKER_ID_NOT_REGISTERED = 102, _FINAL, "no broker of this id is registered"
    INCONSISTENT_TOPIC_ID = 103, _RETRY, "the log belongs to another topic of the same name"
    INCONSISTENT_CLUSTER_ID = 104, _FINAL, "the request is meant for another cluster"
    TRANSACTIONAL_ID_NOT_FOUND = 105, _FINAL, "nothing is known of this transactional id"
    FETCH_SESSION_TOPIC_ID_ERROR = 106, _RETRY, "the fetch session mixes topic names and topic ids"
    INELIGIBLE_REPLICA = 107, _FINAL, "the replica may not join the in-sync set"
    NEW_LEADER_ELECTED = 108, _FINAL, "the change of the in-sync set elected another leader"
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, _FINAL, "the offset is in tiered storage only"
    FENCED_MEMBER_EPOCH = 110, _FINAL, "the member's epoch is not the group's: rejoin without partitions"
    UNRELEASED_INSTANCE_ID = 111, _FINAL, "another member still uses this instance id"
    UNSUPPORTED_ASSIGNOR = 112, _FINAL, "the group does not support this assignor"
    STALE_MEMBER_EPOCH = 113, _FINAL, "the member's epoch is out of date: retry with the one last received"
    MISMATCHED_ENDPOINT_TYPE = 114, _FINAL, "this endpoint is of another type than the request is for"
    UNSUPPORTED_ENDPOINT_TYPE = 115, _FINAL, "this type of endpoint is not supported"
    UNKNOWN_CONTROLLER_ID = 116, _FINAL, "there is no controller of this id"
    UNKNOWN_SUBSCRIPTION_ID = 117, _FINAL, "the telemetry subscription is out of date"
    TELEMETRY_TOO_LARGE = 118, _FINAL, "more telemetry than the broker takes at once"
    INVALID_REGISTRATION = 119, _FINAL, "the controller does not accept this registration"
    TRANSACTION_ABORTABLE = 120, _FINAL, "the transaction must be aborted; the producer can then go on"
    INVALID_RECORD_STATE = (
        121,
        _FINAL,
        "the shared record is not held by this member, or cannot change that way",
    )
    SHARE_SESSION_NOT_FOUND = 122, _RETRY, "there is no such share session"
    INVALID_SHARE_SESSION_EPOCH = 123, _RETRY, "the share session expects another epoch"
    FENCED_STATE_EPOCH = 124, _FINAL, "the share group's state epoch is out of date"
    INVALID_VOTER_KEY = 125, _FINAL, "the voter key is not that of the receiver"
    DUPLICATE_VOTER = 126, _FINAL, "this voter is a member already"
    VOTER_NOT_FOUND = 127, _FINAL, "there is no such voter"
    INVALID_REGULAR_EXPRESSION = 128, _FINAL, "the regular expression is not valid"
    REBOOTSTRAP_REQUIRED = 129, _FINAL, "the client's picture of the cluster is too old: bootstrap again"
    STREAMS_INVALID_TOPOLOGY = 130, _FINAL, "the topology is not valid"
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, _FINAL, "the topology epoch is not valid"
    STREAMS_TOPOLOGY_FENCED = 132, _FINAL, "the topology epoch is out of date"
    SHARE_SESSION_LIMIT_REACHED = 133, _RETRY, "there are as many share sessions as there may be"
