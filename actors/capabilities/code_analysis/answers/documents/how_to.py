"""What the documentation says of how a thing is done: the part of it that speaks of all that is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from actors.capabilities.code_analysis.answers.wording import MAX_QUOTE_CHARS, excerpt
from actors.capabilities.code_analysis.evidence.claims import Claim, code_span
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.analysis import Question
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.words import index_terms

MAX_GUIDES, READ_GUIDES, GUIDE_LINES = 6, 2, 40
MAX_SHOWN_LINES = 12
MIN_TERMS = 2
MIN_SHARE = 0.75


def guide_of(question: Question, facts: Sequence[CodeFact]) -> CodeFact | None:
    """The part of a document that has most of the question's words; None where none has nearly all of them."""
    read = [f for f in facts if f.kind == "code" and "guidance" in f.purposes and _is_document(f)]
    best = max(read, key=lambda fact: _share(question, fact), default=None)
    if best is None or len(question.terms) < MIN_TERMS or _share(question, best) < MIN_SHARE:
        return None
    return best


def guidance(question: Question, facts: Sequence[CodeFact]) -> list[Claim]:
    """What that part says, quoted; empty where there is none."""
    guide = guide_of(question, facts)
    if guide is None:
        return []
    lines = guide.text.split("\n")
    start, end = _shown(question, lines)
    first = guide.citation.start_line
    quote = next((line.strip() for line in lines[start:end] if line.strip()), "")[:MAX_QUOTE_CHARS]
    place = {"start_line": first + start, "end_line": first + end - 1, "quote": quote}
    citation = msgspec.structs.replace(guide.citation, **place)
    return [Claim("module", f"{code_span(citation.file)} says:", (citation,), code="\n".join(lines[start:end]))]


def _shown(question: Question, lines: Sequence[str]) -> tuple[int, int]:
    """The lines [start, end) below a heading that names the thing; else those that have most of the words."""
    things = [term for term in question.terms if term not in question.deed_terms]
    if not set(things).intersection(index_terms(lines[0]).split()):
        return excerpt(lines, question.terms, limit=MAX_SHOWN_LINES)
    filled = [number for number, line in enumerate(lines) if number and re.search(r"\w", line)]
    start = filled[0] if filled else 0
    last = [number for number in filled if number < start + MAX_SHOWN_LINES]
    return start, (last[-1] if last else start) + 1


def _is_document(fact: CodeFact) -> bool:
    return kind_of_path(fact.citation.file) == "docs" and not fact.is_test


def _share(question: Question, fact: CodeFact) -> float:
    """Share of the question's words that the part has."""
    known = set(index_terms(fact.text).split())
    return sum(term in known for term in question.terms) / len(question.terms)
