"""Turns facts into claims for each goal. The rules reasoner writes plain sentences about the facts.

Every claim rests on citations or commits that occur among the facts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from actors.capabilities.code_analysis.answers.comparison import differences, members_of_both
from actors.capabilities.code_analysis.answers.confidence import confidence_in, features_of
from actors.capabilities.code_analysis.answers.document_claims import document_claims
from actors.capabilities.code_analysis.answers.evidence import Evidence, evidence_of
from actors.capabilities.code_analysis.answers.extension import derived, left_open
from actors.capabilities.code_analysis.answers.history import history, together
from actors.capabilities.code_analysis.answers.homonyms import same_names
from actors.capabilities.code_analysis.answers.how_to import guidance
from actors.capabilities.code_analysis.answers.listing import listing_claims
from actors.capabilities.code_analysis.answers.open_answer import answer_claims
from actors.capabilities.code_analysis.answers.wording import (
    caller_claim,
    code_claim,
    importer_claim,
    lead_claim,
    mention_claim,
    module_claims,
    named_line_claim,
    related_claim,
    sets_a_value,
    setting_claim,
    setting_line_claim,
    step_claim,
    test_claim,
    test_entity_claim,
    unproven_claim,
)
from actors.capabilities.code_analysis.evidence.call_flow import is_common, reached
from actors.capabilities.code_analysis.evidence.claims import Claim, read_claims
from actors.capabilities.code_analysis.evidence.facts import Fact
from actors.capabilities.code_analysis.evidence.steps import DELEGATION_KINDS
from actors.capabilities.code_analysis.handover.execution import execution_of
from actors.capabilities.code_analysis.handover.intent import intent_of
from actors.capabilities.code_analysis.handover.passes import passes_of
from actors.capabilities.code_analysis.handover.plan import plan_of
from actors.capabilities.code_analysis.handover.reading import checked, written
from actors.capabilities.code_analysis.handover.synthesis import PlaceNote, SynthesisOutput
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.kinds import kind_of
from actors.capabilities.code_analysis.ranking.answer_order import first_of_each_part, in_answer_order
from actors.capabilities.code_analysis.ranking.relevance import (
    Entity,
    coverage,
    is_named,
    is_setting,
    shared_words,
    shares_name,
)
from runtime.agents.capability import StageContext, StageInput, StageResult
from runtime.codebase.citation import Citation
from runtime.codebase.files.words import index_terms
from runtime.run.stage_view import StageView

MAX_RELATED = 6
MAX_CALLERS = 8
MAX_STEPS = 8
MAX_TESTS = 4
MAX_TESTS_ASKED_FOR = 10
MAX_IMPORTERS = 5
MAX_EXCERPTS = 2
ENOUGH_CALLERS = 3
RELATED_SHARE = 0.35
SECOND_SHARE = 0.7
MIN_COVERAGE = 0.25
# Members whose uses are calls: another line with their name may mean another object's.
CALLED_KINDS = frozenset({"method", "constructor", "function", "prototype"})
# Kinds of members whose assignments within their own class count as settings.
FIELD_KINDS = frozenset({"attribute", "field"})
# A setting is listed if it shares this fraction of the question words that the best setting shares.
SETTING_SHARE = 0.6
MAX_TRACED = 14

KINDS_WITH_CODE = frozenset({"what", "how", "what_happens", "why", "extend", "compare"})


# Questions about the changes or tests of one entity: the answer gives its definition and no related ones.
KINDS_OF_ONE_THING = frozenset({"changed", "changes_with", "tested"})


async def gather(context: StageContext, view: StageView) -> StageInput:
    """Collect the synthesizer's input: the question, the facts and the goals of this round."""
    return StageInput(
        {
            "question": intent_of(view).question,
            "facts": execution_of(view).facts,
            "target_goals": plan_of(view).target_goals,
        }
    )


async def by_rules(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
    """Write claims for each goal from the facts."""
    question = msgspec.convert(given.facts["question"], Question)
    evidence = evidence_of(question, msgspec.convert(given.facts["facts"], list[Fact]))
    hints = write_claims(evidence, given.facts["target_goals"])
    made = [claim for claims in hints.values() for claim in claims]
    places = {(c.file, c.start_line) for claim in made for c in claim.citations}
    places |= {(commit.hash, 0) for claim in made for commit in claim.commits}
    seen = _places_of_earlier_rounds(view)
    best = [entity.as_document() for entity in evidence.entities[:MAX_RELATED]]
    features = features_of(in_answer_order(evidence.facts)) if "answer" in question.aspects else {}
    output = SynthesisOutput(
        entities=msgspec.convert(best, list[PlaceNote]),
        key_flows=[claim.text for claims in hints.values() for claim in claims if claim.role == "step"],
        open_questions=[goal for goal, claims in hints.items() if not claims],
        hints_for_goals={goal: msgspec.to_builtins(claims) for goal, claims in hints.items()},
        accumulated_evidence=len(places | seen),
        new_evidence=len(places - seen),
        coverage=coverage(evidence.question, evidence.entities, evidence.facts),
        confidence=confidence_in(features) if features else None,
        confidence_features=features,
    )
    return written(output)


async def settle(context: StageContext, view: StageView, output: dict[str, Any]) -> StageResult:
    """Validate the output's form; claims are read one by one where they are used."""
    return StageResult(checked("synthesizer", output, SynthesisOutput))


def claims_from_facts(view: StageView) -> dict[str, list[Claim]]:
    """Write claims for a round that was cut short after its tools had run."""
    evidence = evidence_of(intent_of(view).question, execution_of(view).facts)
    return write_claims(evidence, plan_of(view).target_goals)


def write_claims(evidence: Evidence, goals: list[str]) -> dict[str, list[Claim]]:
    """Map goal ids to claims; a goal without findings has an empty list.

    When the places mention too little of the question, no goal gets claims, however well the places rank.
    """
    too_little = coverage(evidence.question, evidence.entities, evidence.facts) < MIN_COVERAGE
    if too_little or _compares_nothing(evidence):
        return {goal: [] for goal in goals}
    writers = {**_WRITERS, **kind_of(evidence.question).writers}
    return {goal: writers.get(goal.partition(":")[0], _definition)(evidence) for goal in goals}


def _compares_nothing(evidence: Evidence) -> bool:
    """Return whether a comparison names entities and no finding bears any of the names."""
    asked = evidence.question
    if asked.kind != "compare" or not asked.identifiers:
        return False
    return not any(is_named(entity.name, asked.identifiers) for entity in evidence.entities)


def _definition(evidence: Evidence) -> list[Claim]:
    shown = {entity.name for entity in evidence.leads}
    if evidence.question.kind in KINDS_WITH_CODE:
        shown |= {entity.name for entity in _with_code(evidence)}
    others = [entity for entity in evidence.entities if entity.name not in shown]
    if evidence.question.kind == "who_calls" and (line := _line_that_has_it(evidence)) is not None:
        return [line]
    if evidence.question.kind == "configured" and _is_answered_by_lines(evidence):
        return [setting_line_claim(fact) for fact in _settings_by_name(evidence)[:1]]
    if evidence.question.kind in KINDS_OF_ONE_THING:
        return [lead_claim(entity) for entity in evidence.leads]
    enough = evidence.entities[0].score * RELATED_SHARE if evidence.entities else 0.0
    if evidence.is_of_names:
        others = [entity for entity in others if is_named(entity.name, evidence.question.identifiers)]
    related = [related_claim(entity) for entity in others[:MAX_RELATED] if entity.score >= enough]
    claims = [lead_claim(entity) for entity in evidence.leads] + related
    return [*claims, *same_names(evidence, claims)]


def _line_that_has_it(evidence: Evidence) -> Claim | None:
    """Return the first use of a name that no finding bears; None without one."""
    if not evidence.question.identifiers or evidence.is_of_names:
        return None
    uses = [fact for fact in evidence.about_leads("reference") if not fact.is_test and _is_use(fact)]
    return named_line_claim(uses[0]) if uses else None


def _mechanism(evidence: Evidence) -> list[Claim]:
    apart: list[Claim] = []
    if evidence.question.kind == "compare" and len(evidence.leads) > 1:
        one, other = evidence.leads[:2]
        apart = differences(one, other, evidence.facts)
        if all(members_of_both(one, other, evidence.facts)):
            return apart
    claims: list[Claim] = []
    if evidence.question.asks_for_guidance:
        said = guidance(evidence.question, evidence.facts)
        is_open = evidence.question.kind == "extend" and bool(evidence.leads)
        hooks = left_open(evidence.leads[0]) if is_open else []
        if hooks or (said and evidence.leads and evidence.leads[0].kind == "section"):
            return [*said, *hooks]
        claims += said
    if evidence.question.kind == "why":
        return [claim for entity in _with_code(evidence)[:1] if (claim := code_claim(entity, evidence.question))]
    for entity in _with_code(evidence):
        claim = code_claim(entity, evidence.question)
        if claim is not None and not any(_overlap(claim.citations[0], other.citations[0]) for other in claims):
            claims.append(claim)
    return claims + apart if evidence.question.kind == "compare" else claims + _steps(evidence)


def _overlap(one: Citation, other: Citation) -> bool:
    return one.file == other.file and one.start_line <= other.end_line and other.start_line <= one.end_line


def _steps(evidence: Evidence) -> list[Claim]:
    """Return the calls of the primary entities: the traced ones, else their direct calls."""
    traced = reached(evidence.of("trace"), [entity.name for entity in evidence.leads])
    if traced and evidence.is_lead(traced[0].about):
        return [step_claim(fact, fact.about, evidence.call_line(fact)) for fact in traced[:MAX_TRACED]]
    steps = [fact for fact in evidence.about_leads("callee") if not is_common(fact)]
    own = [fact for fact in steps if not evidence.leads or fact.name != evidence.leads[0].name]
    claims = [step_claim(fact, evidence.full_name(fact.about), evidence.call_line(fact)) for fact in own[:MAX_STEPS]]
    delegate = evidence.inner
    if delegate is None or evidence.question.kind not in DELEGATION_KINDS:
        return claims
    further = [fact for fact in evidence.of("trace") if fact.about == delegate.name and not is_common(fact)]
    return claims + [step_claim(fact, fact.about, evidence.call_line(fact)) for fact in further[:MAX_STEPS]]


def _with_code(evidence: Evidence) -> list[Entity]:
    """Return the places whose code is shown: the primary ones, then the next best related to the question."""
    question, primary_entities = evidence.question, evidence.leads
    enough = SECOND_SHARE * primary_entities[0].score if primary_entities else 0.0
    others = [
        entity
        for entity in evidence.entities[:4]
        if entity not in primary_entities
        and entity.score >= enough
        and shares_name(entity, question)
        and not (entity.kind == "prototype" and any(entity.name == lead.name for lead in primary_entities))
    ]
    most = 1 if question.kind == "extend" else max(MAX_EXCERPTS, len(primary_entities))
    delegates = [evidence.inner] if question.kind in DELEGATION_KINDS and evidence.inner is not None else []
    rest = [entity for entity in others if entity.name not in {one.name for one in delegates}]
    return [entity for entity in (*primary_entities, *delegates, *rest) if entity.code is not None][:most]


def _usage(evidence: Evidence) -> list[Claim]:
    if evidence.question.kind == "extend" and evidence.leads:
        lead = evidence.leads[0]
        uses = [fact for kind in ("caller", "reference", "test") for fact in evidence.about_leads(kind)]
        extended = derived(lead.name, uses)
        if extended:
            return extended
    callers = [fact for fact in evidence.about_leads("caller") if not fact.is_test]
    others = [fact for fact in evidence.about_leads("reference") if not fact.is_test and _is_use(fact)]
    others = [fact for fact in others if not any(_overlap(fact.citation, e.citation) for e in evidence.leads)]
    is_of_member = any("." in entity.name and entity.kind in CALLED_KINDS for entity in evidence.leads)
    if len(callers) < ENOUGH_CALLERS and not is_of_member:
        callers += others
    claims = [caller_claim(fact) for fact in callers[:MAX_CALLERS]]
    if is_of_member:
        claims += [mention_claim(fact) for fact in evidence.about_leads("mention")[: MAX_CALLERS - len(claims)]]
    claims = claims or [importer_claim(fact) for fact in evidence.about_leads("importer")[:MAX_IMPORTERS]]
    # Nobody says that a thing is not used while a call may mean it.
    defined = next((fact for fact in evidence.about_leads("definition") if fact.unproven), None)
    if defined is not None:
        claims.append(unproven_claim(defined, defined.unproven, evidence.about_leads("namesake"), evidence.leads))
    return claims


def _tests(evidence: Evidence) -> list[Claim]:
    """Return one line of each test of it; more, and tests named after it, when the question asks for tests."""
    each: dict[tuple[str, str], Fact] = {}
    for fact in sorted(evidence.about_leads("test"), key=lambda fact: (not _is_named_after(fact), not _is_use(fact))):
        if fact.symbol_kind != "file":
            each.setdefault((fact.citation.file, fact.name), fact)
    if not evidence.question.asks_for_tests:
        return [test_claim(fact) for fact in list(each.values())[:MAX_TESTS]] or _unproven_tests(evidence)
    named = [entity for entity in evidence.entities if entity.is_test and entity.name and entity.kind != "module"]
    fitting = [entity for entity in named if shares_name(entity, evidence.question)]
    known = {(fact.citation.file, fact.name) for fact in each.values()}
    more = [test_entity_claim(entity) for entity in fitting if (entity.citation.file, entity.name) not in known]
    files = [] if each or more else [fact for fact in evidence.of("test") if fact.symbol_kind == "file"]
    claims = [*map(test_claim, each.values()), *more, *map(test_claim, files)][:MAX_TESTS_ASKED_FOR]
    return claims or _unproven_tests(evidence)


def _unproven_tests(evidence: Evidence) -> list[Claim]:
    """Return how many calls in tests may mean it: nobody says that it is not tested while there are any."""
    defined = next((fact for fact in evidence.about_leads("definition") if fact.unproven_in_tests), None)
    return [] if defined is None else [unproven_claim(defined, defined.unproven_in_tests, (), ())]


def _is_named_after(fact: Fact) -> bool:
    """Return whether the name of a test, or of its file, contains each word of its subject."""
    wanted = set(index_terms(fact.about.rpartition(".")[2]).split())
    file = fact.citation.file.rpartition("/")[2]
    return bool(wanted) and any(
        wanted <= set(index_terms(text).split()) for text in (fact.name, file.replace(".", " "))
    )


def _is_use(fact: Fact) -> bool:
    """Return whether a line uses the name: comments and imports do not."""
    line = fact.citation.quote.lstrip()
    return not line.startswith(("#", "//", "*", "/*")) and not line.startswith(("import ", "from ", "require("))


def _configuration(evidence: Evidence) -> list[Claim]:
    """Return settings related to the subject; without any, the best results of the search for settings."""
    set_at = [setting_line_claim(fact) for fact in _settings_by_name(evidence)]
    from_config = [entity for entity in evidence.entities if "settings" in entity.purposes]
    related = [entity for entity in evidence.entities if shares_name(entity, evidence.question)]
    fitting = [entity for entity in related if is_setting(entity)]
    primary_names = {entity.name for entity in evidence.leads if evidence.question.kind == "configured"}
    fitting = [entity for entity in fitting if not entity.is_test] or fitting
    shares = [shared_words(entity, evidence.question) for entity in fitting]
    enough = SETTING_SHARE * max(shares, default=0.0)
    fitting = [entity for entity, share in zip(fitting, shares, strict=True) if share >= enough]
    found = [entity for entity in fitting or from_config[:3] if entity.name not in primary_names]
    places = {(claim.citations[0].file, claim.citations[0].start_line) for claim in set_at}
    fresh = [entity for entity in found if (entity.citation.file, entity.citation.start_line) not in places]
    if set_at:
        names = (*evidence.question.identifiers, *evidence.question.perhaps_names)
        fresh = [entity for entity in fresh if is_named(entity.name, names)]
    claims = [*set_at, *map(setting_claim, fresh)][:MAX_RELATED]
    is_lead_alone = not claims and evidence.question.kind == "configured" and not _is_answered_by_lines(evidence)
    return [lead_claim(lead) for lead in evidence.leads if is_setting(lead)] if is_lead_alone else claims


def _settings_by_name(evidence: Evidence) -> list[Fact]:
    """Return lines that set a named setting or read it from the environment; tests only as a last resort."""
    uses = [fact for kind in ("reference", "caller") for fact in evidence.of(kind)]
    names = (*evidence.question.identifiers, *evidence.question.perhaps_names)
    found = [fact for fact in uses if any(sets_a_value(fact.citation.quote, name) for name in names)]
    if evidence.question.kind == "configured" and not names:
        fields = [entity for entity in evidence.leads if entity.kind in FIELD_KINDS]
        found = [fact for fact in uses if any(_gives(fact, field) for field in fields)]
    return ([fact for fact in found if not fact.is_test] or found)[:MAX_RELATED]


def _gives(fact: Fact, field: Entity) -> bool:
    """Return whether a line in the field's own class assigns the field, or a parameter of its name, a value."""
    owner, _, last = field.name.rpartition(".")
    is_own = fact.citation.file == field.citation.file and fact.name.startswith(f"{owner}.")
    return is_own and fact.citation != field.citation and sets_a_value(fact.citation.quote, last)


def _is_answered_by_lines(evidence: Evidence) -> bool:
    """Return whether lines set a name that no place bears: then they are the answer, not similar names."""
    names = (*evidence.question.identifiers, *evidence.question.perhaps_names)
    borne = not names or any(is_named(entity.name, names) for entity in evidence.leads)
    return not borne and bool(_settings_by_name(evidence))


def _listing(evidence: Evidence) -> list[Claim]:
    return listing_claims(evidence.question, evidence.entities, evidence.facts)


def _structure(evidence: Evidence) -> list[Claim]:
    return module_claims(evidence.of("module"), evidence.of("code"))


def _places_of_earlier_rounds(view: StageView) -> set[tuple[str, int]]:
    earlier = [
        claim
        for done in passes_of(view)
        for claims in read_claims(done.hints_for_goals)[0].values()
        for claim in claims
    ]
    places = {(citation.file, citation.start_line) for claim in earlier for citation in claim.citations}
    return places | {(commit.hash, 0) for claim in earlier for commit in claim.commits}


def _answer(evidence: Evidence) -> list[Claim]:
    places = in_answer_order(evidence.facts)
    claims = answer_claims(places, first_of_each_part(evidence.facts, places))
    if not claims:
        return document_claims(evidence.facts, "lead")
    lead, *others = claims
    said = document_claims(evidence.facts)
    # Passages are chosen sentence by sentence; sections that the search for code found are quoted in their absence.
    return [lead, *said, *(claim for claim in others if claim.role != "said" or not said)]


_WRITERS: dict[str, Callable[[Evidence], list[Claim]]] = {
    "answer": _answer,
    "definition": _definition,
    "mechanism": _mechanism,
    "usage": _usage,
    "tests": _tests,
    "configuration": _configuration,
    "listing": _listing,
    "structure": _structure,
    "history": history,
    "together": together,
}
