"""Who is alive, who leads, what is decided: kept in a tree of versioned nodes.

One interface (`Coordination`), one implementation per size of cluster: `LocalStore` is a file, for a
broker on its own. The room knows nodes and bytes; what they mean is the business of `cluster`.

    cluster ──operations──▶ commit ──▶ journal, synced ──▶ tree in memory ──paths──▶ watchers
"""

from riverlog.coordination.interface import (
    ANY_VERSION,
    PATH_BYTES_MAX,
    TRANSACTION_BYTES_MAX,
    Check,
    Coordination,
    CoordinationError,
    Create,
    Delete,
    IllegalNode,
    Node,
    NodeExists,
    NoNode,
    NotEmpty,
    Operation,
    Set,
    VersionConflict,
    Watcher,
    child_path,
    operation_bytes,
    parent_path,
)
from riverlog.coordination.journal import CorruptJournal, Disk
from riverlog.coordination.local import LocalStore

__all__ = [
    "Coordination",
    "LocalStore",
    "Node",
    "Create",
    "Set",
    "Delete",
    "Check",
    "Operation",
    "Watcher",
    "ANY_VERSION",
    "PATH_BYTES_MAX",
    "TRANSACTION_BYTES_MAX",
    "CoordinationError",
    "NoNode",
    "NodeExists",
    "VersionConflict",
    "NotEmpty",
    "IllegalNode",
    "CorruptJournal",
    "Disk",
    "child_path",
    "parent_path",
    "operation_bytes",
]
