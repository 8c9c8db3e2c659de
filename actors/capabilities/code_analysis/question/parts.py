"""Questions of several parts: «How does it work, who calls it and which tests cover it?». Pure text analysis."""

from __future__ import annotations

import re

import msgspec

from runtime.codebase.files.words import query_terms

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
MIN_PART_TERMS = 3
MAX_SEARCHED = 3


def asking_parts(text: str) -> tuple[str, ...]:
    """Return the sentences and clauses of a question that can be searched for by themselves; none if it has but one."""
    parts = [part.strip() for part in _CLAUSE.split(text) if part and len(part.split()) >= MIN_PART_WORDS]
    return tuple(parts) if len(parts) > 1 else ()


def searched_parts(text: str) -> tuple[str, ...]:
    """Return what is searched for besides the whole question: its first clauses, and each later one that asks.

    A clause of fewer than three words that tell something, such as «how do I change that», would find anything.
    """
    clauses = asking_parts(text)
    first, asked = clauses[:MAX_SEARCHED], asked_parts(text)
    later = [part.text for part in asked if len(part.text.split()) >= MIN_PART_WORDS] if len(asked) > 1 else []
    later = [one for one in later if not any(one in clause or clause in one for clause in first)]
    return tuple(part for part in (*first, *later) if len(query_terms(part).counts) >= MIN_PART_TERMS)


class AskedPart(msgspec.Struct, frozen=True):
    """Represents one thing that a question asks; `start` to `end` (exclusive) also hold what is told ahead of it."""

    text: str
    start: int
    end: int

    def has(self, text: str, whole: str) -> bool:
        """Return True if a clause of the whole question begins within this part."""
        return self.start <= whole.find(text) < self.end


# Where one thing that is asked may end: a sentence, or a clause before a word that asks. A relative clause is none:
# «which» and «where» ask behind «and» alone.
_BREAK = re.compile(
    r"(?<=[.?!;])\s++|(?:,\s++|(?<![\s,])\s++)(?:and|but|or)\s++(?=(?:(?:by|for|in|from|to|on|with)\s++)?"
    r"(?:how|what|where|which|who|whose|why|when)\b)"
    r"|,\s++(?:and|but|or)\s++(?=(?:does|do|did|is|are|can|could|will|would|has|have|must|should)\b)"
    r"|,\s++(?=(?:how|what|why)\b)",
    re.IGNORECASE,
)
_AUXILIARY = (
    "is|are|was|were|does|do|did|can|could|will|would|has|have|must|should|may|shall|isn't|aren't|doesn't|don't|can't"
)
# «When a resolver stops answering, how …»: what begins like that asks only ahead of a verb.
_QUESTION = re.compile(
    r"^\W*(?:(?:and|but|or|so|then|also|please|if so|if not)\W+)*"
    r"(?:(?:at|by|for|in|from|to|on|with|up to|under|after|before)\s++)?"
    rf"(?:how|who|whose|whom|what|which|why|explain|describe|show|tell|list|compare|find|name|{_AUXILIARY}"
    rf"|(?:where|when|since when)(?:\s+(?:exactly\s+)?(?:{_AUXILIARY}|and|or)|$|\W*$))\b",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"^\W*(?:(?:and|then|also|please)\W+)*(?:explain|describe|show|tell|list|compare|find|name)\b", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
MAX_READ_CHARS = 4_000
MAX_ASKED = 6


def asked_parts(text: str) -> tuple[AskedPart, ...]:
    """Return what a question asks, in order, at least one; sentences that tell something belong to what follows them.

    A longer text than 4,000 characters is a report, and one part.
    """
    whole = (AskedPart(text, 0, len(text)),)
    if len(text) > MAX_READ_CHARS:
        return whole
    starts = [0, *(found.end() for found in _BREAK.finditer(text))]
    ends = [*(found.start() for found in _BREAK.finditer(text)), len(text)]
    parts: list[AskedPart] = []
    begin = 0
    for start, end in zip(starts, ends, strict=True):
        clause = text[start:end].strip()
        ended = _SENTENCE_END.search(text, max(start, end - 1))
        is_told = ended is not None and ended.group() == "."
        asks = clause.endswith("?") or _ORDER.match(clause) or (_QUESTION.match(clause) and not is_told)
        if not clause or not asks:
            continue
        parts.append(AskedPart(clause.rstrip(" ,;"), begin, len(text)))
        if len(parts) > 1:
            parts[-2] = msgspec.structs.replace(parts[-2], end=begin)
        begin = end
    return tuple(parts) if 1 < len(parts) <= MAX_ASKED else whole
