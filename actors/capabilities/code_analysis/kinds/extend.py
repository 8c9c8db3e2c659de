"""Answers how a thing is added or extended: «How do I add a new binding?»."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.answers.extension import derived, left_open
from actors.capabilities.code_analysis.answers.mechanism import mechanism
from actors.capabilities.code_analysis.answers.uses import usage
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.plans.searches import LOCATED_PER_STEP, locate
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.kinds import PlanRequest, QuestionKind, wordings
from actors.capabilities.code_analysis.question.listing_scope import OPEN_KINDS
from actors.capabilities.code_analysis.ranking.extension_points import extension_bonus
from runtime.codebase.files.words import query_terms

# What is done, ahead of what it is done to.
_EXTENDING = re.compile(
    r"^\W*(?:please\s+)?(?:how\s+(?:do|can|would|could|should|to|does)\s+)?(?:(?:i|you|we|one|someone|to)\s+)*"
    r"(?:(?:add|extend|register|write|create|plug in|plug|implement|define|make|introduce|build)\s+)+"
    r"(?:(?:a|an|the|my|our|own|new|another|custom|additional|further|support|for|different)\s+)*",
    re.IGNORECASE,
)
# The same anywhere in a sentence: «I want to add one more command that …», with what is added behind it.
_ADDED = re.compile(
    r"\b(?:add|extend|register|write|create|plug in|plug|implement|define|introduce|build|hook in|hook|support"
    r"|integrate)\s+"
    r"(?:(?:a|an|the|my|our|own|new|another|custom|additional|further|support|for|different|one|more|in)\s+)*"
    r"(?P<thing>\w[^.?!,;:(\n]{0,80})",
    re.IGNORECASE,
)
_ALWAYS = re.compile("")
# Where nothing of that stands ahead, what is done is told by words of this kind anywhere: «Where do I hook in my own?».
_TOLD_OTHERWISE = re.compile(rf"\A(?!{_EXTENDING.pattern})", re.IGNORECASE)
_DEEDS = (
    "add extend register write create plug plugin implement define make introduce build hook attach insert support"
    " contribute provide supply customise customize teach integrate"
)
_SAID = (
    f"{_DEEDS} want need like wish own new another custom additional further different kind sort type way possible"
    " possibility easy best right properly correctly start begin place point must touch change steps recipe guide"
    " instruction example alongside existing available"
)


def plan(request: PlanRequest) -> list[Step]:
    """Build the shared steps, with searches for the thing that is extended and for types that are open."""
    question, goals = request.question, tuple(request.goals.values())
    searches = [
        locate("thing", "find", question.subject, goals, LOCATED_PER_STEP),
        locate("open", "find", question.subject, goals, LOCATED_PER_STEP, OPEN_KINDS),
    ]
    steps = steps_by_aspect(request, searches=searches if question.deed_terms else ())
    if "precedents" not in request.goals:
        return steps
    added, goal = {"query": _thing(question)}, (request.goals["precedents"],)
    return [*steps, Step("before", "precedents", "find_precedents", added, goal, "how one was added before")]


def _thing(question: Question) -> str:
    """Return the words for what is added, as the question has them; its subject where they only point to it."""
    found = _ADDED.search(question.text)
    return found["thing"] if found is not None and query_terms(found["thing"]).counts else question.subject


def _mechanism(evidence: Evidence) -> list[Claim]:
    """Return what documents say, and what is to be written; without the latter the code."""
    return mechanism(evidence, left_open(evidence.leads[0]) if evidence.leads else ())


def _usage(evidence: Evidence) -> list[Claim]:
    """Return what extends it already, else its users."""
    uses = [fact for kind in ("caller", "reference", "test") for fact in evidence.about_leads(kind)]
    return (derived(evidence.leads[0].name, uses) if evidence.leads else []) or usage(evidence)


def _bonus(question: Question, best: CodeFact, facts: Sequence[CodeFact], weights: Mapping[str, float]) -> float:
    """Return what a place gains that the thing is extended at."""
    thing = [term for term in question.terms if term not in question.deed_terms]
    return extension_bonus(best.name, best.symbol_kind, best.signature, best.docstring, question.deed_terms, thing)


KIND = QuestionKind(
    name="extend",
    meaning="how to add to it",
    wordings=wordings(
        700,
        r"\bhow (?:do|can|would|could|should|to) .{0,20}(?:add|extend|register|write|create|plug|implement)\b",
        r"^\W*(?:add|extend|register) (?:a|an|my|new)\b|\bhow to (?:add|extend|register)\b",
    ),
    aspects=("definition", "mechanism", "precedents", "usage", "tests"),
    added=("usage", "precedents"),
    besides=("precedents",),
    named_by_words="open types",
    lead_in=_EXTENDING,
    said=frozenset(query_terms(_SAID).counts),
    said_in=_TOLD_OTHERWISE,
    guidance=_ALWAYS,
    bonus=_bonus,
    max_excerpts=1,
    writers={"mechanism": _mechanism, "usage": _usage},
    first_roles=("precedent",),
    leading_roles=("sibling",),
    imperative="Show how to extend {subject}",
    plan=plan,
)
