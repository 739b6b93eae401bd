"""Turn Apache Kafka's JSON message definitions into riverlog's own compact definition files.

    python tools/import_definitions.py kafka-clients.jar kafka-group-coordinator.jar ... [--into FOLDER]

Reads `common/message/*.json` inside the jars and writes what riverlog speaks of it: every request and
response that a client may send to a broker, the consumer protocol, and the records of the coordinators'
topics. Only facts are taken (names, types, versions, tags, defaults), never a sentence. The output's
grammar is described in `riverlog/protocol/schema.py`.

Rules
- One file per API, per pair of record key and value, per free-standing structure.
- A version that Kafka marks as unstable is left out, and with it the fields that only it has.
- A range is written only where it differs from that of the structure around the field.
- Structure names are Python class names, unique over all files. Kafka's own name is kept, with the
  message's name in front where two messages would clash or where the name is a single word.
"""

from __future__ import annotations

import argparse
import json
import keyword
import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

DEFINITIONS = Path(__file__).resolve().parent.parent / "src" / "riverlog" / "protocol" / "definitions"

FREE_STANDING = {"ConsumerProtocolSubscription", "ConsumerProtocolAssignment", "EndTxnMarker"}

RECORD_FOLDERS = {
    "kafka-group-coordinator": "group_records",
    "kafka-transaction-coordinator": "transaction_records",
    "kafka-share-coordinator": "share_records",
}

Json = dict[str, Any]


class Range(NamedTuple):
    """Versions from `first` to `last`, both included."""

    first: int
    last: int

    def clip(self, limits: Range) -> Range | None:
        first, last = max(self.first, limits.first), min(self.last, limits.last)
        return Range(first, last) if first <= last else None


def read_range(text: str | None) -> Range | None:
    """Read `2`, `2-5`, `2+` or `none`."""
    if not text or text == "none":
        return None
    if text.endswith("+"):
        return Range(int(text[:-1]), 1 << 15)
    first, _, last = text.partition("-")
    return Range(int(first), int(last or first))


def write_range(versions: Range, limits: Range) -> str:
    """Write a range the short way: `3+` when it reaches the message's last version, `3` for a single one."""
    if versions.last == limits.last:
        return f"{versions.first}+"
    if versions.first == versions.last:
        return f"{versions.first}"
    return f"{versions.first}-{versions.last}"


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def read_jars(jars: list[Path]) -> list[Json]:
    """Read every message definition; each remembers the jar it came from as `origin`."""
    messages = []
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            for path in sorted(archive.namelist()):
                if path.startswith("common/message/") and path.endswith(".json"):
                    text = re.sub(r"^\s*//.*$", "", archive.read(path).decode(), flags=re.MULTILINE)
                    messages.append({**json.loads(text), "origin": jar.name})
    return messages


def file_of(message: Json, client_apis: set[int]) -> str | None:
    """Name the definition file that a message belongs to; None when riverlog does not speak it."""
    name = message["name"]
    if read_range(message["validVersions"]) is None:
        return None
    match message["type"]:
        case "request" | "response" if message["apiKey"] in client_apis:
            return snake_case(re.sub(r"(Request|Response)$", "", name))
        case "coordinator-key" | "coordinator-value":
            folder = next(
                folder for jar, folder in RECORD_FOLDERS.items() if message["origin"].startswith(jar)
            )
            return f"{folder}/{snake_case(re.sub(r'(Key|Value)$', '', name))}"
        case "data" if name in FREE_STANDING:
            return f"data/{snake_case(name)}"
    return None


def structs_of(message: Json) -> list[str]:
    """List the names of a message's structures, inner ones included."""

    def inner(fields: list[Json]) -> list[str]:
        names = []
        for field in fields:
            if "fields" in field:
                names += [field["type"].removeprefix("[]"), *inner(field["fields"])]
        return names

    commons = message.get("commonStructs", [])
    return inner(message["fields"]) + [
        name for common in commons for name in (common["name"], *inner(common["fields"]))
    ]


def class_names(messages: list[Json]) -> dict[tuple[str, str], str]:
    """Give every (message, structure) its class name, unique over all messages."""
    uses = Counter(name for message in messages for name in structs_of(message))
    uses.update(message["name"] for message in messages)
    names = {}
    for message in messages:
        for struct in structs_of(message):
            is_word = len(re.findall("[A-Z]", struct)) == 1
            names[message["name"], struct] = (
                message["name"] + struct if uses[struct] > 1 or is_word else struct
            )
    repeated = [name for name, count in Counter(names.values()).items() if count > 1]
    assert not repeated, f"two structures would share the names {repeated}"
    return names


def default_of(field: Json, nullable: bool) -> str | None:
    """Give a field's default as text, or None for the type's own (0, "", [], false, a null for records)."""
    default = field.get("default")
    if default == "null":  # the word; JSON's own null is the same as no default at all
        assert nullable, f"{field['name']} cannot be null by default"
        return "null"
    if default is None:
        return None
    if field["type"] == "bool":
        return "true" if str(default).lower() == "true" else None
    if re.fullmatch(r"u?int\d+", field["type"]):
        value = int(str(default), 0)
        return str(value) if value else None
    assert default == "", f"{field['name']}: the default {default!r} needs a notation"
    return None


class Writer:
    """Write one message in the notation of `riverlog.protocol.schema`."""

    def __init__(self, message: Json, names: dict[tuple[str, str], str]) -> None:
        self.message = message
        self.names = names
        versions = read_range(message["validVersions"])
        assert versions is not None
        if message["latestVersionUnstable"]:
            versions = Range(versions.first, versions.last - 1)
        self.versions = versions

    def text(self) -> str:
        flexible = read_range(self.message["flexibleVersions"])
        clipped = flexible and flexible.clip(self.versions)
        first, last = self.versions
        heading = f"message {self.message['name']} {first if first == last else f'{first}-{last}'}"
        if clipped:
            heading += f" flexible {clipped.first}+"
        lines = [heading, *self.fields(self.message["fields"], 1, self.versions)]
        for common in self.message.get("commonStructs", []):
            lines += [
                "",
                f"struct {self.class_name(common['name'])}",
                *self.fields(common["fields"], 1, self.versions),
            ]
        return "\n".join(lines) + "\n"

    def class_name(self, struct: str) -> str:
        return self.names[self.message["name"], struct]

    def fields(self, fields: list[Json], depth: int, around: Range) -> list[str]:
        """Write fields as aligned columns, each followed by those of its inner structure.

        `around` are the versions that have the structure whose fields these are.
        """
        present = [(field, columns) for field in fields if (columns := self.columns(field, around))]
        widths = [max((len(columns[i]) for _, columns in present), default=0) for i in range(2)]
        lines = []
        for field, (name, kind, rest) in present:
            line = f"{'  ' * depth}{name:<{widths[0]}}  {kind:<{widths[1]}}  {rest}"
            lines.append(line.rstrip())
            if "fields" in field:
                inner = self.versions_of(field, around)
                assert inner is not None
                lines += self.fields(field["fields"], depth + 1, inner)
        return lines

    def versions_of(self, field: Json, around: Range) -> Range | None:
        stated = read_range(field.get("versions", field.get("taggedVersions")))
        return stated and stated.clip(around)

    def columns(self, field: Json, around: Range) -> tuple[str, str, str] | None:
        """Give a field's name, type and remaining words; None when no version has it."""
        versions = self.versions_of(field, around)
        if versions is None:
            return None
        name = snake_case(field["name"])
        assert not keyword.iskeyword(name), name
        kind = field["type"]
        array, base = ("[]", kind[2:]) if kind.startswith("[]") else ("", kind)
        if base[0].isupper():
            base = self.class_name(base)
        words = []
        if versions != around:
            words.append(write_range(versions, self.versions))
        nulls = read_range(field.get("nullableVersions"))
        clipped_nulls = nulls and nulls.clip(versions)
        if clipped_nulls:
            words.append(
                "null" if clipped_nulls == versions else f"null {write_range(clipped_nulls, self.versions)}"
            )
        if "tag" in field:
            tagged = read_range(field["taggedVersions"])
            assert tagged, name
            assert tagged.clip(around) == versions, f"{name} is tagged in some of its versions only"
            words.append(f"tag {field['tag']}")
        default = default_of(field, nullable=clipped_nulls is not None)
        if default is not None:
            words.append(f"= {default}")
        return name, array + base, " ".join(words)


def definition_files(jars: list[Path]) -> dict[str, str]:
    """Compute the whole output: each file's path below the definitions folder, and its text."""
    found = read_jars(jars)
    # Only a request says that its API's latest version is unstable; the response's is so too.
    unstable = {m["apiKey"] for m in found if m["type"] == "request" and m.get("latestVersionUnstable")}
    for message in found:
        is_api = message["type"] in ("request", "response")
        message["latestVersionUnstable"] = is_api and message["apiKey"] in unstable
    client_apis = {
        m["apiKey"] for m in found if m["type"] == "request" and "broker" in m.get("listeners", ())
    }
    spoken = [(path, m) for m in found if (path := file_of(m, client_apis))]
    names = class_names([message for _, message in spoken])
    files: dict[str, list[str]] = {}
    index: dict[str, list[str]] = {}
    # A request before its response, a record's key before its value: also the order of their names.
    for path, message in sorted(spoken, key=lambda pair: (pair[0], pair[1]["name"])):
        if path not in files:
            files[path] = [heading] if (heading := file_heading(message)) else []
        files[path].append(Writer(message, names).text())
        index.setdefault(path, []).append(message["name"])
        index[path] += dict.fromkeys(names[message["name"], struct] for struct in structs_of(message))
    texts = {f"{path}.txt": "\n".join(parts) for path, parts in files.items()}
    texts["index.txt"] = "".join(f"{path}: {' '.join(names)}\n" for path, names in index.items())
    return texts


def file_heading(message: Json) -> str | None:
    match message["type"]:
        case "request" | "response":
            return f"api {message['apiKey']} {re.sub(r'(Request|Response)$', '', message['name'])}\n"
        case "coordinator-key" | "coordinator-value":
            return f"record {message['apiKey']}\n"
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("jars", nargs="+", type=Path, metavar="JAR")
    parser.add_argument("--into", type=Path, default=DEFINITIONS, metavar="FOLDER")
    arguments = parser.parse_args()
    for path, text in definition_files(arguments.jars).items():
        target = arguments.into / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


if __name__ == "__main__":
    main()
