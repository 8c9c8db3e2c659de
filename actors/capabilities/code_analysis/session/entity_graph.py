"""The entity graph of a session: files and symbols that its answers spoke of, and how evidence showed them related.

Later questions are resolved in it: «its tests», «the first caller». It holds what checked citations backed and nothing
else, is bounded, forgets what was touched longest ago, and is only ever a hint where to look: answers cite anew. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from actors.capabilities.code_analysis.evidence.claims import Claim

MAX_ENTITIES = 200
MAX_EDGES = 400
MAX_NAME_CHARS = 300

Relation = Literal["calls", "called_by", "tested_by", "changes_with", "defined_in", "imported_by"]


class Node(msgspec.Struct, frozen=True):
    """A symbol, or a file when `file` is its own name."""

    name: str
    file: str


class Edge(msgspec.Struct, frozen=True):
    """`source` stands in that relation to `target`; both are names."""

    source: str
    relation: Relation
    target: str


class EntityGraph(msgspec.Struct, frozen=True):
    """Entities and relations, the newest last; `focus`: what the last answer with a subject was about, best first."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    focus: tuple[str, ...] = ()

    def related(self, name: str, relation: Relation) -> list[str]:
        """The names that stand in a relation to one, in the order in which answers told them."""
        return [edge.target for edge in self.edges if edge.source == name and edge.relation == relation]


def grown(graph: EntityGraph, claims: Sequence[Claim], fallback: Sequence[str] = ()) -> EntityGraph:
    """The graph with what the checked claims of an answer showed; `fallback`: what the question named."""
    primary_claims = [claim for claim in claims if claim.role == "lead" and claim.subject and claim.citations]
    focus = tuple(dict.fromkeys(_short(claim.subject) for claim in primary_claims)) or tuple(map(_short, fallback))
    nodes = [Node(_short(c.subject), c.citations[0].file) for c in claims if c.subject and c.citations]
    edges = [edge for claim in claims for edge in _edges(claim, focus[0] if focus else "")]
    return bounded(
        EntityGraph((*graph.nodes, *nodes), (*graph.edges, *edges), focus or graph.focus),
    )


def bounded(graph: EntityGraph) -> EntityGraph:
    """The graph within its limits, each entity and relation once; the newest stay."""
    return EntityGraph(
        _newest(graph.nodes, MAX_ENTITIES),
        # A relation keeps its first place: «the second caller» is the second that was told.
        tuple(dict.fromkeys(graph.edges))[-MAX_EDGES:],
        tuple(dict.fromkeys(graph.focus))[:3],
    )


def _edges(claim: Claim, about: str) -> Iterable[Edge]:
    subject = _short(claim.subject)
    if claim.role == "step" and claim.source and subject:
        yield Edge(_short(claim.source), "calls", subject)
        yield Edge(subject, "called_by", _short(claim.source))
    if not about:
        return
    relations: dict[str, Relation] = {"caller": "called_by", "test": "tested_by", "together": "changes_with"}
    relation = relations.get(claim.role)
    other = subject or (claim.citations[0].file if claim.citations else "")
    if relation is not None and other and other != about:
        yield Edge(about, relation, other)
    if claim.role == "importer" and claim.citations:
        yield Edge(about, "imported_by", claim.citations[0].file)
    if claim.role == "lead" and subject and claim.citations:
        yield Edge(subject, "defined_in", claim.citations[0].file)


def _newest(nodes: Sequence[Node], limit: int) -> tuple[Node, ...]:
    last = list(dict.fromkeys(reversed(nodes)))
    return tuple(reversed(last[:limit]))


def _short(name: str) -> str:
    return name[:MAX_NAME_CHARS]
