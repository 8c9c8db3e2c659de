"""Tells values that look like secrets: a literal text under a name that stands for one."""

from __future__ import annotations

import re

from runtime.codebase.files.words import split_identifier
from runtime.codebase.resolution.default_values.word_sets import words

LEAST_CHARS = 6

_SECRET = words("password passwd passphrase secret secrets token credential credentials pwd apikey privatekey")
_KEYS = words("api private access signing encryption secret")
_HARMLESS = re.compile(
    r"[\"'](?:[\w.-]*(?:change|your|example|xxx|todo|none|default|placeholder)[\w.-]*|\W*)[\"']", re.I
)


def is_secret(name: str, value: str | None) -> bool:
    """Return whether a value is a literal text that may be a secret, by its name."""
    parts = split_identifier(name)
    named = not _SECRET.isdisjoint(parts) or ("key" in parts and not _KEYS.isdisjoint(parts))
    is_text = value is not None and value[-1:] in {'"', "'", "`"} and len(value) >= LEAST_CHARS + 2
    return named and is_text and _HARMLESS.fullmatch(value or "") is None
