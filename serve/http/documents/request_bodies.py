"""Checks the bodies of requests before they reach a route: JSON, and the forms of our own pages."""

from __future__ import annotations

import json
import math
import re
from typing import Any
from urllib.parse import parse_qsl

from serve.http.documents.problems import RefusedError

JSON_TYPE = "application/json"
FORM_TYPE = "application/x-www-form-urlencoded"
MAX_FORM_FIELDS = 50
# What is larger is checked in a thread: small numbers take five times as long as the way to a thread.
CHECKED_HERE_BYTES = 4_096
MIN_INT, MAX_INT = -(2**63), 2**64 - 1

_UNRECORDABLE = re.compile("[\0\ud800-\udfff]")


def form_fields(body: bytes) -> dict[str, str]:
    """Return the fields of a form, with line ends as line feeds.

    Raises RefusedError for a body that is not UTF-8, or has too many fields, a field twice, or a text that cannot be
    recorded.
    """
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            max_num_fields=MAX_FORM_FIELDS,
            errors="strict",
            strict_parsing=bool(body),
        )
    except ValueError as error:
        raise RefusedError(400, "bad_request", f"the body is no form: {str(error)[:200]}") from error
    fields = {name: value.replace("\r\n", "\n") for name, value in pairs}
    if len(fields) < len(pairs):
        raise RefusedError(400, "bad_request", "a field of the form is given twice")
    check_recordable(fields, "the form")
    return fields


def check_form(body: bytes) -> None:
    """Raise RefusedError unless `body` is a form whose texts can be recorded."""
    form_fields(body)


def check_json(body: bytes, max_depth: int, what: str = "the body") -> None:
    """Raise RefusedError unless `body` is one JSON value in UTF-8 that can be recorded. `what`: its name in the error.

    No duplicate keys, no deep nesting, no U+0000 and no half of a character; numbers are finite, and whole ones have 64
    bits at most.
    """
    try:
        value = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_distinct,
            parse_constant=_no_constant,
            parse_int=_whole_number,
            parse_float=_finite_number,
        )
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, "bad_request", f"{what} is no JSON: {str(error)[:200]}") from error
    if _is_deeper(value, max_depth):
        raise RefusedError(400, "bad_request", f"{what} is nested deeper than {max_depth} levels")
    check_recordable(value, what)


def check_recordable(value: Any, what: str) -> None:
    """Raise RefusedError if a text in plain data holds a character that cannot be recorded."""
    if (found := _unrecordable(value)) is not None:
        raise RefusedError(400, "bad_request", f"a text of {what} holds the character {found}, which none may")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice in one object")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _whole_number(digits: str) -> int:
    # Python refuses to read thousands of digits, with a ValueError, too.
    number = int(digits)
    if not MIN_INT <= number <= MAX_INT:
        raise ValueError(f"a whole number has more than 64 bits: {digits[:40]}")
    return number


def _finite_number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"a number is too large: {digits[:40]}")
    return number


def _is_deeper(value: Any, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        parts = [each for each in level if isinstance(each, dict | list)]
        level = [item for part in parts for item in (part.values() if isinstance(part, dict) else part)]
        if not level:
            return False
    return any(isinstance(each, dict | list) for each in level)


def _unrecordable(value: Any) -> str | None:
    """Return the name of a character that PostgreSQL, the file system or UTF-8 refuses, if a text or key holds one."""
    if isinstance(value, dict):
        return next((found for item in (*value, *value.values()) if (found := _unrecordable(item))), None)
    if isinstance(value, list):
        return next((found for item in value if (found := _unrecordable(item))), None)
    match = _UNRECORDABLE.search(value) if isinstance(value, str) else None
    return None if match is None else f"U+{ord(match[0]):04X}"
