"""What there is to write claims from in a round, and which of the places that were found answer the question."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from actors.capabilities.code_analysis.answers.documents.how_to import guide_of
from actors.capabilities.code_analysis.answers.named_types.comparison import compared
from actors.capabilities.code_analysis.answers.wording import MAX_QUOTE_CHARS
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.kinds import kind_of
from actors.capabilities.code_analysis.ranking.delegation import passed_on, ranked_places
from actors.capabilities.code_analysis.ranking.relevance import Entity, is_named, shares_thing
from runtime.codebase.citation import Citation
from runtime.codebase.files.words import index_terms

MAX_COMPARED = 3

ABOUT_NAMES = frozenset(index_terms("defined declared added introduced created changed called class function").split())


class Evidence(msgspec.Struct, frozen=True):
    """What there is to write from: the question, its facts by kind, and the entities, best first.

    `unsure_parts`: the numbers of the parts of the question whose own places are not trusted to answer them.
    """

    question: Question
    facts: list[CodeFact]
    entities: list[Entity]
    unsure_parts: frozenset[int] = frozenset()

    def of(self, kind: str) -> list[CodeFact]:
        """Facts of one kind in order."""
        return [fact for fact in self.facts if fact.kind == kind]

    def about_leads(self, kind: str) -> list[CodeFact]:
        """Facts of one kind about the uses of what answers, or of what the question names.

        Who asks for the uses of a name is not told those of another thing, unless nothing bears it.
        """
        named = set(self.question.identifiers)
        is_of_name = bool(named) and kind_of(self.question).of_uses and not self.is_of_names
        facts = self.of(kind)
        return (_about(facts, named) if is_of_name else []) or _about(facts, {e.name for e in self.leads} | named)

    def is_lead(self, name: str) -> bool:
        """True for the name of a place that answers, whole or by its last part."""
        return any(name in (entity.name, entity.name.rsplit(".", 1)[-1]) for entity in self.leads)

    def full_name(self, name: str) -> str:
        """The whole name of a lead that a fact names by its last part; any other name as it is."""
        return next((e.name for e in self.leads if e.name.rsplit(".", 1)[-1] == name), name)

    def call_line(self, fact: CodeFact) -> Citation | None:
        """The line of a call, where it stands in code that was read of a lead; the call must be seen in it."""
        callers = [entity for entity in (*self.leads, self.inner) if entity is not None]
        by = (e for e in callers if fact.about in (e.name, e.name.rsplit(".", 1)[-1]))
        return next((line for entity in by if (line := _call_in(entity, fact)) is not None), None)

    @property
    def inner(self) -> Entity | None:
        """What the best place passes its work on to, where it does and its code was read."""
        called = passed_on(self.leads[0], self.facts) if self.leads else None
        if called is None:
            return None
        codes = [fact for fact in self.of("code") if fact.purpose == "passed_on_code"]
        code = next((code for code in codes if called.citation.file == code.citation.file), None)
        known = next((entity for entity in self.entities if entity.citation == called.citation), None)
        if known is not None:
            return msgspec.structs.replace(known, code=code or known.code)
        kind, says, score = called.symbol_kind, called.docstring, 0.0
        return Entity(called.name, kind, called.citation, called.signature, says, score, called.purposes, False, code)

    @property
    def is_of_names(self) -> bool:
        """True for a question of nothing but a named thing that was found, unless it asks for how it works."""
        names = self.question.identifiers
        decide = kind_of(self.question).names_decide
        if decide == "never" or not any(is_named(entity.name, names) for entity in self.leads):
            return False
        own = {term for name in names for term in index_terms(name).split()} | ABOUT_NAMES
        return decide == "always" or own.issuperset(self.question.terms)

    @property
    def is_borne_by_tests_alone(self) -> bool:
        """True where only tests define the name whose uses are asked for, while other code has it too.

        There it is a member of something else, for example an option that is a function: the test's is not meant.
        """
        question = self.question
        if not kind_of(question).of_uses or not question.identifiers or question.paths or question.asks_for_tests:
            return False
        bearers = [entity for entity in self.entities if is_named(entity.name, question.identifiers)]
        defined = [fact for fact in self.of("definition") if is_named(fact.name, question.identifiers)]
        if not bearers or not all(one.is_test for one in bearers) or not all(fact.is_test for fact in defined):
            return False
        return any(not fact.is_test for kind in ("caller", "mention", "reference") for fact in self.about_leads(kind))

    @property
    def leads(self) -> list[Entity]:
        """The entities that answer: one, or the best for each name when the question compares."""
        kind = kind_of(self.question)
        if kind.leads_outside_tests:
            return [entity for entity in self.entities if not entity.is_test][:1] or self.entities[:1]
        if self.question.asks_for_guidance and self.entities and not shares_thing(self.entities[0], self.question):
            return self._guiding() or self.entities[:1]
        if not kind.names_each:
            return self._explored() or self.entities[:1]
        named = dict.fromkeys((*self.question.identifiers, *self.question.capitalised))
        names = sorted(named, key=self.question.text.find)
        return compared(names, self.entities)[:MAX_COMPARED] or self.entities[:1]

    def _explored(self) -> list[Entity]:
        """The definition whose uses were explored, where the question asks for the uses of a name that several bear."""
        if not kind_of(self.question).of_uses or not self.question.identifiers or self.question.paths:
            return []
        about = [fact for fact in self.of("definition") if fact.about]
        # What was explored by the name as it was asked goes before the best place of a search, which has a longer one.
        explored = next((fact for fact in about if fact.about in self.question.identifiers), next(iter(about), None))
        if explored is None or not is_named(explored.name, self.question.identifiers):
            return []
        return [
            entity
            for entity in self.entities
            if entity.citation.file == explored.citation.file and entity.name == explored.name
        ][:1]

    def _guiding(self) -> list[Entity]:
        """The part of a document that tells how it is done, where no code is called after what is asked."""
        guide = guide_of(self.question, self.facts)
        if guide is None:
            return []
        place = (guide.citation.file, guide.citation.start_line)
        return [e for e in self.entities if (e.citation.file, e.citation.start_line) == place][:1]


def _about(facts: Sequence[CodeFact], names: Collection[str]) -> list[CodeFact]:
    """Return the facts about things of these names, whole or by their last parts."""
    last = {name.rsplit(".", 1)[-1] for name in names}
    return [fact for fact in facts if fact.about in names or fact.about.rsplit(".", 1)[-1] in last]


def _call_in(entity: Entity, fact: CodeFact) -> Citation | None:
    """The line of a call in the code that was read of a place; None where it is not seen in it."""
    if entity.code is None:
        return None
    read, lines = entity.code.citation, entity.code.text.split("\n")
    place = fact.at_line - read.start_line
    if not 0 <= place < len(lines) or fact.name.rsplit(".", 1)[-1] not in lines[place]:
        return None
    line = {"start_line": fact.at_line, "end_line": fact.at_line, "symbol": entity.name}
    return msgspec.structs.replace(read, **line, quote=lines[place].strip()[:MAX_QUOTE_CHARS])


def evidence_of(question: Question, facts: list[CodeFact]) -> Evidence:
    """The evidence in a question and facts as stages hand them on."""
    return Evidence(question, facts, ranked_places(question, facts))
