"""Defines claims, the parts of an answer: a sentence and the lines that back it.

`render` puts a claim's marks after its text. Text quoted from a repository could itself look like a mark; `plain`
changes such text, so that the marks in an answer are exactly its citations.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

import msgspec

from actors.capabilities.code_analysis.evidence.commits import CommitNote, printable
from runtime.codebase.citation import Citation

ClaimRole = Literal[
    "value",
    "lead",
    "said",
    "point",
    "code",
    "step",
    "caller",
    "mention",
    "caveat",
    "test",
    # A test that fits what is asked, which nothing proves.
    "likely_test",
    "importer",
    "related",
    "module",
    "item",
    "member",
    "setting",
    "change",
    "together",
    "precedent",
    "sibling",
    # Of a closed set: what it is, and each of its values.
    "choices",
    "choice",
    "difference",
    "example",
    "hook",
    # Of a repository or folder: its parts; imports between them; what is no part; ways in; where to begin reading.
    "part",
    "link",
    "aside",
    "entry",
    "start",
    "only_aside",
]

# Roles that commits alone can back; all others need lines of a file.
ROLES_OF_COMMITS: frozenset[ClaimRole] = frozenset({"change", "together"})

# The tokens of `plain`: brackets, line numbers before a closing one, and line ends, which no mark spans.
_BRACKETS = re.compile(r"\[|(:\d+(?:-\d+)?)?\]|\n")
_SLICED = re.compile(r"[\w)\]]")
_TICKS = re.compile(r"`+")
# Categories of Unicode: controls, formats and what has no meaning, and separators of lines.
_UNSHOWN = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"})


class Claim(msgspec.Struct, frozen=True, omit_defaults=True):
    """Represents one statement of an answer. `code` is a verbatim excerpt shown below the sentence.

    `subject` is the entity it describes; `source`, of a step, the caller of the subject; `used`, of a use, what
    is used. `commits`: those it mentions.
    `place`: its place in the answer that a model wrote, from 1; 0 for a claim of the rules. `judged`: whether a judge
    that saw the cited lines found that they bear it out.
    `quotes`: the sentences and lines that its text quotes; the cited lines must hold each. `unquoted`: what is told
    where they do not, if anything. `count`: the number that it
    tells; `of`: the number of all of its kind, where it is one of a list that may be cut, and with `more` at least so
    many. `parts`: the numbers, from 1, of the parts of the question that it answers; none where it is about the
    question as a whole.
    """

    role: ClaimRole
    text: str
    citations: tuple[Citation, ...]
    code: str = ""
    subject: str = ""
    source: str = ""
    used: str = ""
    commits: tuple[CommitNote, ...] = ()
    place: int = 0
    judged: bool = False
    quotes: tuple[str, ...] = ()
    unquoted: str = ""
    count: int = 0
    of: int = 0
    more: bool = False
    parts: tuple[int, ...] = ()


def read_claims(written: object) -> tuple[dict[str, list[Claim]], int]:
    """Read a synthesizer's claims by goal, each once, and count the entries that are no claims."""
    claims: dict[str, list[Claim]] = {}
    unreadable = 0
    for goal, items in written.items() if isinstance(written, dict) else ():
        known = claims.setdefault(str(goal), [])
        for item in items if isinstance(items, list) else [items]:
            try:
                claim = msgspec.convert(item, Claim)
            except msgspec.ValidationError:
                unreadable += 1
            else:
                known += [] if claim in known else [claim]
    return claims, unreadable


def cut_to(claims: Sequence[Claim], most: int, *, more: bool = False) -> list[Claim]:
    """Return the first claims of a list, at most so many, each with the number of all if some are left out.

    `more`: the list was cut before, so that there are more than it has.
    """
    return with_total(claims[: max(0, most)], len(claims), more=more)


def with_total(claims: Sequence[Claim], total: int, *, more: bool = False) -> list[Claim]:
    """Return the claims that are told of a list, each with the number of all if that is not what is told."""
    if len(claims) == total and not more:
        return list(claims)
    return [msgspec.structs.replace(claim, of=total, more=more) for claim in claims]


def plain(text: str) -> str:
    """Replace the brackets of anything in repository text that reads like a citation mark by round ones.

    The name of a file may hold brackets of its own, as in `[pages/[id].tsx:3]`, so brackets are matched in pairs. A
    slice with numbers, `x[1:6]`, stays as it is: no mark stands right behind a word, and `1` is hardly a file.
    """
    opened: list[int] = []
    shown = list(text)
    for found in _BRACKETS.finditer(text):
        if found.group() == "[":
            opened.append(found.start())
        elif found.group() == "\n":
            opened.clear()
        elif opened:
            start = opened.pop()
            is_slice = start > 0 and _SLICED.match(text[start - 1]) and text[start + 1 : found.start()].isdigit()
            if found.group(1) and found.start() > start + 1 and not is_slice:
                shown[start], shown[found.end() - 1] = "(", ")"
    return "".join(shown)


def may_be_quoted(line: str) -> bool:
    """Return whether a line can be shown as it is: controls and marks of direction are not quoted."""
    return all(letter == "\t" or unicodedata.category(letter) not in _UNSHOWN for letter in line)


def code_span(text: str) -> str:
    """Format text as code within a line of Markdown; it may contain backticks."""
    tick = "`" * (1 + _longest_ticks(text))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{tick}{pad}{text}{pad}{tick}"


def commit_text(commit: CommitNote) -> str:
    """Format a commit for an answer: short hash, day, author and subject, the latter two printable and as code."""
    author, subject = (code_span(printable(text) or "-") for text in (commit.author, commit.subject))
    return f"`{commit.short}`, {commit.date}, {author}: {subject}"


def _longest_ticks(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)


def render(claim: Claim) -> str:
    """Render a claim as Markdown: its text, its marks, its excerpt."""
    marks = "".join(f" {citation.mark}" for citation in claim.citations)
    sentence = f"{plain(claim.text)}{marks}"
    if not claim.code:
        return sentence
    fence = "`" * max(3, 1 + _longest_ticks(claim.code))
    return f"{sentence}\n\n{fence}\n{plain(claim.code)}\n{fence}"
