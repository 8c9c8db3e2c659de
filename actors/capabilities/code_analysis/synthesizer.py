"""Synthesizer: turns facts into claims for each goal. The rules reasoner writes plain sentences from what was found.

No claim is made without a citation that occurs among the facts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from actors.capabilities.code_analysis.claims import Claim, read_claims
from actors.capabilities.code_analysis.facts import Fact
from actors.capabilities.code_analysis.question import Question
from actors.capabilities.code_analysis.relevance import (
    Entity,
    coverage,
    is_named,
    path_shares,
    rank_entities,
    shares_name,
)
from actors.capabilities.code_analysis.wording import (
    caller_claim,
    code_claim,
    importer_claim,
    item_claim,
    lead_claim,
    module_claims,
    related_claim,
    step_claim,
    test_claim,
)
from runtime.capability import StageContext, StageInput
from runtime.supervision.commands import StageView

MAX_RELATED = 6
MAX_CALLERS = 8
MAX_STEPS = 8
MAX_TESTS = 4
MAX_IMPORTERS = 5
MAX_ITEMS = 30
MAX_EXCERPTS = 2
MAX_COMPARED = 3
ENOUGH_CALLERS = 3
RELATED_SHARE = 0.35
MIN_COVERAGE = 0.25

KINDS_WITH_CODE = frozenset({"what", "how", "what_happens", "why", "extend", "compare"})

# Methods that every container and stream has: a call of one seldom means the definition of that name in a repository.
COMMON_METHODS = frozenset(
    {"get", "set", "add", "pop", "update", "append", "extend", "insert", "remove", "clear", "copy", "keys", "values"}
    | {"items", "join", "split", "strip", "replace", "format", "read", "write", "close", "open", "send", "put"}
    | {"encode", "decode", "index", "count", "sort", "start", "stop", "run"}
)


class Evidence(msgspec.Struct, frozen=True):
    """What there is to write from: the question, its facts by kind, and the entities, best first."""

    question: Question
    facts: list[Fact]
    entities: list[Entity]

    def of(self, kind: str) -> list[Fact]:
        """Facts of one kind in order."""
        return [fact for fact in self.facts if fact.kind == kind]

    def about_leads(self, kind: str) -> list[Fact]:
        """Facts of one kind about the uses of what answers, or of what the question names."""
        names = {entity.name for entity in self.leads} | set(self.question.identifiers)
        last = {name.rsplit(".", 1)[-1] for name in names}
        return [fact for fact in self.of(kind) if fact.about in names or fact.about.rsplit(".", 1)[-1] in last]

    @property
    def leads(self) -> list[Entity]:
        """The entities that answer: one, or the best for each name when the question compares."""
        if self.question.kind != "compare":
            return self.entities[:1]
        names = (*self.question.identifiers, *self.question.capitalised)
        best = [next((entity for entity in self.entities if is_named(entity.name, (name,))), None) for name in names]
        return list(dict.fromkeys(entity for entity in best if entity is not None))[:MAX_COMPARED] or self.entities[:1]


async def gather(context: StageContext, view: StageView) -> StageInput:
    """What the synthesizer looks at: the question, the facts and the goals of this round."""
    return StageInput(
        {
            "question": view.outputs["intent"]["question"],
            "facts": view.outputs["execution"]["facts"],
            "target_goals": view.outputs["planner"]["target_goals"],
        }
    )


async def by_rules(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
    """Claims per goal from the facts."""
    evidence = _evidence(given.facts["question"], given.facts["facts"])
    hints = write_claims(evidence, given.facts["target_goals"])
    places = {(c.file, c.start_line) for claims in hints.values() for claim in claims for c in claim.citations}
    seen = _places_of_earlier_rounds(view)
    return {
        "entities": [entity.as_document() for entity in evidence.entities[:MAX_RELATED]],
        "key_flows": [claim.text for claims in hints.values() for claim in claims if claim.role == "step"],
        "open_questions": [goal for goal, claims in hints.items() if not claims],
        "contradictions": [],
        "hints_for_goals": {goal: msgspec.to_builtins(claims) for goal, claims in hints.items()},
        "accumulated_evidence": len(places | seen),
        "new_evidence": len(places - seen),
        "coverage": coverage(evidence.question, evidence.entities, evidence.facts),
    }


def claims_from_facts(view: StageView) -> dict[str, Any]:
    """Claims for a round that was cut short after its tools had run."""
    evidence = _evidence(view.outputs["intent"]["question"], view.outputs["execution"]["facts"])
    return write_claims(evidence, view.outputs["planner"]["target_goals"])


def write_claims(evidence: Evidence, goals: list[str]) -> dict[str, list[Claim]]:
    """goal id → claims; a goal that nothing was found for has an empty list.

    Places that mention next to nothing of the question are no answer to it, however well they rank among themselves.
    """
    if coverage(evidence.question, evidence.entities, evidence.facts) < MIN_COVERAGE:
        return {goal: [] for goal in goals}
    return {goal: _WRITERS.get(goal.partition(":")[0], _definition)(evidence) for goal in goals}


def _evidence(question: dict[str, Any], facts: list[dict[str, Any]]) -> Evidence:
    asked = msgspec.convert(question, Question)
    found = msgspec.convert(facts, list[Fact])
    return Evidence(asked, found, rank_entities(asked, found))


def _definition(evidence: Evidence) -> list[Claim]:
    shown = {entity.name for entity in evidence.leads}
    if evidence.question.kind in KINDS_WITH_CODE:
        shown |= {entity.name for entity in _with_code(evidence)}
    others = [entity for entity in evidence.entities if entity.name not in shown]
    enough = evidence.entities[0].score * RELATED_SHARE if evidence.entities else 0.0
    related = [related_claim(entity) for entity in others[:MAX_RELATED] if entity.score >= enough]
    return [lead_claim(entity) for entity in evidence.leads] + related


def _mechanism(evidence: Evidence) -> list[Claim]:
    claims = [claim for entity in _with_code(evidence) if (claim := code_claim(entity, evidence.question)) is not None]
    steps = [fact for fact in evidence.about_leads("callee") if fact.name.rsplit(".", 1)[-1] not in COMMON_METHODS]
    return claims + [step_claim(fact) for fact in steps[:MAX_STEPS]]


def _with_code(evidence: Evidence) -> list[Entity]:
    """The places whose code is shown: the best ones that were read."""
    return [entity for entity in evidence.entities[:4] if entity.code is not None][:MAX_EXCERPTS]


def _usage(evidence: Evidence) -> list[Claim]:
    callers = [fact for fact in evidence.about_leads("caller") if not fact.is_test]
    if len(callers) < ENOUGH_CALLERS:
        callers += [fact for fact in evidence.about_leads("reference") if not fact.is_test]
    claims = [caller_claim(fact) for fact in callers[:MAX_CALLERS]]
    return claims or [importer_claim(fact) for fact in evidence.about_leads("importer")[:MAX_IMPORTERS]]


def _tests(evidence: Evidence) -> list[Claim]:
    return [test_claim(fact) for fact in evidence.about_leads("test")[:MAX_TESTS]]


def _configuration(evidence: Evidence) -> list[Claim]:
    from_config = [entity for entity in evidence.entities if "config" in entity.steps]
    return [item_claim(entity) for entity in (from_config or evidence.entities)[:MAX_RELATED]]


def _listing(evidence: Evidence) -> list[Claim]:
    """Places that share a word with what is to be listed; the best ones when none does."""
    fitting = [entity for entity in evidence.entities if shares_name(entity, evidence.question)]
    in_file = [entity for entity in fitting if path_shares(entity, evidence.question)]
    listed = [*in_file, *(entity for entity in fitting if entity not in in_file)]
    return [item_claim(entity) for entity in (listed or evidence.entities)[:MAX_ITEMS]]


def _structure(evidence: Evidence) -> list[Claim]:
    return module_claims(evidence.of("module"), evidence.of("code"))


def _places_of_earlier_rounds(view: StageView) -> set[tuple[str, int]]:
    return {
        (citation.file, citation.start_line)
        for done in view.goals.finished_rounds
        for claims in read_claims(done.synthesis.get("hints_for_goals"))[0].values()
        for claim in claims
        for citation in claim.citations
    }


_WRITERS: dict[str, Callable[[Evidence], list[Claim]]] = {
    "definition": _definition,
    "mechanism": _mechanism,
    "usage": _usage,
    "tests": _tests,
    "configuration": _configuration,
    "listing": _listing,
    "structure": _structure,
}
