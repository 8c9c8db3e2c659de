"""Writes plain values as compact YAML for a language model: few tokens, same bytes for the same value.

Any text stays data: hidden characters become visible escapes, and what YAML would read as syntax, number or date is
quoted. Code is a literal block, with its tabs and indentation. A YAML parser gives back what was written.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from runtime.primitives.visible_text import visible, visible_line

# YAML parsers refuse longer keys.
MAX_KEY_CHARS = 200

_UNSAFE_PLAIN = re.compile(r"\A[-?:,\[\]{}#&*!|>'\"%@`=<.~\s]|: | #|:\Z|\s\Z|\t")
_UNSAFE_FLOW = re.compile(r"[,\[\]{}:?]")
_RESOLVERS = yaml.SafeLoader.yaml_implicit_resolvers
_MAX_FLOW_CHARS = 200


def cleaned(value: Any) -> Any:
    """Return a value as it is written: texts and keys with visible characters, empty parts left out."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        made: dict[str, Any] = {}
        for key, item in value.items():
            if not is_empty(shown := cleaned(item)):
                made[_free_key(_key(str(key)), made)] = shown
        return made
    if isinstance(value, Sequence):
        return [shown for item in value if not is_empty(shown := cleaned(item))]
    return value


def is_empty(value: Any) -> bool:
    """Return whether there is nothing to write: None, or a text or collection without content."""
    return value is None or (isinstance(value, str | Mapping | Sequence) and not value)


def compact_yaml(value: Mapping[str, Any]) -> str:
    """Return a mapping of plain values as YAML, in its own order, without its empty parts."""
    return "".join(f"{line}\n" for line in _mapping_lines(cleaned(value), ""))


def _mapping_lines(mapping: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key, value in mapping.items():
        name = f"{indent}{_scalar(key, in_flow=False)}:"
        if isinstance(value, Mapping):
            yield name
            yield from _mapping_lines(value, f"{indent}  ")
        elif isinstance(value, list):
            yield name
            yield from _sequence_lines(value, indent)
        else:
            yield from _text_lines(name, value, f"{indent}  ")


def _sequence_lines(items: Sequence[Any], indent: str) -> Iterator[str]:
    for item in items:
        if isinstance(item, Mapping | list) and (flow := _flow(item)) is not None:
            yield f"{indent}- {flow}"
        elif isinstance(item, Mapping):
            first, *rest = _mapping_lines(item, f"{indent}  ")
            yield f"{indent}- {first[len(indent) + 2 :]}"
            yield from rest
        elif isinstance(item, list):
            yield f"{indent}-"
            yield from _sequence_lines(item, f"{indent}  ")
        else:
            yield from _text_lines(f"{indent}-", item, f"{indent}  ")


def _text_lines(start: str, value: Any, indent: str) -> Iterator[str]:
    """Yield a scalar after its key or dash; a text of several lines as a literal block."""
    if not isinstance(value, str) or "\n" not in value:
        yield f"{start} {_scalar(value, in_flow=False)}"
        return
    body = value.rstrip("\n")
    if not body.strip():
        yield f"{start} {json.dumps(value, ensure_ascii=False)}"
        return
    ends = len(value) - len(body)
    # The first line would be taken for the indentation of the block.
    size = "2" if value[0] in " \n\t" else ""
    yield f"{start} |{size}{('-', '', '+')[min(ends, 2)]}"
    yield from (f"{indent}{line}" if line else "" for line in body.split("\n"))
    yield from [""] * (ends - 1)


def _flow(value: Mapping[str, Any] | list[Any]) -> str | None:
    """Return a short mapping or list of one-line scalars in braces or brackets, None for any other."""
    items = list(value.values()) if isinstance(value, Mapping) else value
    if any(isinstance(item, Mapping | list) or (isinstance(item, str) and "\n" in item) for item in items):
        return None
    scalars = [_scalar(item, in_flow=True) for item in items]
    if isinstance(value, Mapping):
        pairs = zip(value, scalars, strict=True)
        line = "{" + ", ".join(f"{_scalar(key, in_flow=True)}: {scalar}" for key, scalar in pairs) + "}"
    else:
        line = "[" + ", ".join(scalars) + "]"
    return line if len(line) <= _MAX_FLOW_CHARS else None


def _scalar(value: Any, in_flow: bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        # Without the point, YAML reads 1e+16 as a text.
        text = repr(value)
        return text if "e" not in text or "." in text else text.replace("e", ".0e")
    if not isinstance(value, str):
        return str(value)
    if _is_plain(value) and not (in_flow and _UNSAFE_FLOW.search(value)):
        return value
    if "\n" in value:
        return json.dumps(value, ensure_ascii=False)
    return "'" + value.replace("'", "''") + "'"


def _is_plain(text: str) -> bool:
    """Return whether YAML reads an unquoted text as just this text."""
    if not text or "\n" in text or _UNSAFE_PLAIN.search(text):
        return False
    resolvers = (*_RESOLVERS.get(text[0], ()), *_RESOLVERS.get(None, ()))
    return not any(pattern.match(text) for _, pattern in resolvers)


def _key(text: str) -> str:
    line = visible_line(text)
    if len(line) <= MAX_KEY_CHARS:
        return line
    return f"{line[:MAX_KEY_CHARS]}…{hashlib.sha256(line.encode()).hexdigest()[:8]}"


def _free_key(key: str, taken: Mapping[str, Any]) -> str:
    """Return the key, with a number if another key reads the same once its hidden characters are visible."""
    number = 2
    free = key
    while free in taken:
        free = f"{key} ({number})"
        number += 1
    return free
