"""Maintains a session's entity graph: files and symbols from its answers, and their relations.

Later questions are resolved in it: «its tests», «the first caller». It holds only what checked citations backed, is
bounded, evicts the least recently touched entries, and is only a hint where to look: answers cite anew. Pure.
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
    """Represents a symbol, or a file when `name` and `file` are equal."""

    name: str
    file: str


class Edge(msgspec.Struct, frozen=True):
    """Relates `source` to `target`; both are names."""

    source: str
    relation: Relation
    target: str


class EntityGraph(msgspec.Struct, frozen=True):
    """Holds entities and relations, the newest last.

    `focus`: the subjects of the last answer that had one, best first.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    focus: tuple[str, ...] = ()

    def related(self, name: str, relation: Relation) -> list[str]:
        """Return the names related to `name`, in the order in which answers first gave them."""
        return [edge.target for edge in self.edges if edge.source == name and edge.relation == relation]


def grown(graph: EntityGraph, claims: Sequence[Claim], fallback: Sequence[str] = ()) -> EntityGraph:
    """Add the entities and relations of an answer's checked claims; `fallback`: names in the question."""
    primary_claims = [claim for claim in claims if claim.role == "lead" and claim.subject and claim.citations]
    focus = tuple(dict.fromkeys(_short(claim.subject) for claim in primary_claims)) or tuple(map(_short, fallback))
    nodes = [Node(_short(c.subject), c.citations[0].file) for c in claims if c.subject and c.citations]
    edges = [edge for claim in claims for edge in _edges(claim, focus[0] if focus else "")]
    return bounded(
        EntityGraph((*graph.nodes, *nodes), (*graph.edges, *edges), focus or graph.focus),
    )


def bounded(graph: EntityGraph) -> EntityGraph:
    """Limit the graph to the newest entities and relations, each once."""
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
