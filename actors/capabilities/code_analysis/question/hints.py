"""Adds what a critic's hint names to a question."""

from __future__ import annotations

import msgspec

from actors.capabilities.code_analysis.question.analysis import Question, analyse


def with_hint(question: Question, hint: str) -> Question:
    """Return the question with the names, paths and terms of a hint after its own; its text stays."""
    hinted = analyse(hint)
    return msgspec.structs.replace(
        question,
        identifiers=tuple(dict.fromkeys((*question.identifiers, *hinted.identifiers))),
        paths=tuple(dict.fromkeys((*question.paths, *hinted.paths))),
        terms=tuple(dict.fromkeys((*question.terms, *hinted.terms))),
    )
