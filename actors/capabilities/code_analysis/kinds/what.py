"""Says what a thing is and does: «What is `Lease`?»."""

from __future__ import annotations

import msgspec

from actors.capabilities.code_analysis.answers.definition import definition, member_claims
from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.answers.mechanism import code_of_places, mechanism
from actors.capabilities.code_analysis.answers.members import members_of
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.plans.searches import SYMBOL
from actors.capabilities.code_analysis.question.kinds import PlanRequest, QuestionKind, wordings

# A type of at most so many lines is shown beside what it has.
MAX_SHOWN_LINES = 40


def plan(request: PlanRequest) -> list[Step]:
    """Build the shared steps, and for a name one that lists what stands in its file."""
    return steps_by_aspect(request, compares=lambda found_by: _member_steps(request, found_by))


def _member_steps(request: PlanRequest, found_by: tuple[str, ...]) -> list[Step]:
    if "definition" not in request.goals or not request.question.identifiers:
        return []
    goals, why = (request.goals["definition"],), "what it has"
    step = Step("members", "members", "map_module", {}, goals, why, found_by, 1, SYMBOL)
    return [msgspec.structs.replace(step, named_only=True)]


def _mechanism(evidence: Evidence) -> list[Claim]:
    """Return what a type has, with its code where that is short; of anything else its code and its calls."""
    members = member_claims(evidence)
    if not members:
        return mechanism(evidence)
    lead = evidence.leads[0]
    own = members_of(lead, evidence.facts, with_private=True)
    is_short = all(fact.citation.end_line - lead.citation.start_line < MAX_SHOWN_LINES for fact in own)
    return [*(code_of_places(evidence) if is_short else []), *members]


def _definition(evidence: Evidence) -> list[Claim]:
    """Return what it is, and what is related to it but none of what it has."""
    told = {claim.subject for claim in member_claims(evidence)}
    owners = tuple(f"{lead.name}." for lead in evidence.leads) if told else ()
    return [claim for claim in definition(evidence) if claim.role != "related" or not claim.subject.startswith(owners)]


KIND = QuestionKind(
    name="what",
    meaning="what a thing is",
    wordings=wordings(1500, r"^\W*what\b|^\W*who\b|^\W*which\b"),
    aspects=("definition", "mechanism", "usage"),
    added=("definition", "mechanism"),
    follows_delegate=True,
    imperative="Say what {subject} is and does",
    plan=plan,
    writers={"definition": _definition, "mechanism": _mechanism},
)
