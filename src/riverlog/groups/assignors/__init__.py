"""assignors: which member gets which partitions, where the broker decides it. Pure.

    spec       what an assignor is told, and what it answers
    uniform    the default: as many partitions for each as for any other, moved as little as can be
      evenly     members that all read the same       unevenly    members that read different topics
    ranges     neighbouring partitions, the same of each topic, for joins of topics partitioned alike

An assignor looks neither at racks nor at where leaders are: as in Kafka 4.3.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from riverlog.groups.assignors.ranges import assign_ranges
from riverlog.groups.assignors.spec import NOTHING, Assignor, MemberSpec, Partitions
from riverlog.groups.assignors.uniform import assign_uniformly

ASSIGNORS: Final[Mapping[str, Assignor]] = MappingProxyType(
    {"uniform": assign_uniformly, "range": assign_ranges}
)
"""By the name under which members ask for one."""

__all__ = ["ASSIGNORS", "NOTHING", "Assignor", "MemberSpec", "Partitions"]
