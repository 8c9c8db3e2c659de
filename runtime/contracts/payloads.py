"""Checks what was submitted against the fields that a phase expects, field by field. Pure and total."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from runtime.contracts.contract import FieldRule, FieldType
from runtime.contracts.said_words import words_in

MAX_TEXT_CHARS = 20_000
MAX_PAYLOAD_CHARS = 400_000
MAX_PAYLOAD_VALUES = 50_000
MAX_SHOWN_CHARS = 60
# Characters that take room and show nothing, beside those that Unicode calls format or control characters.
_BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0\u034f\u17b4\u17b5")
_UNSEEN = frozenset({"Cf", "Cc", "Cn", "Co", "Cs"})

_SAID: Mapping[FieldType, str] = {
    "text": "text",
    "texts": "list of texts",
    "bool": "true or false",
    "integer": "whole number",
    "number": "number",
    "object": "object",
    "objects": "list of objects",
    "choice": "one of",
}


def problems_in(payload: object, expected: Mapping[str, FieldRule]) -> list[str]:
    """Return what is wrong with a payload, in the order of the fields; unknown fields are wrong as well."""
    if not isinstance(payload, Mapping):
        return [f"the payload must be an object, not {_kind(payload)}"]
    if (why := _why_unfit(payload)) is not None:
        return [why]
    found = [problem for name, rule in expected.items() for problem in _of_field(name, rule, payload)]
    unknown = sorted(str(name)[:MAX_SHOWN_CHARS] for name in payload if name not in expected)
    if unknown:
        found.append(f"not expected in this phase: {', '.join(unknown[:20])}")
    return found


def is_text(text: str) -> bool:
    """Return whether a text can be stored: halves of characters, as JSON can smuggle in, cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def visible(text: str) -> str:
    """Return a text without what a reader does not see: format characters, blanks that count as letters, blank ends."""
    shown = (char for char in text if char in "\n\t" or not (char in _BLANKS or unicodedata.category(char) in _UNSEEN))
    return "".join(shown).strip()


def says_something(text: str) -> bool:
    """Return whether a text has a letter or a digit that is seen."""
    return any(char.isalnum() for char in visible(text))


def _why_unfit(payload: Mapping[Any, Any]) -> str | None:
    """Return why a payload as a whole cannot be taken: too long, too many values, or texts that are none."""
    waiting: list[Any] = [payload]
    chars = values = 0
    while waiting:
        value = waiting.pop()
        values += 1
        if isinstance(value, Mapping):
            waiting += (*value.keys(), *value.values())
        elif isinstance(value, list):
            waiting += value
        elif isinstance(value, str):
            chars += len(value)
            if not is_text(value):
                return "the payload holds halves of characters (lone surrogates); send valid Unicode"
        if chars > MAX_PAYLOAD_CHARS or values + len(waiting) > MAX_PAYLOAD_VALUES:
            return (
                f"the payload is longer than {MAX_PAYLOAD_CHARS} characters or has more than {MAX_PAYLOAD_VALUES} "
                "values; say it in short"
            )
    return None


def described(expected: Mapping[str, FieldRule]) -> dict[str, Any]:
    """Return the fields as they are told to an agent: name → what must stand there."""
    return {name: _told(rule) for name, rule in expected.items()}


def _told(rule: FieldRule) -> Any:
    words = _SAID[rule.type] if rule.type != "choice" else f"one of {', '.join(rule.choices)}"
    if rule.least > (1 if rule.type == "text" else 0):
        words += f", at least {rule.least}" + (" characters" if rule.type == "text" else "")
    if rule.words > 1:
        words += f", {'each ' if rule.type == 'texts' else ''}of at least {rule.words} words"
    words += "" if rule.required else ", may be left out"
    words += f": {rule.says}" if rule.says else ""
    if not rule.fields:
        return words
    inner = described(rule.fields)
    return {"is": words, "of": inner}


def _of_field(name: str, rule: FieldRule, given: Mapping[Any, Any]) -> Iterator[str]:
    if name not in given or given[name] is None:
        if rule.required:
            yield f"{name}: missing; expected {_plainly(rule)}"
        return
    yield from _of_value(name, rule, given[name])


def _of_value(name: str, rule: FieldRule, value: Any) -> Iterator[str]:
    if not _is_of_type(rule.type, value):
        yield f"{name}: expected {_plainly(rule)}, not {_kind(value)}"
        return
    if rule.type == "text":
        yield from _of_text(name, rule, value)
    elif rule.type == "choice" and value not in rule.choices:
        yield f"{name}: expected one of {', '.join(rule.choices)}, not {_shown(value)}"
    elif rule.type in {"texts", "objects"}:
        yield from _of_list(name, rule, value)
    elif rule.type == "object" and rule.fields:
        yield from _of_object(name, rule, value)
    elif rule.type == "object" and len(value) < rule.least:
        yield f"{name}: {len(value)} fields, at least {rule.least} expected"


def _of_text(name: str, rule: FieldRule, value: str) -> Iterator[str]:
    least = max(rule.least, 1 if rule.required else 0)
    if (seen := len(visible(value))) < least:
        yield f"{name}: {seen} characters, at least {least} expected"
    elif seen:
        yield from _of_words(name, rule, value)
    if len(value) > MAX_TEXT_CHARS:
        yield f"{name}: {len(value)} characters, at most {MAX_TEXT_CHARS} expected"


def _of_words(name: str, rule: FieldRule, value: str) -> Iterator[str]:
    # Of what is too long no words are counted.
    if rule.words and len(value) <= MAX_TEXT_CHARS and (said := words_in(visible(value))) < rule.words:
        least = "a word" if rule.words == 1 else f"{rule.words} different words"
        yield f"{name}: {_shown(value)} has {said} words of two letters or more; {least} expected at least"


def _of_list(name: str, rule: FieldRule, value: list[Any]) -> Iterator[str]:
    if not rule.least <= len(value) <= rule.most:
        bound = f"at least {rule.least}" if len(value) < rule.least else f"at most {rule.most}"
        yield f"{name}: {len(value)} items, {bound} expected"
        return
    for place, item in enumerate(value):
        if rule.type == "texts":
            if not isinstance(item, str) or not visible(item):
                yield f"{name}[{place}]: expected text, not {_kind(item) if not isinstance(item, str) else 'nothing'}"
            elif len(item) > MAX_TEXT_CHARS:
                yield f"{name}[{place}]: {len(item)} characters, at most {MAX_TEXT_CHARS} expected"
            else:
                yield from _of_words(f"{name}[{place}]", rule, item)
        elif not isinstance(item, Mapping):
            yield f"{name}[{place}]: expected an object, not {_kind(item)}"
        elif rule.fields:
            yield from _of_object(f"{name}[{place}]", rule, item)


def _of_object(name: str, rule: FieldRule, value: Mapping[Any, Any]) -> Iterator[str]:
    for field, inner in rule.fields.items():
        for problem in _of_field(field, inner, value):
            yield f"{name}.{problem}"
    unknown = sorted(str(key)[:MAX_SHOWN_CHARS] for key in value if key not in rule.fields)
    if unknown:
        yield f"{name}: not expected: {', '.join(unknown[:20])}"


def _is_of_type(wanted: FieldType, value: Any) -> bool:
    if wanted == "bool":
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if wanted in {"text", "choice"}:
        return isinstance(value, str)
    if wanted == "integer":
        return isinstance(value, int)
    if wanted == "number":
        return isinstance(value, int | float) and value == value and abs(value) != float("inf")
    if wanted == "object":
        return isinstance(value, Mapping)
    return isinstance(value, list)


def _plainly(rule: FieldRule) -> str:
    told = _told(rule)
    return str(told["is"] if isinstance(told, dict) else told)


def _shown(value: str) -> str:
    return f"'{value[:MAX_SHOWN_CHARS]}'"


def _kind(value: object) -> str:
    kinds = {bool: "true or false", str: "text", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return "nothing" if value is None else kinds.get(type(value), type(value).__name__)
