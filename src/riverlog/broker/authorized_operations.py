"""What a client may do with a topic or the cluster, as the bits that Metadata and its relatives tell.

Without an authorizer everybody may do everything that makes sense for the resource; a client that did
not ask is told nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Final


class AclOperation(IntEnum):
    """The operations that permissions are about; the numbers are the protocol's, and the bits'."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12


def operation_bits(operations: Iterable[AclOperation]) -> int:
    """Set the bit of each operation."""
    return sum(1 << operation for operation in operations)


NOT_ASKED: Final = -(1 << 31)

ON_TOPIC: Final = operation_bits(
    (
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.CREATE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    )
)
ON_CLUSTER: Final = operation_bits(
    (
        AclOperation.CREATE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.CLUSTER_ACTION,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
        AclOperation.IDEMPOTENT_WRITE,
    )
)
ON_GROUP: Final = operation_bits(
    (
        AclOperation.READ,
        AclOperation.DELETE,
        AclOperation.DESCRIBE,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    )
)
