"""Answers who calls or uses a thing: «Who calls `decide`?»."""

from __future__ import annotations

from actors.capabilities.code_analysis.answers.definition import definition, line_that_has_it
from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.question.kinds import QuestionKind, of_named_relations, wordings
from runtime.codebase.files.words import query_terms


def _definition(evidence: Evidence) -> list[Claim]:
    """Return what the name means, else the first line that has it."""
    line = line_that_has_it(evidence)
    return definition(evidence) if line is None else [line]


KIND = QuestionKind(
    name="who_calls",
    meaning="who uses it",
    wordings=wordings(
        500,
        r"\bwho (?:calls|uses|invokes)\b|\b(?:callers?|usages?|users?) of\b|\bwhere is \S+ (?:called|used)\b",
        r"\bwhat (?:calls|uses|depends on)\b|\bwhere (?:do|does|are) .{1,60} (?:called|used|invoked)\b",
    ),
    aspects=("definition", "usage", "tests"),
    added=("usage",),
    besides=("usage", "tests"),
    asks_relations=of_named_relations,
    of_relation=True,
    named_by_words="definitions",
    said=frozenset(query_terms("who what where call caller invoke use user usage depend").counts),
    asks_for_related=True,
    of_uses=True,
    names_decide="always",
    imperative="Show who uses {subject}",
    writers={"definition": _definition},
    first_roles=("caller", "mention", "caveat", "importer"),
    usual_confidence=0.75,
    plan=steps_by_aspect,
)
