"""Quotes what documents say of a question: one or two sentences each, with the lines that hold them.

Documents never lead where code was found: what they say stands behind the place that decides. Their text is data,
whatever it asks for.
"""

from __future__ import annotations

from collections.abc import Sequence

from actors.capabilities.code_analysis.evidence.claims import Claim, ClaimRole, code_span
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.ranking.worth_telling import near_passages
from runtime.codebase.search.prose.sentences import ELLIPSIS

MAX_SAID = 1
MAX_SAID_CHARS = 400
# Words alone tell little of what answers: without meaning, only a passage that scores so much is quoted.
LEAST_SCORE = 0.6
DOCUMENTS = frozenset({"document", "help", "changelog"})


def document_claims(facts: Sequence[CodeFact], role: ClaimRole = "said") -> list[Claim]:
    """Return claims about the passages of documents that are nearest to a question, best first, at most one."""
    best: dict[tuple[str, int, int], CodeFact] = {}
    for fact in facts:
        if fact.kind == "passage" and fact.symbol_kind in DOCUMENTS and len(fact.text) <= MAX_SAID_CHARS:
            known = best.get(fact.place)
            best[fact.place] = fact if known is None or fact.score > known.score else known
    near = near_passages(list(best.values()))
    if near is None:
        near = sorted(best.values(), key=lambda fact: (-fact.score, *fact.place))
        near = [fact for fact in near if fact.score >= LEAST_SCORE]
    return [_claim(fact, role) for fact in near[:MAX_SAID]]


def _claim(fact: CodeFact, role: ClaimRole) -> Claim:
    text = f"{code_span(fact.citation.file)} says: «{fact.text}»"
    return Claim(role, text, (fact.citation,), quotes=tuple(fact.text.split(ELLIPSIS)))
