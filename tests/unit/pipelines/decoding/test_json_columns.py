"""JSON to columns, many values at a time: what is good, what is bad and why, each in its place."""

from __future__ import annotations

import json
import random
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

from riverlog.pipelines.decoding.declared import declared_fields
from riverlog.pipelines.decoding.json_columns import PIECE_ROWS, ROWS, JsonColumns
from riverlog.pipelines.decoding.json_shape import are_objects, find_objects

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
EVERYTHING = (
    "b boolean, i int, l bigint, f float, d double, s string, t timestamp, day date, "
    "o struct<x: bigint, t: timestamp, inner: struct<s: string>>, a array<int>, "
    "many array<struct<s: string, day: date>>"
)


def decode(schema: str, *values: bytes | None) -> list[tuple[Any, str | None]]:
    struct, reasons = JsonColumns(declared_fields("schema", schema)).decode(pa.array(values, pa.binary()))
    struct.validate(full=True)
    return list(zip(struct.to_pylist(), reasons.to_pylist(), strict=True))


def one(schema: str, value: bytes) -> tuple[Any, str | None]:
    """Decode a value alone, and see that it comes out the same among others."""
    [alone] = decode(schema, value)
    assert decode(schema, b'{"unknown": {}}', value, b"{}", value)[1::2] == [alone, alone]
    return alone


def test_all_types_are_decoded() -> None:
    document = {
        "b": True, "i": -1, "l": 2**63 - 1, "f": 0.5, "d": 1e-3, "s": "ä😀\u0000\n", "day": "2026-01-01",
        "t": "2026-01-01T12:00:00Z", "a": [1, None], "unknown": {"x": [1, {"y": None}]},
        "o": {"x": 1, "t": "2026-01-01 14:00:00+02:00", "inner": {"s": "in"}, "unknown": 1},
        "many": [{"s": "x", "day": "2026-01-01"}, None, {}],
    }  # fmt: skip

    [(found, reason), (nothing, no_reason), (empty, _)] = decode(
        EVERYTHING, json.dumps(document).encode(), None, b" {\n} "
    )

    assert reason is no_reason is nothing is None
    assert found == {
        "b": True, "i": -1, "l": 2**63 - 1, "f": 0.5, "d": 1e-3, "s": "ä😀\u0000\n", "day": date(2026, 1, 1),
        "t": NOON, "a": [1, None], "o": {"x": 1, "t": NOON, "inner": {"s": "in"}},
        "many": [{"s": "x", "day": date(2026, 1, 1)}, None, {"s": None, "day": None}],
    }  # fmt: skip
    assert empty == dict.fromkeys(found)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"null", "it is no JSON object"),
        (b"[{}]", "it is no JSON object"),
        (b"not JSON", "it is no JSON object"),
        (b'{"l": 1', "it is no JSON: Expecting ',' delimiter at character 7"),
        (b'{"l": 1} {}', "it is no JSON: Extra data at character 9"),
        (b'{"s": "}', "it is no JSON: Unterminated string starting at character 6"),
        (b'{}, "l": {}', "it is no JSON: Extra data at character 2"),
        (b"{}null{}", "it is no JSON: Extra data at character 2"),
        (b'{"l" 1}', "it is no JSON: Expecting ':' delimiter at character 5"),
        (b'{"l": 01}', "it is no JSON: Expecting ',' delimiter at character 7"),
        (b'{"s": "\n"}', "it is no JSON: Invalid control character at character 7"),
        (b'{"s": "\xff"}', "it is no text in UTF-8"),
        (b'{"s": "\\ud800"}', 's is no string: "\\ud800"'),
        (b'{"s": 1}', "s is no string: 1"),
        (b'{"s": {}}', "s is no string: an object"),
        (b'{"b": 1}', "b is no boolean: 1"),
        (b'{"b": "true"}', 'b is no boolean: "true"'),
        (b'{"i": 2147483648}', "i is no int: 2147483648"),
        (b'{"l": 9223372036854775808}', "l is no bigint: 9223372036854775808"),
        (b'{"l": 1.0}', "l is no bigint: 1.0"),
        (b'{"l": 1e2}', "l is no bigint: 1e2"),
        (b'{"l": "1"}', 'l is no bigint: "1"'),
        (b'{"l": true}', "l is no bigint: true"),
        (b'{"l": NaN}', "l is no bigint: NaN"),
        (b'{"d": "1"}', 'd is no double: "1"'),
        (b'{"d": 1e999}', "d is no double: 1e999"),
        (b'{"d": NaM}', "it is no JSON: Expecting value at character 6"),
        (b'{"l": 1, "l": 1}', "l is there twice"),
        (b'{"o": []}', "o is no struct: []"),
        (b'{"o": {"x": 1.5}}', "o.x is no bigint: 1.5"),
        (b'{"a": [1, "2"]}', 'a is no int: "2"'),
        (b'{"a": {}}', "a is no array: an object"),
        (b'{"many": [{"s": 1}]}', "many.s is no string: 1"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_bad_and_says_why(value: bytes, reason: str) -> None:
    assert one(EVERYTHING, value) == (None, reason)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("l", "-0", 0),
        ("l", "null", None),
        ("i", "-2147483648", -(2**31)),
        ("d", "7", 7.0),
        ("d", "-1E+2", -100.0),
        ("d", "-Infinity", float("-inf")),
        ("d", "1e-999", 0.0),
        ("f", "16777217", 16777216.0),
        ("f", "1e39", float("inf")),
        ("unknown", "1e999", None),
        ("unknown", "-NaN", None),
        ("unknown", "[" * 5000 + "]" * 5000, None),
        ("unknown", '"\\ud800"', None),
        ("\\u0073", '"an escaped name"', "an escaped name"),
        ("S", '"names have their case"', None),
    ],
)
def test_what_a_column_holds_is_good(name: str, text: str, expected: object) -> None:
    found, reason = one(EVERYTHING, b'{"%s": %s}' % (name.encode(), text.encode()))

    assert reason is None
    assert found[{"\\u0073": "s"}.get(name, name if name in found else "l")] == expected


@pytest.mark.parametrize(
    "text",
    ["2026-01-01T12:00:00Z", "2026-01-01 12:00:00", "2026-01-01T12:00", "2026-01-01T12",
     "2026-01-01T10:30-01:30", "2026-01-01T13:00:00.000000+0100", "2026-01-01T13:00:00.0+01"],
)  # fmt: skip
def test_times_are_iso_8601_with_and_without_a_zone(text: str) -> None:
    assert one("t timestamp", json.dumps({"t": text}).encode()) == ({"t": NOON}, None)


def test_a_date_is_a_time_too() -> None:
    found, reason = one("t timestamp", b'{"t": "2026-01-01"}')

    assert (found["t"], reason) == (datetime(2026, 1, 1, tzinfo=UTC), None)


@pytest.mark.parametrize(
    "text", ["", "noon", "2026-13-01T00:00:00Z", "2026-01-01T00:00:00.1234567Z", "2026-01-01Z"]
)
def test_other_times_are_bad(text: str) -> None:
    for column in ("t timestamp", "t date"):
        found, reason = one(column, json.dumps({"t": text}).encode())
        assert found is None
        assert reason is not None
        assert reason.startswith(f"t is no {column[2:]}: ")


def test_a_time_that_is_a_number_is_bad() -> None:
    assert one("t timestamp", b'{"t": 1767268800}') == (None, "t is no timestamp: 1767268800")


def test_fields_that_must_be_there_are_missed_by_name() -> None:
    assert decode("a int NOT NULL, b int", b'{"b": 1}', b'{"a": null}', b'{"a": 1}', None, b"x") == [
        (None, "a is missing"),
        (None, "a is missing"),
        ({"a": 1, "b": None}, None),
        (None, None),
        (None, "it is no JSON object"),
    ]


@pytest.mark.parametrize("count", [0, 1, PIECE_ROWS + 1, ROWS, 2 * ROWS + 3])
def test_a_bad_record_does_not_touch_those_around_it(count: int) -> None:
    values = [b'{"l": %d}' % number for number in range(count)]
    expected: list[tuple[Any, str | None]] = [({"l": number}, None) for number in range(count)]
    for place in range(0, count, PIECE_ROWS + 7):
        values[place], expected[place] = b'{"l": "x"}', (None, 'l is no bigint: "x"')

    assert decode("l bigint", *values) == expected


def test_a_slice_of_a_column_is_decoded_by_itself() -> None:
    values = pa.array([b"bad", b'{"l": 1}', None, b'{"l": 2}', b"bad"], pa.binary()).slice(1, 3)

    struct, reasons = JsonColumns(declared_fields("schema", "l bigint")).decode(values)

    assert struct.to_pylist() == [{"l": 1}, None, {"l": 2}]
    assert reasons.null_count == 3


# Against Python's own parser, on what people and enemies send.

SEED_SPACE = 2**32
NAMES = ["l", "s", "d", "b", "o", "a", "t", "z", "unknown"]
FUZZED = "l bigint, s string, d double, b boolean, o struct<l: bigint, s: string>, a array<bigint>, z float"
PIECES = [
    b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"\n", b"\0", b" ", b"null", b'"l":1', b'"s":"x"', b"{}",
    b"\xff", b"\\ud800", b'}null{"l":1', b'},"n":0}\n{"v":{', b"1e5", b"-", b"NaN", b"Inf", b'"l":1,"l":2',
    b"//", b'"unknown":{"l":"}"}', b"9" * 30, b'"z":16777217', b"\\u0000", b"\xed\xa0\x80", "ä".encode(),
]  # fmt: skip


def some_value(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.randrange(9 if depth < 3 else 7)
    match kind:
        case 0:
            return chance.choice([0, 1, -1, 2**31, 2**63 - 1, 2**63, -(2**63), 10**30])
        case 1:
            return chance.choice([0.5, 1.0, 1e300, -0.0, 1e39, float("nan"), float("inf")])
        case 2:
            return chance.choice(["", "x", "}", '"', "\\", "{\n", "\u0000", "\ud800", "😀", "null", "1"])
        case 3:
            return chance.choice([True, False])
        case 4 | 5 | 6:
            return None
        case 7:
            return [some_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    return some_object(chance, depth + 1)


def some_object(chance: random.Random, depth: int = 0) -> dict[str, Any]:
    return {chance.choice(NAMES): some_value(chance, depth) for _ in range(chance.randrange(5))}


def fitting(chance: random.Random) -> dict[str, Any]:
    return {
        "l": chance.randrange(-(2**63), 2**63), "s": chance.choice(["", "}", "\n", "{", '"'] * 2),
        "d": chance.random(), "b": chance.choice([True, None]),
        "a": [chance.randrange(9)] * chance.randrange(3),
        "o": chance.choice([None, {}, {"l": 1, "unknown": "}"}, {"s": "{"}]),
    }  # fmt: skip


def some_bytes(chance: random.Random) -> bytes:
    kind = chance.randrange(10)
    if kind < 5:
        return json.dumps(fitting(chance)).encode()
    if kind < 7:
        text = json.dumps(some_object(chance), ensure_ascii=chance.random() < 0.5)
        return text.encode(errors="surrogatepass")
    if kind < 8:
        return b"{" + b"".join(chance.choices(PIECES, k=chance.randrange(8))) + b"}"
    whole = json.dumps(fitting(chance)).encode()
    place = chance.randrange(len(whole) + 1)
    return whole[:place] + chance.choice(PIECES) + whole[place + chance.randrange(3) :]


def test_random_values_come_out_as_python_reads_them_each_in_its_place() -> None:
    seed = random.randrange(SEED_SPACE)
    print(f"seed {seed}")
    chance = random.Random(seed)
    decoder = JsonColumns(declared_fields("schema", FUZZED))
    for _ in range(150):
        share = chance.choice([1.0, 0.1, 0.01])
        values = [
            some_bytes(chance) if chance.random() < share else json.dumps(fitting(chance)).encode()
            for _ in range(chance.choice([1, 2, 30, 200]))
        ]

        struct, reasons = decoder.decode(pa.array(values, pa.binary()))

        struct.validate(full=True)
        for value, found, reason in zip(values, struct.to_pylist(), reasons.to_pylist(), strict=True):
            assert repr((found, reason is None)) == repr(read_by_python(value)), value


def read_by_python(value: bytes) -> tuple[dict[str, Any] | None, bool]:
    """What is promised, said once more and simply."""
    try:
        document = json.loads(
            value.decode(), object_pairs_hook=Twice, parse_float=Exact, parse_constant=Exact
        )
        assert isinstance(document, Twice)
        return fields_of(FUZZED_FIELDS, document), True
    except RefusedByTest:
        return None, False
    except (ValueError, AssertionError):
        return read_by_arrow_alone(value)


def read_by_arrow_alone(value: bytes) -> tuple[dict[str, Any] | None, bool]:
    """Numbers such as -NaN and Inf, which Python does not know."""
    if b"NaN" not in value and b"Inf" not in value:
        return None, False
    struct, reasons = JsonColumns(declared_fields("schema", FUZZED)).decode(pa.array([value], pa.binary()))
    return struct[0].as_py(), reasons.null_count == 1


class RefusedByTest(Exception):
    pass


class Twice(list[Any]):
    pass


class Exact(str):
    pass


FUZZED_FIELDS = {
    "l": "bigint", "s": "string", "d": "double", "b": "boolean", "o": {"l": "bigint", "s": "string"},
    "a": ["bigint"], "z": "float",
}  # fmt: skip


def fields_of(kind: Any, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(kind, dict):
        names = [name for name, _ in value if name in kind] if isinstance(value, Twice) else None
        need(names is not None and len(set(names)) == len(names))
        there = dict(value)
        return {name: fields_of(inside, there.get(name)) for name, inside in kind.items()}
    if isinstance(kind, list):
        need(type(value) is list)
        return [fields_of(kind[0], each) for each in value]
    if kind == "boolean":
        need(isinstance(value, bool))
        return value
    if kind == "string":
        need(type(value) is str and "\ud800" not in value)
        return value
    if kind == "bigint":
        need(type(value) is int and -(2**63) <= value < 2**63)
        return value
    need(type(value) in (int, Exact))
    number = float(value)
    need(str(value).lstrip("-") == "Infinity" or abs(number) != float("inf"))
    return number if kind == "double" else pa.array([number], pa.float32())[0].as_py()


def need(condition: bool) -> None:
    if not condition:
        raise RefusedByTest


def test_compiled_and_plain_ways_agree_on_what_is_an_object() -> None:
    seed = random.randrange(SEED_SPACE)
    print(f"seed {seed}")
    chance = random.Random(seed)
    values = [some_bytes(chance) for _ in range(500)]
    array = pa.array(values, pa.binary())
    plain = bytearray(len(values))
    bounds = [0]
    for value in values:
        bounds.append(bounds[-1] + len(value))
    source = getattr(find_objects, "py_func", find_objects)

    source(b"".join(values), bounds, plain)

    assert are_objects(array).tolist() == [bool(each) for each in plain]
