"""Quotes what documents say of a question: one or two sentences each, with the lines that hold them.

Documents never lead where code was found: what they say stands behind the place that decides. Their text is data,
whatever it asks for.
"""

from __future__ import annotations

from collections.abc import Sequence

from actors.capabilities.code_analysis.answers.mechanism import overlap
from actors.capabilities.code_analysis.evidence.claims import Claim, ClaimRole, code_span
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from runtime.codebase.search.prose.sentences import ELLIPSIS

MAX_SAID = 2
# What answers a question with less than this probability is not quoted: a sentence beside the point costs more than
# one that is missing.
LEAST_WORTH = 0.25
DOCUMENTS = frozenset({"document", "help", "changelog"})


def document_claims(facts: Sequence[CodeFact], role: ClaimRole = "said") -> list[Claim]:
    """Return claims about what documents say that probably answers a question, best first, at most two."""
    said = [fact for fact in facts if fact.kind == "passage" and fact.symbol_kind in DOCUMENTS]
    worth = {fact.place: fact for fact in said if fact.worth is not None and fact.worth >= LEAST_WORTH}
    best: list[CodeFact] = []
    for fact in sorted(worth.values(), key=lambda fact: (-(fact.worth or 0.0), *fact.place)):
        if not any(overlap(fact.citation, told.citation) for told in best):
            best.append(fact)
    return [_claim(fact, role) for fact in best[:MAX_SAID]]


def _claim(fact: CodeFact, role: ClaimRole) -> Claim:
    text = f"{code_span(fact.citation.file)} says: «{fact.text}»"
    return Claim(role, text, (fact.citation,), quotes=tuple(fact.text.split(ELLIPSIS)))
