"""Which found places answer the question: facts merged into entities, and entities put in order.

A place gains from every search that found it (reciprocal rank), from names and words that it shares with the question,
and from being code that does something rather than a test of it, unless tests were asked for. Pure and deterministic.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from actors.capabilities.code_analysis.facts import Fact
from actors.capabilities.code_analysis.question import Question
from runtime.codebase.tokens import index_terms
from runtime.tools.result import Citation

RANK_OFFSET = 2
NAMED_BONUS = 4.0
TEST_PENALTY = 0.35
DOC_PENALTY = 0.6


class Entity(msgspec.Struct, frozen=True):
    """One place worth speaking of: what it is, how well it fits, and its code when it was read."""

    name: str
    kind: str
    citation: Citation
    signature: str
    docstring: str
    score: float
    steps: tuple[str, ...]
    is_test: bool
    code: Fact | None = None

    def as_document(self) -> dict[str, object]:
        """What a later stage is shown of it."""
        return {
            "name": self.name,
            "kind": self.kind,
            "file": self.citation.file,
            "start_line": self.citation.start_line,
            "end_line": self.citation.end_line,
            "score": round(self.score, 3),
        }


def rank_entities(question: Question, facts: Sequence[Fact]) -> list[Entity]:
    """The places that facts speak of, best first; each place once."""
    groups: dict[tuple[str, int], list[Fact]] = {}
    for fact in facts:
        if fact.kind in {"definition", "excerpt"}:
            groups.setdefault((fact.citation.file, fact.citation.start_line), []).append(fact)
    codes = [fact for fact in facts if fact.kind == "code"]
    terms = _weights(question, [member for members in groups.values() for member in members])
    entities = [_entity(question, members, codes, terms) for members in groups.values()]
    return sorted(entities, key=lambda entity: (-entity.score, entity.citation.file, entity.citation.start_line))


def coverage(question: Question, entities: Sequence[Entity], facts: Sequence[Fact]) -> float:
    """Share of the question's words and names that the best places mention, 0 to 1; 1 when there is none to mention."""
    wanted = set(question.terms) | {name.lower() for name in question.identifiers}
    if not wanted:
        return 1.0 if facts else 0.0
    text = " ".join(_text_of(entity) for entity in entities[:5])
    present = set(text.lower().split()) | set(index_terms(text).split())
    return len(wanted & present) / len(wanted)


def _entity(question: Question, members: list[Fact], codes: list[Fact], terms: dict[str, float]) -> Entity:
    best = max(members, key=lambda fact: (fact.kind == "definition", bool(fact.docstring), fact.score))
    by_step = {fact.step: fact.score for fact in sorted(members, key=lambda fact: fact.score)}
    found = sum(score for score in by_step.values())
    words = set(index_terms(f"{best.name} {best.docstring} {best.signature} {best.citation.file}").split())
    shared = sum(weight for term, weight in terms.items() if term in words)
    score = found + shared + (NAMED_BONUS if _is_named(best.name, question.identifiers) else 0.0)
    if best.is_test and "test" not in question.terms:
        score *= TEST_PENALTY
    if best.symbol_kind == "section":
        score *= DOC_PENALTY
    return Entity(
        name=best.name,
        kind=best.symbol_kind,
        citation=best.citation,
        signature=best.signature,
        docstring=best.docstring,
        score=score,
        steps=tuple(by_step),
        is_test=best.is_test,
        code=_code_of(best.citation, codes),
    )


def _is_named(name: str, identifiers: Iterable[str]) -> bool:
    """True when the question names it, whole (`Class.method`) or by its last part."""
    last = name.rsplit(".", 1)[-1]
    return any(wanted == name or name.endswith(f".{wanted}") or wanted == last for wanted in identifiers)


def _weights(question: Question, facts: list[Fact]) -> dict[str, float]:
    """Words of the question → weight: rare among the found places counts more."""
    documents = [set(index_terms(f"{fact.name} {fact.docstring} {fact.citation.file}").split()) for fact in facts]
    count = Counter(term for words in documents for term in words)
    total = max(1, len(documents))
    return {term: 0.25 * math.log(1 + total / (1 + count[term])) for term in question.terms}


def _code_of(citation: Citation, codes: list[Fact]) -> Fact | None:
    """The code that was read of a place: a read that begins within its lines."""
    for code in codes:
        read = code.citation
        if read.file == citation.file and citation.start_line <= read.start_line <= citation.end_line:
            return code
    return None


def _text_of(entity: Entity) -> str:
    code = entity.code.text if entity.code else ""
    return f"{entity.name} {entity.signature} {entity.docstring} {entity.citation.quote} {entity.citation.file} {code}"
