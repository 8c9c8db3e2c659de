"""Questions of several parts: «How does it work, who calls it and which tests cover it?». Pure text analysis."""

from __future__ import annotations

import re

# Where a further part may begin: behind «and», a comma or a mark, before a word that asks.
_PART = re.compile(
    r"(?<!\s)\s*(?:[,;?.]\s*+(?:and\s++|but\s++)?|\s(?:and|but)\s++)"
    r"(?=(?:how|who|what|where|which|why|when|since when|is there|are there|list|show|compare)\b)",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"^\W*(?:please\s+)?(?:how|who|what|where|which|why|when|since|is|are|does|explain|describe|show|tell|list)\b",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(r"\b(?:it|its|they|them|their|this|that|these|those)\b|^\W*\w+\W*$", re.IGNORECASE)


def parts_of(text: str) -> tuple[str, ...]:
    """The parts of a question in order, at least one; a text that is no question of several parts is its own part."""
    parts = [part.strip() for part in _PART.split(text) if part.strip(" ?.!,;")]
    return tuple(parts) if len(parts) > 1 and all(map(_ASKS.match, parts)) else (text,)


def points_back(part: str) -> bool:
    """True for a part that speaks of what a part before it named: «who calls it», «and why»."""
    return _POINTS_BACK.search(part) is not None


# Where a part of a question in words ends: a sentence, or a clause before a word that asks.
_CLAUSE = re.compile(
    r"(?<=[.?!;])\s++|,\s++(?:and|but|or)\s++(?=(?:how|what|where|which|who|why|when|does|do|did|is|are|can|could|will|would"
    r"|has|have|must|should)\b)|(?<!\s)\s++and\s++(?=(?:how|what|where|which|who|why|when)\b)",
    re.IGNORECASE,
)
MIN_PART_WORDS = 4


def asking_parts(text: str) -> tuple[str, ...]:
    """Return the sentences and clauses of a question that can be searched for by themselves; none if it has but one."""
    parts = [part.strip() for part in _CLAUSE.split(text) if part and len(part.split()) >= MIN_PART_WORDS]
    return tuple(parts) if len(parts) > 1 else ()
