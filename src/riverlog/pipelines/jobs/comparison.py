"""What a change of code means for the checkpoint that is there: pure, from two contracts to a verdict.

    unchanged         start it
    safe              start it: state and positions fit; what is said holds from now on
    needs migration   state fits, but something outside of the query must be changed with it: its readers
    needs replay      state or positions cannot be used: a new version, run from the beginning

Spark's own check of a checkpoint compares the types of what is stored. So it lets pass what fits by form
and not by meaning: max(cents) in the place of sum(cents), two functions that changed places, a window of
five minutes in the place of one. These are found here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import IntEnum
from itertools import zip_longest

from riverlog.pipelines.jobs.contract import AGGREGATE, JOIN, OWN, Contract, Operator, readable, told

SHOWN_CHARACTERS_MAX = 200


class Level(IntEnum):
    """How much a difference asks for, weakest first."""

    UNCHANGED = 0
    SAFE = 1
    MIGRATION = 2
    REPLAY = 3

    @property
    def words(self) -> str:
        """What a person reads."""
        return ("unchanged", "safe", "needs migration", "needs replay")[self]


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference, what it asks for, and why, in a sentence."""

    level: Level
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """All differences between two contracts, the heaviest first."""

    differences: tuple[Difference, ...]

    @property
    def level(self) -> Level:
        """What all of them together ask for."""
        return max((each.level for each in self.differences), default=Level.UNCHANGED)


def compare(old: Contract, new: Contract) -> Verdict:
    """Say what stands between the checkpoint that `old` made and the code that `new` is of."""
    found = [
        *_in_sources(old, new),
        *_in_operators(old, new),
        *_in_watermarks(old, new),
        *_in_output(old, new),
    ]
    if all(each.level < Level.MIGRATION for each in found):
        found += _in_steps(old, new, is_told_already=bool(found))
    names = {source.name for source in (*old.sources, *new.sources)}
    in_words = (Difference(each.level, told(each.reason, names)) for each in found)
    return Verdict(tuple(sorted(in_words, key=lambda each: -each.level)))


def _in_sources(old: Contract, new: Contract) -> Iterator[Difference]:
    before = {source.name: source for source in old.sources}
    after = {source.name: source for source in new.sources}
    if old.names_sources and not new.names_sources:
        yield Difference(
            Level.REPLAY, "sources have names in the checkpoint, and one of the new ones has none: name it"
        )
        return
    if not old.names_sources:
        yield from _in_unnamed_sources(old, new)
        return
    for name in sorted(after.keys() - before.keys()):
        yield Difference(Level.SAFE, f"source {name} was added: it is read from its own start")
    for name in sorted(before.keys() - after.keys()):
        yield Difference(
            Level.SAFE, f"source {name} was taken away: its rows stop, what state holds of it stays"
        )
    for name in sorted(before.keys() & after.keys()):
        one, other = before[name], after[name]
        if (one.format, one.reads) != (other.format, other.reads):
            yield Difference(
                Level.REPLAY,
                f"source {name} reads {other.format} {other.reads} instead of {one.format} {one.reads}: "
                "its positions are those of another stream",
            )
        else:
            yield from _in_columns_read(name, one.columns, other.columns)


def _in_unnamed_sources(old: Contract, new: Contract) -> Iterator[Difference]:
    """Without names Spark finds sources by their place in the plan."""
    if new.names_sources:
        yield Difference(
            Level.REPLAY,
            "sources have names now, and Spark gives none to those of a checkpoint that was made without",
        )
        return
    if [(each.format, each.reads) for each in old.sources] != [
        (each.format, each.reads) for each in new.sources
    ]:
        yield Difference(
            Level.REPLAY,
            "sources changed, and the checkpoint knows them by their place alone, since one had no name",
        )


def _in_columns_read(
    name: str, before: Iterable[tuple[str, str]], after: Iterable[tuple[str, str]]
) -> Iterator[Difference]:
    one, other = dict(before), dict(after)
    for column in other.keys() - one.keys():
        yield Difference(Level.SAFE, f"column {column} of source {name} is read from now on")
    for column in one.keys() - other.keys():
        yield Difference(Level.SAFE, f"column {column} of source {name} is not read any more")
    for column in one.keys() & other.keys():
        if one[column] != other[column]:
            yield Difference(
                Level.SAFE,
                f"column {column} of source {name} is read as {other[column]}, before as {one[column]}",
            )


def _in_operators(old: Contract, new: Contract) -> Iterator[Difference]:
    if not old.operators and new.operators:
        yield Difference(
            Level.REPLAY, f"{_kinds(new.operators)} was added: it would begin without the rows of the past"
        )
        return
    if [each.kind for each in old.operators] != [each.kind for each in new.operators]:
        yield Difference(
            Level.REPLAY,
            f"what keeps state is {_kinds(new.operators)}, in the checkpoint it is {_kinds(old.operators)}: "
            "state is found by its place in this order",
        )
        return
    for number, (before, after) in enumerate(zip(old.operators, new.operators, strict=True), start=1):
        which = before.kind if len(old.operators) == 1 else f"{before.kind} {number} of {len(old.operators)}"
        yield from _in_keys(which, before, after)
        yield from _WITHIN.get(before.kind, _in_nothing_more)(which, before, after, old.encoding)


def _in_keys(which: str, before: Operator, after: Operator) -> Iterator[Difference]:
    if before.keys != after.keys:
        yield Difference(
            Level.REPLAY,
            f"{which}: its key changed from {_told(before.keys, after.keys)} to "
            f"{_told(after.keys, before.keys)}: "
            "state is kept under the old one",
        )


def _in_aggregation(which: str, before: Operator, after: Operator, _: str) -> Iterator[Difference]:
    if before.state == after.state:
        return
    one, other = [each.text for each in before.state], [each.text for each in after.state]
    if one == other:
        yield Difference(
            Level.REPLAY,
            f"{which}: state of {_changed_types(before, after)}: what is stored cannot be read as that",
        )
    elif sorted(one) == sorted(other):
        yield Difference(
            Level.REPLAY,
            f"{which}: {', '.join(one)} are now in the order {', '.join(other)}: state is read by position, "
            "so each would go on with the numbers of another. Put them back in order, or replay",
        )
    else:
        for gone, come in _pairs_that_changed(one, other):
            state = next((each.state for each in before.state if each.text == gone), "")
            yield Difference(Level.REPLAY, f"{which} {_replaced(gone, come, state)}")


def _replaced(gone: str | None, come: str | None, state: str) -> str:
    if gone is None:
        return f"has {come} in addition: state holds nothing for it, a replay under a new version is needed"
    if come is None:
        return f"lacks {gone}: state is read by position and would be taken for something else"
    return (
        f"changed from {gone} to {come}: its state ({state}) cannot be used, a replay under a new version "
        "is needed"
    )


def _in_join(which: str, before: Operator, after: Operator, _: str) -> Iterator[Difference]:
    if before.facts != after.facts:
        yield Difference(
            Level.REPLAY, f"{which}: {_facts(before)} became {_facts(after)}: rows are kept for other reasons"
        )
    for one, other in zip(before.state, after.state, strict=True):
        if one.state != other.state:
            yield Difference(
                Level.REPLAY,
                f"{which}: of the {one.text} side it keeps ({other.state}), the checkpoint has "
                f"({one.state}). "
                "A column that is used after the join is kept in its state",
            )


def _in_own_state(which: str, before: Operator, after: Operator, encoding: str) -> Iterator[Difference]:
    if before.facts != after.facts:
        yield Difference(Level.REPLAY, f"{which}: {_facts(before)} became {_facts(after)}")
    one = {each.text: each.state for each in before.state}
    other = {each.text: each.state for each in after.state}
    retyped = [name for name in one.keys() & other.keys() if one[name] != other[name]]
    for name in sorted(retyped):
        yield Difference(
            Level.REPLAY, f"{which}: column {name} that it is given was {one[name]} and is {other[name]}"
        )
    moved = {"was added": other.keys() - one.keys(), "was taken away": one.keys() - other.keys()}
    for what, names in moved.items():
        for name in sorted(names):
            if encoding == "avro":
                yield Difference(
                    Level.SAFE, f"{which}: column {name} {what}; its state is kept in Avro, which takes that"
                )
            else:
                yield Difference(
                    Level.REPLAY,
                    f"{which}: column {name} {what}; its state is kept in Spark's plain encoding, which "
                    "refuses that",
                )


def _in_nothing_more(*_: object) -> Iterator[Difference]:
    return iter(())


_WITHIN: dict[str, Callable[[str, Operator, Operator, str], Iterator[Difference]]] = {
    AGGREGATE: _in_aggregation,
    JOIN: _in_join,
    OWN: _in_own_state,
}


def _in_watermarks(old: Contract, new: Contract) -> Iterator[Difference]:
    for before, after in zip_longest(old.watermarks, new.watermarks):
        if before is None:
            yield Difference(
                Level.SAFE,
                f"a watermark on {after.column} was added: rows later than {after.delay} are dropped",
            )
        elif after is None:
            yield Difference(
                Level.MIGRATION if old.operators else Level.SAFE,
                f"the watermark on {before.column} was taken away: state that waited for it is never "
                "finished",
            )
        elif before.column != after.column:
            yield Difference(
                Level.REPLAY if old.operators else Level.SAFE,
                f"the watermark follows {after.column} instead of {before.column}: where it stands means "
                "nothing "
                "for the other",
            )
        elif before.delay != after.delay:
            yield Difference(
                Level.SAFE,
                f"the watermark waits {after.delay} instead of {before.delay}, from the next batch on; it "
                "never "
                "goes back",
            )


def _in_output(old: Contract, new: Contract) -> Iterator[Difference]:
    before, after = old.output, new.output
    if before.mode != after.mode:
        yield Difference(
            Level.MIGRATION,
            f"output mode {before.mode} became {after.mode}: readers get "
            f"{_MODES.get(after.mode, 'something else')}, no more {_MODES.get(before.mode, 'what they got')}",
        )
    if before.topic != after.topic:
        yield Difference(
            Level.MIGRATION,
            f"the output goes to {after.topic or 'no topic'} instead of {before.topic or 'no topic'}: "
            "readers of "
            "the old one get nothing more",
        )
    if before.key != after.key:
        yield Difference(
            Level.MIGRATION,
            f"the key of the output is {', '.join(after.key) or 'none'} instead of "
            f"{', '.join(before.key) or 'none'}: a key may go to another partition, and compaction keeps "
            "both",
        )
    one, other = dict(before.columns), dict(after.columns)
    for name in sorted(other.keys() - one.keys()):
        yield Difference(Level.SAFE, f"the output has column {name} in addition")
    for name in sorted(one.keys() - other.keys()):
        yield Difference(Level.MIGRATION, f"the output lacks column {name}: readers that use it fail")
    for name in sorted(one.keys() & other.keys()):
        if one[name] != other[name]:
            yield Difference(
                Level.MIGRATION,
                f"column {name} of the output is {other[name]}, before {one[name]}: readers must take it",
            )


_MODES = {
    "append": "each result once, when it is final",
    "update": "a result each time it changes",
    "complete": "all results each time",
}


def _in_steps(old: Contract, new: Contract, *, is_told_already: bool) -> Iterator[Difference]:
    if old.steps == new.steps:
        return
    if is_told_already:
        return
    past = " What state holds was made by the old code" if old.operators else ""
    for gone, come in _pairs_that_changed(old.steps, new.steps):
        if gone is None:
            what = f"there is {_short(come)} in addition"
        elif come is None:
            what = f"there is no {_short(gone)} any more"
        else:
            what = f"{_short(gone)} became {_short(come)}"
        yield Difference(Level.SAFE, f"{what}: it holds for rows from now on.{past}")


def _pairs_that_changed(
    before: Sequence[str], after: Sequence[str]
) -> Iterator[tuple[str | None, str | None]]:
    """What stands in `before` and not in `after` beside what took its place."""
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag != "equal":
            yield from zip_longest(before[start:end], after[new_start:new_end])


def _changed_types(before: Operator, after: Operator) -> str:
    pairs = zip(before.state, after.state, strict=True)
    return ", ".join(
        f"{one.text} was {one.state} and is {other.state}" for one, other in pairs if one != other
    )


def _told(keys: Iterable[str], beside: Iterable[str]) -> str:
    """Tell keys in few words, unless two different ones would then read alike."""
    ours, theirs = tuple(keys), tuple(beside)
    short = [readable(key) for key in ours]
    if short == [readable(key) for key in theirs]:
        short = list(ours)
    return ", ".join(short) or "none"


def _kinds(operators: Iterable[Operator]) -> str:
    return ", ".join(each.kind for each in operators) or "nothing"


def _facts(operator: Operator) -> str:
    return ", ".join(f"{name} {text}" for name, text in operator.facts)


def _short(step: str | None) -> str:
    text = step or ""
    return text if len(text) <= SHOWN_CHARACTERS_MAX else f"{text[:SHOWN_CHARACTERS_MAX]}…"
