"""Which protocol a group's members agree on.

Each member names the protocols it can take part in, the preferred one first. What all of them can do is
put to the vote, and each votes for its first choice among that:

    ann    cooperative, range      candidates: range, cooperative
    bob    range, cooperative      votes:      range 2, cooperative 1
    carl   sticky, range, cooperative
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from riverlog.groups.member import Protocols


def candidates(all_protocols: Collection[Protocols]) -> set[str]:
    """Give the protocols that every member can take part in."""
    support = Counter(name for protocols in all_protocols for name in {name for name, _ in protocols})
    return {name for name, count in support.items() if count == len(all_protocols)}


def elected(all_protocols: Collection[Protocols]) -> str | None:
    """Give the candidate with the most votes, on a tie the one that got its first vote first.

    None if the members have nothing in common, which admission to the group rules out.
    """
    able = candidates(all_protocols)
    votes = Counter(_first_choice(protocols, able) for protocols in all_protocols if able)
    return max(votes, key=votes.__getitem__, default=None)


def _first_choice(protocols: Iterable[tuple[str, bytes]], able: set[str]) -> str:
    return next(name for name, _ in protocols if name in able)
