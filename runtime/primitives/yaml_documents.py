"""Parses untrusted YAML safely, and keeps the line of every key for fault messages.

`load_yaml` never builds Python objects from tags and refuses duplicate keys, which YAML parsers drop silently.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from runtime.errors import DocumentFaults
from runtime.primitives.text_files import read_text_file

KeyPath = tuple[str | int, ...]

MAX_DOCUMENT_BYTES = 1_000_000
MAX_DOCUMENT_VALUES = 100_000


class Fault(msgspec.Struct, frozen=True):
    """Describes one fault in a document: its place (`line` from 1, `key` dotted) and the problem."""

    file: str
    line: int | None
    key: str
    problem: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.key}: {self.problem}" if self.key else f"{place}: {self.problem}"


class Document(msgspec.Struct, frozen=True):
    """Holds parsed YAML: `data`, and `lines`: key path → line from 1."""

    file: str
    data: Any
    lines: dict[KeyPath, int]

    def fault(self, path: KeyPath, problem: str) -> Fault:
        """Return a fault at `path`, with the line of the nearest key that exists."""
        line = next((self.lines[path[:n]] for n in range(len(path), -1, -1) if path[:n] in self.lines), None)
        return Fault(self.file, line, dotted(path), problem)


def dotted(path: KeyPath) -> str:
    """Format a key path like `agents[2].routing_rules[0].target`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def raise_faults(faults: Iterable[Fault]) -> None:
    """Raise one DocumentFaults that names every fault, unless there is none."""
    listed = list(faults)
    if listed:
        lines = [str(fault) for fault in listed]
        count = "1 fault" if len(lines) == 1 else f"{len(lines)} faults"
        raise DocumentFaults(f"{count}: " + "; ".join(lines), faults=lines)


def load_yaml(path: Path) -> Document:
    """Load the document in `path`. Raises DocumentFaults when it cannot be read, is not UTF-8, or is not YAML."""
    file = str(path)
    try:
        text = read_text_file(path, MAX_DOCUMENT_BYTES)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise DocumentFaults(f"{file}: cannot be read: {reason}", faults=[f"{file}: {reason}"]) from error
    return parse_yaml(text, file)


def parse_yaml(text: str, file: str) -> Document:
    """Parse the document in `text`; `file` is its name in faults."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = " ".join(str(getattr(error, "problem", None) or error).split())
        fault = Fault(file, mark.line + 1 if mark else None, "", f"not valid YAML: {problem}")
        raise DocumentFaults(f"1 fault: {fault}", faults=[str(fault)]) from error
    except RecursionError as error:
        fault = Fault(file, None, "", "nested too deep")
        raise DocumentFaults(f"1 fault: {fault}", faults=[str(fault)]) from error
    lines: dict[KeyPath, int] = {}
    faults: list[Fault] = []
    data = _build(node, (), lines, faults, file) if node is not None else None
    raise_faults(faults)
    return Document(file, data, lines)


def _build(node: yaml.Node, path: KeyPath, lines: dict[KeyPath, int], faults: list[Fault], file: str) -> Any:
    lines[path] = node.start_mark.line + 1
    if len(lines) > MAX_DOCUMENT_VALUES:
        problem = f"more than {MAX_DOCUMENT_VALUES} values, counting what aliases repeat"
        raise_faults([*faults, Fault(file, lines[path], dotted(path[:1]), problem)])
    if len(path) > 30:
        faults.append(Fault(file, lines[path], dotted(path[:5]), "nested more than 30 levels deep"))
        return None
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value)
            if key in mapping:
                faults.append(Fault(file, key_node.start_mark.line + 1, dotted((*path, key)), "given twice"))
            mapping[key] = _build(value_node, (*path, key), lines, faults, file)
            lines[(*path, key)] = key_node.start_mark.line + 1
        return mapping
    if isinstance(node, yaml.SequenceNode):
        return [_build(item, (*path, index), lines, faults, file) for index, item in enumerate(node.value)]
    try:
        return yaml.constructor.SafeConstructor().construct_object(node)
    except (yaml.YAMLError, ValueError, LookupError, OverflowError) as error:
        faults.append(Fault(file, lines[path], dotted(path), f"not a plain value: {getattr(error, 'problem', error)}"))
        return None


def model_faults(document: Document, error: ValidationError) -> list[Fault]:
    """Convert Pydantic's errors to faults with lines."""
    found = []
    for item in complaints_of(error):
        problem = item["msg"]
        if item["type"] == "extra_forbidden":
            problem = "unknown key"
        elif item["type"] == "missing":
            problem = "required, but missing"
        elif item["type"] in {"tuple_type", "list_type"}:
            problem = f"a list is needed, not {_short(item['input'])}"
        else:
            problem = f"{problem}, not {_short(item['input'])}"
        found.append(document.fault(_path(item), problem))
    return found


def complaints_of(error: ValidationError) -> list[ErrorDetails]:
    """Return Pydantic's errors, except that a list is too short only because items in it are wrong."""
    items = error.errors(include_url=False, include_context=False)
    paths = [_path(item) for item in items]
    return [
        item
        for item, path in zip(items, paths, strict=True)
        if item["type"] != "too_short" or not any(other[: len(path)] == path != other for other in paths)
    ]


def _path(item: ErrorDetails) -> KeyPath:
    return tuple(part for part in item["loc"] if not str(part).startswith("function-"))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def known_keys(model: type[BaseModel]) -> list[str]:
    """Return the keys that a document of this model may have, for messages."""
    return sorted(field.alias or name for name, field in model.model_fields.items())
