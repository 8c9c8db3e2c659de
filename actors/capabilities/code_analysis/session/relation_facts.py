"""Derives relations between symbols and files from the facts of a pass. Pure.

A relation is derived from a fact alone, never from an agent's text, and only when each end has exactly one candidate
definition. An ambiguous name gives none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from actors.capabilities.code_analysis.evidence.call_flow import COMMON_METHODS
from actors.capabilities.code_analysis.evidence.facts import CodeFact, FactKind, ProducedRange
from runtime.codebase.knowledge.relation import Relation, RelationKind, bare_name

_KIND_OF_USE: dict[FactKind, RelationKind] = {
    "caller": "calls",
    "reference": "uses",
    "importer": "imports",
    "test": "tests",
}


def relations_of(facts: Sequence[CodeFact], ranges: Sequence[ProducedRange]) -> list[Relation]:
    """Return the relations in facts, each once, in order; `ranges` come from the same tool calls."""
    hash_of = {produced.file: produced.content_sha256 for produced in ranges if produced.content_sha256}
    found = _Found(facts, hash_of)
    return list(dict.fromkeys(relation for fact in facts for relation in found.of(fact)))


class _Found:
    """Indexes the definitions among facts by the last part of their names, with the hashes of their files."""

    def __init__(self, facts: Sequence[CodeFact], hash_of: Mapping[str, str]) -> None:
        self._hash_of = hash_of
        self._places: dict[str, set[tuple[str, str]]] = {}
        for fact in facts:
            if fact.kind in {"definition", "callee", "trace"} and fact.name:
                self._places.setdefault(bare_name(fact.name), set()).add((fact.name, fact.citation.file))

    def of(self, fact: CodeFact) -> Iterator[Relation]:
        """Yield the relations that one fact shows."""
        if fact.kind in {"callee", "trace"}:
            yield from self._call(fact)
        elif fact.kind == "together":
            yield from self._made("changes_with", fact, fact.name, (fact.about, fact.about))
        elif fact.kind == "definition" and fact.name:
            yield from self._made("defined_in", fact, fact.name, (fact.citation.file, fact.citation.file))
        elif (kind := _KIND_OF_USE.get(fact.kind)) is not None and (target := self._only(fact.about)) is not None:
            yield from self._made(kind, fact, fact.name or fact.citation.file, target)

    def _call(self, fact: CodeFact) -> Iterator[Relation]:
        """Yield the relation of a call: its line is in the caller's file, and the citation is of the callee."""
        caller = self._only(fact.about)
        if caller is None or not fact.at_line or not fact.name:
            return
        if bare_name(fact.name) in COMMON_METHODS:
            return
        if sha256 := self._hash_of.get(caller[1]):
            yield Relation(*caller, "calls", fact.name, fact.citation.file, fact.at_line, fact.at_line, sha256)

    def _made(self, kind: RelationKind, fact: CodeFact, source: str, target: tuple[str, str]) -> Iterator[Relation]:
        cited = fact.citation
        sha256 = self._hash_of.get(cited.file)
        if sha256 and target[0] and (source, cited.file) != target:
            yield Relation(source, cited.file, kind, *target, cited.start_line, cited.end_line, sha256)

    def _only(self, name: str) -> tuple[str, str] | None:
        """Return the only definition or file that a name can mean; None for an ambiguous or unknown name."""
        if name in self._hash_of:
            return (name, name)
        if not name:
            return None
        named = self._places.get(bare_name(name), set())
        exact = {place for place in named if place[0] == name or place[0].endswith(f".{name}")}
        return next(iter(exact)) if len(exact) == 1 else None
