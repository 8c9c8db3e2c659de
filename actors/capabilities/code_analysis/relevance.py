"""Which found places answer the question: facts merged into entities, and entities put in order.

A place gains from every search that found it, from names and words that it shares with the question, and from being
code that does something rather than a test of it, unless tests were asked for. Pure and deterministic.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from actors.capabilities.code_analysis.facts import Fact
from actors.capabilities.code_analysis.question import Question
from runtime.codebase.tokens import index_terms
from runtime.tools.result import Citation

NAMED_BONUS = 4.0
OWNER_BONUS = 0.4
OTHER_FINDS, MAX_OTHER_FINDS = 0.25, 3
SHARED_SCALE = 0.6
MIN_BEGINNING = 4
BEGINNING_WEIGHT = 0.7
NAME_WEIGHT, DOC_WEIGHT, PATH_WEIGHT = 1.0, 0.6, 0.4
TEST_FITNESS, SECTION_FITNESS, MODULE_FITNESS, HEAD_FITNESS, DOING_FITNESS = 0.35, 0.6, 0.8, 0.3, 1.15

_DOING = frozenset({"function", "method", "constructor"})


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
    groups: dict[tuple[str, str], list[Fact]] = {}
    for fact in facts:
        if fact.kind in {"definition", "excerpt"}:
            groups.setdefault((fact.citation.file, fact.name or str(fact.citation.start_line)), []).append(fact)
    codes = [fact for fact in facts if fact.kind == "code"]
    entities = [_entity(question, members, codes) for members in groups.values()]
    return sorted(entities, key=lambda entity: (-entity.score, *_place(entity.citation), entity.name))


def coverage(question: Question, entities: Sequence[Entity], facts: Sequence[Fact]) -> float:
    """Share of the question's words and names that the best places mention, 0 to 1; 1 when there is none to mention."""
    if question.kind == "overview":
        return 1.0 if any(fact.kind in {"module", "code"} for fact in facts) else 0.0
    wanted = set(question.terms) | {name.lower() for name in question.identifiers}
    if not wanted:
        return 1.0 if facts else 0.0
    text = " ".join(_text_of(entity) for entity in entities[:5])
    present = set(text.lower().split()) | set(index_terms(text).split())
    return len(wanted & present) / len(wanted)


def shares_name(entity: Entity, question: Question) -> bool:
    """True when the name or the path of a place has a word of the question."""
    known = _words(f"{entity.name} {entity.citation.file}")
    return any(_meets(term, known) for term in question.terms)


def path_shares(entity: Entity, question: Question) -> bool:
    """True when the path of a place has a word of the question."""
    known = _words(entity.citation.file)
    return any(_meets(term, known) for term in question.terms)


def is_named(name: str, identifiers: Iterable[str]) -> bool:
    """True when the question names it, whole (`Class.method`) or by its last part."""
    last = name.rsplit(".", 1)[-1]
    return any(wanted in (name, last) or name.endswith(f".{wanted}") for wanted in identifiers)


def _entity(question: Question, members: list[Fact], codes: list[Fact]) -> Entity:
    best = min(
        members,
        key=lambda fact: (
            fact.kind != "definition",
            -fact.score,
            not fact.docstring,
            *_place(fact.citation),
            fact.symbol_kind,
            fact.signature,
            fact.docstring,
        ),
    )
    first, *others = sorted((fact.score for fact in members), reverse=True)
    score = first + OTHER_FINDS * sum(others[:MAX_OTHER_FINDS]) + _shared(best, question.terms)
    if is_named(best.name, question.identifiers):
        score += NAMED_BONUS
    elif _is_of(best.name, question.capitalised):
        score += OWNER_BONUS
    return Entity(
        name=best.name,
        kind=best.symbol_kind,
        citation=best.citation,
        signature=best.signature,
        docstring=best.docstring,
        score=score * _fitness(best, question),
        steps=tuple(dict.fromkeys(fact.step for fact in members)),
        is_test=best.is_test,
        code=_code_of(best.citation, codes),
    )


def _place(citation: Citation) -> tuple[str, int, int]:
    return (citation.file, citation.start_line, citation.end_line)


def _shared(fact: Fact, terms: Sequence[str]) -> float:
    """Share of the question's words that a place's name, docstring and path have; a name says most."""
    parts = ((fact.name, NAME_WEIGHT), (fact.docstring, DOC_WEIGHT), (fact.citation.file, PATH_WEIGHT))
    words = [(_words(text), weight) for text, weight in parts]
    met = sum(max((weight * _meets(term, known) for known, weight in words), default=0.0) for term in terms)
    return SHARED_SCALE * met / max(1, len(terms))


def _words(text: str) -> frozenset[str]:
    return frozenset(index_terms(text).split())


def _meets(term: str, known: frozenset[str]) -> float:
    """1 when the word is there, less when only a beginning of it is: `auth` stands for `authentication`."""
    if term in known:
        return 1.0
    begun = any(len(word) >= MIN_BEGINNING and (term.startswith(word) or word.startswith(term)) for word in known)
    return BEGINNING_WEIGHT if begun and len(term) >= MIN_BEGINNING else 0.0


def _fitness(fact: Fact, question: Question) -> float:
    """Below 1 for what seldom is the answer: a test nobody asked for, a heading, the imports at the head of a file."""
    if fact.is_test and "test" not in question.terms:
        return TEST_FITNESS
    if fact.symbol_kind == "section":
        return SECTION_FITNESS
    if fact.symbol_kind == "module":
        return MODULE_FITNESS
    if not fact.name and fact.citation.start_line == 1 and not fact.docstring:
        return HEAD_FITNESS
    if question.kind in {"how", "what_happens"} and fact.symbol_kind in _DOING:
        return DOING_FITNESS
    return 1.0


def _is_of(name: str, capitalised: Iterable[str]) -> bool:
    """True for a class that is spoken of by its capitalised name, and for its members."""
    return name.partition(".")[0] in capitalised


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
