"""Finds the branch that answers a question such as «what happens when a view returns None?».

The words of such a question that are too common to search for («returns», «None», «empty») select the branch. A branch
is a line that decides or fails, with the lines that it governs and the comment above it. Pure functions.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from runtime.codebase.files.source_text import indent_of
from runtime.codebase.files.words import split_identifier, stem
from runtime.codebase.language_registry import all_words, languages

MAX_BRANCH_LINES = 8
MAX_COMMENT_LINES = 3
STATE_WEIGHT = 1.5
FAILING_BONUS, LEAVING_BONUS = 0.25, 0.1
LEAST_SHARE = 0.5

_ASKED = re.compile(r"^\W*what (?:happens|goes on|is done|does it do)\b(.*)", re.IGNORECASE | re.DOTALL)
_SMALL_WORDS = """
    a an the is are was were be been being of to in on at by for from with without it its this that these those when if
    while after before once where there and or but not no does do did has have had can cannot could will would gets get
    as during happens too very"""
_SMALL = frozenset(_SMALL_WORDS.split())
_WORD = re.compile(r"\w+")

# States as a question expresses them, and as code does.
_STATES: tuple[tuple[str, str], ...] = (
    (r"\b(?:none|null|nil|undefined|nothing)\b", r"\b(?:None|null|nil|undefined|nullptr|NULL|Nothing)\b|\.is_none\("),
    (r"\btrue\b", r"\b[Tt]rue\b"),
    (r"\bfalse\b", r"\b[Ff]alse\b"),
    (
        r"\b(?:missing|absent|not (?:found|given|there|set|installed)|does(?: not|n't) exist|no such"
        r"|no \w+ (?:match|fit))",
        r"(?i)missing|not[ _]?found|no such|not exist|required|\babsent\b|KeyError|\bno \w+ (?:was )?found",
    ),
    (
        r"\bempty\b",
        r"(?i)empty|(?:len|length|size|count)\b[^=\n]{0,40}={2,3} ?0\b|== ?(?:\"\"|'')|\bif (?:not|!) ?\w+:?\s*$",
    ),
    (
        r"\b(?:raises?|throws?|thrown|raised|fails?|failed|crash\w*|panics?|errors?|exceptions?)\b",
        r"\b(?:except|catch|rescue|recover|onerror|on_error|Err)\b|(?i:handle\w*(?:error|exception))",
    ),
    (r"\btim(?:es?|ed|ing) ?-?out\b|\btoo (?:long|slow)\b", r"(?i)time[ds]?[ _-]?out|deadline|ETIMEDOUT"),
    (
        r"\btoo (?:large|big|long|many|deep|high)\b|\bexceed|\blimit\b",
        r"(?i)exceed|too[ _]?(?:large|big|long|many|deep)|> ?\w*[._]?(?:max|limit)|\bmax_\w+",
    ),
    (r"\b(?:unknown|unrecogni[sz]ed)\b", r"(?i)unknown|(?:un|not )recogni[sz]ed"),
    (r"\bunexpected\b", r"(?i)unexpected|unknown"),
    (
        r"\b(?:invalid|wrong|malformed|illegal|not (?:valid|safe|allowed))\b",
        r"(?i)invalid|malformed|illegal|\bbad\b|\bnot (?:is_?)?valid|validate|not allowed|unsafe",
    ),
    (r"\b(?:clos\w+|disconnect\w*|broken|lost)\b", r"(?i)clos(?:e|ed|ing)\b|disconnect|broken|\bEOF\b|reset by peer"),
    (r"\b(?:cancel\w*|abort\w*|interrupt\w*)\b", r"(?i)cancel|abort|interrupt"),
    (r"\b(?:twice|duplicate\w*|already)\b", r"(?i)already|duplicate|conflict|\bexists?\b"),
)
_COMPILED = tuple((re.compile(asked, re.IGNORECASE), re.compile(said)) for asked, said in _STATES)

_COMMENT = re.compile(r"\s*(?:#|//|/?\*|--|;)")
_REPORTS_ERROR = r"\b(?:emit|send|handle|log|on)_?\w*[Ee]rror\b"
_LEAVES = re.compile(r"\b(?:return|break|continue|exit)\b")


@dataclass(frozen=True, slots=True)
class Case:
    """Holds the case of a question: stems of its words, and patterns for the states it names as code expresses them."""

    words: frozenset[str]
    states: tuple[re.Pattern[str], ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """Locates lines (inclusive) that match a case by `share`, 0.5 to 1, with a bonus where they fail."""

    start_line: int
    end_line: int
    share: float


@functools.cache
def _decides() -> re.Pattern[str]:
    """Return the pattern of a deciding line, in any language."""
    words = "|".join(sorted(all_words("branch_words") | {"if", "else if"}))
    return re.compile(rf"^\s*(?:\}}\s*)?(?:{words})\b|\bif\b.*[:{{]\s*$")


@functools.cache
def _fails() -> re.Pattern[str]:
    """Return the pattern of failing code, in any language."""
    failures = {pattern for record in languages().values() for pattern in record.failures}
    return re.compile("|".join(sorted(failures | {_REPORTS_ERROR})))


def case_of(question: str) -> Case | None:
    """Return the case whose consequences a question asks for; None for any other question."""
    asked = _ASKED.match(question)
    if asked is None:
        return None
    spoken = [(" ".join(found.group() for found in wanted.finditer(asked.group(1))), s) for wanted, s in _COMPILED]
    states = [(text, said) for text, said in spoken if text]
    of_states = {stem(word.lower()) for text, _ in states for word in _WORD.findall(text)}
    words = {stem(word.lower()) for word in _WORD.findall(asked.group(1)) if word.lower() not in _SMALL}
    kept = frozenset(words - of_states)
    return Case(kept, tuple(said for _, said in states)) if kept or states else None


def branch_for(case: Case, lines: Sequence[str], first_line: int, around: str = "") -> Branch | None:
    """Return the branch of these lines that matches the case best, the first of equals; None below a share of 0.5.

    `first_line` is the number of the first line. Words of `around`, such as a name, count half for every branch.
    """
    known = _stems(around)
    best: Branch | None = None
    for place, line in enumerate(lines):
        if _COMMENT.match(line) or not (_decides().search(line) or _fails().search(line)):
            continue
        end = _end_of(lines, place)
        share = _share(case, lines[_above(lines, place) : end], known)
        if share >= LEAST_SHARE and (best is None or share > best.share):
            best = Branch(first_line + place, first_line + end - 1, share)
    return best


def _above(lines: Sequence[str], place: int) -> int:
    """Return the position at which the comment above a line begins; that of the line itself without a comment."""
    start = place
    while start > 0 and place - start < MAX_COMMENT_LINES and _COMMENT.match(lines[start - 1]):
        start -= 1
    return start


def _end_of(lines: Sequence[str], place: int) -> int:
    """Return the position after the block that a deciding line governs: lines indented more, eight at most in all."""
    depth = indent_of(lines[place])
    end = place + 1
    while end < len(lines) and end - place < MAX_BRANCH_LINES:
        if lines[end].strip() and indent_of(lines[end]) <= depth and not lines[end].strip().startswith((")", "]")):
            break
        end += 1
    while end > place + 1 and not lines[end - 1].strip():
        end -= 1
    return end


def _share(case: Case, lines: Sequence[str], known: frozenset[str]) -> float:
    text = "\n".join(lines)
    words = _stems(text)
    met = [any(said.search(line) for line in lines) for said in case.states]
    if case.states and not any(met):
        return 0.0
    whole = len(case.words) + STATE_WEIGHT * len(case.states)
    covered = len(case.words & words) + 0.5 * len((case.words & known) - words) + STATE_WEIGHT * sum(met)
    bonus = FAILING_BONUS if _fails().search(text) else LEAVING_BONUS if _LEAVES.search(text) else 0.0
    return min(1.0, covered / whole * (1 - FAILING_BONUS) + bonus)


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(part) for word in _WORD.findall(text) for part in (word.lower(), *split_identifier(word)))
