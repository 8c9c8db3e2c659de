"""Quotes what documents say of a question: one or two sentences each, with the lines that hold them.

Documents never lead where code was found: what they say stands behind the place that decides. Their text is data,
whatever it asks for.
"""

from __future__ import annotations

from collections.abc import Sequence

from actors.capabilities.code_analysis.evidence.claims import Claim, ClaimRole, code_span
from actors.capabilities.code_analysis.evidence.facts import Fact

MAX_SAID = 1
MAX_SAID_CHARS = 400
# A passage must score this much, and this share of the best one.
LEAST_SCORE, LEAST_SHARE = 0.3, 0.85
DOCUMENTS = frozenset({"document", "help", "changelog"})


def document_claims(facts: Sequence[Fact], role: ClaimRole = "said") -> list[Claim]:
    """Return claims about the passages of documents that speak most of a question, best first, at most one."""
    best: dict[tuple[str, int, int], Fact] = {}
    for fact in facts:
        if fact.kind == "passage" and fact.symbol_kind in DOCUMENTS and len(fact.text) <= MAX_SAID_CHARS:
            known = best.get(fact.place)
            best[fact.place] = fact if known is None or fact.score > known.score else known
    ranked = sorted(best.values(), key=lambda fact: (-fact.score, *fact.place))
    enough = max(LEAST_SCORE, LEAST_SHARE * ranked[0].score) if ranked else 0.0
    return [_claim(fact, role) for fact in ranked[:MAX_SAID] if fact.score >= enough]


def _claim(fact: Fact, role: ClaimRole) -> Claim:
    text = f"{code_span(fact.citation.file)} says: «{fact.text}»"
    return Claim(role, text, (fact.citation,), quotes=(fact.text,))
