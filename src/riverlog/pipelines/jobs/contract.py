"""What a query's checkpoint was made by, in values that outlive the code: its contract.

    sources     by name: format, what is read of it, and the columns that come of it
    watermarks  which column, and how long is waited
    operators   those that keep state, in the plan's order: kind, keys, and what each key holds
    steps       every node of the plan as a line, so that a change without state is seen too
    output      topic, key, mode and columns

A contract is written beside the checkpoint when a version of a query first starts. Here nothing runs and
nothing is decided: a plan, as plain nodes, becomes a contract, and a contract becomes JSON and back.

An expression is told in terms of what was read, whatever it was called on the way:

    clicks.withColumn("c", F.col("cents") * 2).groupBy("page").agg(F.sum("c"))   ->   sum((clicks→cents * 2))
    by clicks→page
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

READ = "riverlog.read"
"""Metadata of a column that was decoded from a record: the name of its source."""
FORMAT = 1
"""Grows when the JSON of a contract changes its meaning."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a plan: `attribute` is Spark's own number for it, unique within the plan."""

    attribute: int
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Named:
    """An expression that makes a column."""

    attribute: int
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Function:
    """An aggregate function and the columns in which its state is kept."""

    text: str
    state: str


@dataclass(frozen=True, slots=True)
class PlanNode:
    """A node of Spark's logical plan, as plain values; what a kind of node has not is empty."""

    kind: str
    text: str
    is_streaming: bool
    columns: tuple[Column, ...]
    children: tuple[PlanNode, ...] = ()
    named: tuple[Named, ...] = ()
    grouping: tuple[str, ...] = ()
    functions: tuple[Function, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Source:
    """A stream that a query reads."""

    name: str
    format: str
    reads: str
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Watermark:
    """How far event time trails the newest event."""

    column: str
    delay: str


@dataclass(frozen=True, slots=True)
class Operator:
    """Something that keeps state: `keys` are expressions, `state` is what is kept for each key."""

    kind: str
    keys: tuple[str, ...]
    state: tuple[Function, ...]
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """What a query puts out; `topic` is its readable name, empty where it writes elsewhere."""

    topic: str
    key: tuple[str, ...]
    mode: str
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Contract:
    """What the checkpoint of one version of a query rests on."""

    sources: tuple[Source, ...]
    watermarks: tuple[Watermark, ...]
    operators: tuple[Operator, ...]
    steps: tuple[str, ...]
    output: Output
    encoding: str = "unsaferow"
    names_sources: bool = True

    @property
    def moves_with_watermark(self) -> bool:
        """Whether a batch without rows may put something out."""
        return bool(self.operators and self.watermarks) and self.output.mode != "complete"

    def to_json(self) -> dict[str, Any]:
        """Give it as what JSON can hold."""
        return {"format": FORMAT, **asdict(self)}


SOURCES = frozenset({"StreamingRelation", "StreamingRelationV2", "StreamingExecutionRelation"})
AGGREGATE, JOIN, LIMIT = "aggregation", "join of two streams", "limit"
DEDUPLICATION, OWN = "deduplication", "operator with own state"
_KINDS = {
    "Aggregate": AGGREGATE,
    "Join": JOIN,
    "Deduplicate": DEDUPLICATION,
    "DeduplicateWithinWatermark": f"{DEDUPLICATION} within the watermark",
    "Distinct": DEDUPLICATION,
    "GlobalLimit": LIMIT,
    "FlatMapGroupsWithState": OWN,
    "FlatMapGroupsInPandasWithState": OWN,
    "TransformWithState": OWN,
    "TransformWithStateInPySpark": OWN,
    "TransformWithStateInPandas": OWN,
}
EVOLVING = frozenset({"TransformWithState", "TransformWithStateInPySpark", "TransformWithStateInPandas"})
"""Kinds of nodes whose state Spark can keep in Avro."""


def contract_of(
    analysed: PlanNode, optimised: PlanNode, output: Output, *, columns_read: Mapping[str, Iterable[str]]
) -> Contract:
    """Make the contract of a plan.

    `optimised` is the same plan after Spark has taken unused columns away, which is what joins keep.
    `columns_read` tells for a source the columns into which its records are decoded, as `name type`.
    """
    tell = _Telling(analysed)
    nodes = list(each_node(analysed))
    sides = [node for node in each_node(optimised) if _is_stateful(node) and node.kind == "Join"]
    sources = tuple(_source(node, columns_read) for node in nodes if node.kind in SOURCES)
    operators = []
    for node in nodes:
        if _is_stateful(node):
            pruned = sides.pop(0) if node.kind == "Join" and sides else node
            operators.append(_operator(node, pruned, tell))
    watermarks = (
        Watermark(tell(node.facts["column"], node), node.facts["delay"])
        for node in nodes
        if node.kind == "EventTimeWatermark"
    )
    return Contract(
        sources=tuple(sorted(sources, key=lambda source: source.name)),
        watermarks=tuple(watermarks),
        operators=tuple(operators),
        steps=tuple(_steps(nodes)),
        output=output,
        encoding="avro" if keeps_only_evolving_state(nodes) else "unsaferow",
        names_sources=all(source.name for source in sources),
    )


def contract_from_json(value: Mapping[str, Any]) -> Contract:
    """Read what `to_json` gave; raise `ValueError` where the format is not ours."""
    if value.get("format") != FORMAT:
        raise ValueError(f"a contract of format {value.get('format')!r}, not {FORMAT}")
    output = value["output"]
    return Contract(
        sources=tuple(
            Source(each["name"], each["format"], each["reads"], _pairs(each["columns"]))
            for each in value["sources"]
        ),
        watermarks=tuple(Watermark(**each) for each in value["watermarks"]),
        operators=tuple(
            Operator(
                each["kind"],
                tuple(each["keys"]),
                tuple(Function(**function) for function in each["state"]),
                _pairs(each["facts"]),
            )
            for each in value["operators"]
        ),
        steps=tuple(value["steps"]),
        output=Output(output["topic"], tuple(output["key"]), output["mode"], _pairs(output["columns"])),
        encoding=value["encoding"],
        names_sources=value["names_sources"],
    )


def each_node(top: PlanNode) -> Iterator[PlanNode]:
    """Give a plan's nodes from the output down to the sources."""
    yield top
    for child in top.children:
        yield from each_node(child)


def keeps_only_evolving_state(nodes: Iterable[PlanNode]) -> bool:
    """Say whether there is state, all of it of a kind that Spark can keep in Avro."""
    stateful = [node for node in nodes if _is_stateful(node)]
    return bool(stateful) and all(node.kind in EVOLVING for node in stateful)


def _is_stateful(node: PlanNode) -> bool:
    if node.kind not in _KINDS or not node.is_streaming:
        return False
    if node.kind == "Join":
        return all(child.is_streaming for child in node.children)
    return True


def _source(node: PlanNode, columns_read: Mapping[str, Iterable[str]]) -> Source:
    name = node.facts.get("name", "")
    own = [f"{column.name} {column.type}" for column in node.columns]
    columns = [_pair(text) for text in columns_read.get(name, own)]
    return Source(name, node.facts.get("format", ""), node.facts.get("reads", ""), tuple(columns))


def _operator(node: PlanNode, pruned: PlanNode, tell: _Telling) -> Operator:
    kind = _KINDS[node.kind]
    keys = tuple(tell(text, node) for text in node.grouping)
    match kind:
        case "aggregation":
            # Spark keeps a function once, however many columns use it.
            functions = {tell(each.text, node): each.state for each in node.functions}
            return Operator(kind, keys, tuple(Function(*pair) for pair in functions.items()))
        case "join of two streams":
            left, right = pruned.children
            state = (Function("left", _listed(left.columns)), Function("right", _listed(right.columns)))
            condition = tell(node.facts.get("condition", ""), node)
            return Operator(kind, (condition,), state, (("type", node.facts.get("type", "")),))
        case "operator with own state":
            taken = tuple(Function(column.name, column.type) for column in node.children[0].columns)
            facts = {name: text for name, text in node.facts.items() if name in ("output mode", "time mode")}
            return Operator(kind, keys, taken, tuple(sorted(facts.items())))
    return Operator(kind, keys or tuple(column.name for column in node.columns), ())


class _Telling:
    """Tells an expression of a node in terms of what was read."""

    def __init__(self, top: PlanNode) -> None:
        self._meanings: dict[int, str] = {}
        self._learn(top)

    def __call__(self, text: str, node: PlanNode) -> str:
        """Put in place of each attribute of the node's input what it stands for."""
        inputs = [column for child in node.children for column in child.columns]
        # The longest name first: one attribute's text may be the end of another's.
        for column in sorted(inputs, key=lambda each: -len(each.name)):
            meaning = self._meanings.get(column.attribute, column.name)
            written = re.escape(f"{column.name}#{column.attribute}") + r"L?(?:-T\d+ms)?(?![\d])"
            text = meaning.join(re.split(written, text))
        return text

    def _learn(self, node: PlanNode) -> None:
        for child in node.children:
            self._learn(child)
        if node.kind in SOURCES:
            for column in node.columns:
                self._meanings[column.attribute] = read_as(node.facts.get("name", ""), column.name)
        for each in node.named:
            meaning = self(each.text, node)
            known = self._meanings.get(each.attribute)
            # A sliding window is made by several projections, each giving one of its windows.
            if known is None or node.kind != "Expand":
                self._meanings[each.attribute] = meaning
            elif meaning not in known:
                self._meanings[each.attribute] = f"{known} | {meaning}"


def read_as(source: str, column: str) -> str:
    """Give a column's meaning: that of a source, whatever else the query reads."""
    return f"{source}{OF}{column}" if source else column


def told(text: str, sources: Iterable[str]) -> str:
    """Put what `read_as` gave into words: without the source where there is only one."""
    names = list(sources)
    if len(names) == 1:
        return text.replace(f"{names[0]}{OF}", "")
    return text.replace(OF, ".")


OF = "→"
"""Parts a source from its column in an expression; no SQL has it."""

_IDENTIFIERS = re.compile(r"#(\d+)")
_PASSING = re.compile(r"@[0-9a-f]{4,}|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b(, )?")


def _steps(nodes: Iterable[PlanNode]) -> Iterator[str]:
    """The plan's lines without what differs between two runs of the same code."""
    for node in nodes:
        if node.kind not in SOURCES:
            yield _IDENTIFIERS.sub("", _PASSING.sub("", node.text.removeprefix("~")))


_WINDOW = re.compile(r"precisetimestampconversion\(([^()]+(?:\([^()]*\))?), TimestampType, LongType\)")
_SLIDE = re.compile(r" % (\d+)\)")
_LENGTH = re.compile(r"\+ (\d+)\), LongType, TimestampType\)")
_UNITS = ((86_400_000_000, "day"), (3_600_000_000, "hour"), (60_000_000, "minute"), (1_000_000, "second"))


def readable(text: str) -> str:
    """Tell a window as people write it, where Spark tells the arithmetic it is made of."""
    column, slide, length = _WINDOW.search(text), _SLIDE.search(text), _LENGTH.search(text)
    if not (text.startswith("named_struct(start") and column and slide and length):
        return text
    parts = [column[1], _span(int(length[1]))]
    if slide[1] != length[1]:
        parts.append(_span(int(slide[1])))
    return f"window({', '.join(parts)})"


def _span(microseconds: int) -> str:
    for unit, name in _UNITS:
        if microseconds and microseconds % unit == 0:
            number = microseconds // unit
            return f"{number} {name}" if number == 1 else f"{number} {name}s"
    return f"{microseconds} microseconds"


def _listed(columns: Iterable[Column]) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in columns)


def _pair(text: str) -> tuple[str, str]:
    name, _, type_ = text.partition(" ")
    return name, type_


def _pairs(values: Iterable[Iterable[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((first, second) for first, second in values)
