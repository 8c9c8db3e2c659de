"""What passes its work on: a function that hands everything to another one says little, and that one tells the rest.

Read off names, documentation and the calls that were found; pure.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

import msgspec

from actors.capabilities.code_analysis.evidence.call_flow import is_common
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.ranking.relevance import Entity, rank_entities
from runtime.codebase.files.words import index_terms
from runtime.primitives.dotted_names import last_part

# A body that calls one thing and is no longer than this does nothing else worth telling.
SHORT_LINES = 6

_DOING = frozenset({"function", "method", "constructor"})


def ranked_places(question: Question, facts: Sequence[CodeFact]) -> list[Entity]:
    """The places that facts speak of, best first, without functions that are shortcuts of methods."""
    return without_shortcuts(rank_entities(question, facts))


def passed_on(lead: Entity, facts: Sequence[CodeFact]) -> CodeFact | None:
    """The one thing of this repository that a place calls, where it does so under its own name or does little else."""
    names = {lead.name, last_part(lead.name)}
    if lead.kind not in _DOING or not lead.name:
        return None
    called = {
        fact.name: fact
        for fact in facts
        if fact.kind == "callee" and fact.about in names and fact.name != lead.name and not is_common(fact)
    }
    if len(called) != 1:
        return None
    (inner,) = called.values()
    own = frozenset(index_terms(last_part(lead.name)).split())
    is_named_alike = own <= frozenset(index_terms(last_part(inner.name)).split())
    return inner if is_named_alike or _is_short(lead) else None


def _is_short(lead: Entity) -> bool:
    return lead.code is not None and len([line for line in lead.code.text.split("\n") if line.strip()]) <= SHORT_LINES


def without_shortcuts(ranked: Sequence[Entity]) -> list[Entity]:
    """The places in order, each method in the place of the function that only calls it on one object.

    Such a function has the method's name and documentation, belongs to nothing, stands beside it and is shorter.
    """
    methods: dict[str, list[Entity]] = {}
    for entity in ranked:
        if entity.kind == "method":
            methods.setdefault(entity.name.rpartition(".")[2], []).append(entity)
    kept: list[Entity] = []
    taken: set[tuple[str, int, str]] = set()
    for entity in ranked:
        method = next((other for other in methods.get(entity.name, ()) if _is_shortcut_of(entity, other)), entity)
        if (place := (method.citation.file, method.citation.start_line, method.name)) not in taken:
            taken.add(place)
            kept.append(msgspec.structs.replace(method, score=max(method.score, entity.score)))
    return kept


def _is_shortcut_of(entity: Entity, method: Entity) -> bool:
    owner, _, last = method.name.rpartition(".")
    is_alike = entity.kind == "function" and method.kind == "method" and bool(owner) and entity.name == last
    if not is_alike or not entity.docstring or entity.docstring != method.docstring:
        return False
    folders = {posixpath.dirname(one.citation.file) for one in (entity, method)}
    return len(folders) == 1 and _lines(entity) < _lines(method)


def _lines(entity: Entity) -> int:
    return entity.citation.end_line - entity.citation.start_line
