"""Resolves follow-up questions of a session: «and who calls it?», «what does the first caller do?».

References are resolved against the entity graph of the session; a question with a name of its own is left unchanged.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from actors.capabilities.code_analysis.question.analysis import Question, analyse
from actors.capabilities.code_analysis.question.kinds import kind_of
from actors.capabilities.code_analysis.session.entity_graph import EntityGraph, Relation
from actors.capabilities.code_analysis.session.remembered import SessionTurn

_ORDINALS = {"first": 0, "only": 0, "second": 1, "third": 2, "fourth": 3, "last": -1}
_RELATIONS: dict[str, Relation] = {
    "caller": "called_by",
    "user": "called_by",
    "callee": "calls",
    "test": "tested_by",
    "file": "defined_in",
    "module": "defined_in",
    "importer": "imported_by",
}
_RELATED = re.compile(
    rf"\b(?:its|the|their|that)\s+(?:(?P<which>{'|'.join(_ORDINALS)})\s+)?(?P<what>{'|'.join(_RELATIONS)})\b",
    re.IGNORECASE,
)
_ELLIPSIS = re.compile(
    r"^\W*(?:and|what about|how about|same for|now)\s+(?:for\s+|of\s+)?(?P<rest>[\w.`/:]++)\s*+\??\s*+$", re.IGNORECASE
)
_PLURAL = re.compile(r"\b(?:they|them|their|both|these|those)\b", re.IGNORECASE)
_PRONOUNS = frozenset({"it", "its", "that", "this", "they", "them", "both", "these", "those"})


def in_context(question: Question, turns: Sequence[SessionTurn], graph: EntityGraph) -> Question:
    """Return the question with its references resolved; unchanged when it refers to nothing the session knows."""
    if not turns and not graph.focus:
        return question
    if (kind_of_last := _elliptical(question, turns)) is not None:
        return kind_of_last
    if (neighbour := _neighbour(question, graph)) is not None:
        return _about(question, (neighbour,), neighbour)
    if not question.refers_back:
        return question
    names = _referents(question, turns, graph)
    return _about(question, names, names[0]) if names else question


def _elliptical(question: Question, turns: Sequence[SessionTurn]) -> Question | None:
    """Apply the previous question to another subject: «And `Mount`?»."""
    found = _ELLIPSIS.match(question.text)
    if found is None or not turns or found["rest"].lower() in _PRONOUNS:
        return None
    earlier = [turn.question for turn in reversed(turns)]
    asked_before = next((text for text in earlier if _ELLIPSIS.match(text) is None), earlier[0])
    kind = kind_of(analyse(asked_before))
    rest = found["rest"].strip("`?.")
    asked = analyse(f"`{rest}`" if "/" not in rest else rest)
    aspects = kind.aspects[:1] if asked.paths and kind.of_files else kind.aspects
    return msgspec.structs.replace(asked, text=question.text, kind=kind.name, aspects=aspects, subject=rest)


def _neighbour(question: Question, graph: EntityGraph) -> str | None:
    """Return the entity in the named relation to the session's first subject; None when there is none."""
    found = _RELATED.search(question.text)
    if found is None or question.identifiers or question.paths or not graph.focus:
        return None
    which = (found["which"] or "").lower()
    # «What are its tests?» asks for all of them; «what does its test do?» speaks of one.
    if not which and kind_of(question).asks_for_related:
        return None
    known = graph.related(graph.focus[0], _RELATIONS[found["what"].lower()])
    place = _ORDINALS.get(which, 0)
    return known[place] if -len(known) <= place < len(known) else None


def _referents(question: Question, turns: Sequence[SessionTurn], graph: EntityGraph) -> tuple[str, ...]:
    """Return the names that «it» or «they» refer to: the last subject of the session, or all of them."""
    if not graph.focus and turns and turns[-1].symbols:
        return turns[-1].symbols[:2]
    names = graph.focus
    if not names:
        asked = [analyse(turn.question) for turn in reversed(turns)]
        names = next((each.identifiers or each.paths for each in asked if each.identifiers or each.paths), ())
    return names if kind_of(question).names_each or _PLURAL.search(question.text) else names[:1]


def _about(question: Question, names: Sequence[str], subject: str) -> Question:
    """Replace the referring words of a question by names."""
    paths = tuple(name for name in names if analyse(name).paths == (name,))
    identifiers = tuple(name for name in names if name not in paths)
    of_names = analyse(" ".join(f"`{name}`" for name in names)).terms
    kind = kind_of(question)
    aspects = kind.aspects
    if kind.of_files and paths and not identifiers:
        aspects = aspects[:1]
    return msgspec.structs.replace(
        question, identifiers=identifiers, paths=paths, terms=of_names, subject=subject, aspects=aspects
    )
