"""Compares two or more things: «What is the difference between `Vehicle` and `Bike`?»."""

from __future__ import annotations

import msgspec

from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.answers.mechanism import code_of_places
from actors.capabilities.code_analysis.answers.named_types.comparison import differences, members_of_both
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.plans.by_aspect import TRACED_CALLS, WHOLE_LINES, steps_by_aspect
from actors.capabilities.code_analysis.plans.searches import LINES, SYMBOL
from actors.capabilities.code_analysis.question.kinds import PlanRequest, QuestionKind, of_named_relations, wordings
from runtime.codebase.files.words import query_terms

COMPARED = 2


def plan(request: PlanRequest) -> list[Step]:
    """Build the shared steps, and steps that read both compared entities, with all members and the calls of each."""
    return steps_by_aspect(
        request, reads_whole=False, compares=lambda found_by: _comparing_steps(tuple(request.goals.values()), found_by)
    )


def _comparing_steps(goals: tuple[str, ...], found_by: tuple[str, ...]) -> list[Step]:
    why, all_lines, deep = "what each of them has", {"max_lines": WHOLE_LINES}, {"max_depth": TRACED_CALLS}
    steps = [
        Step("pair", "read", "read_code", all_lines, goals, "read both", found_by, COMPARED, LINES),
        Step("members", "members", "map_module", {}, goals, why, found_by, COMPARED, SYMBOL),
        Step("calls", "calls", "trace_entry_point", deep, goals, why, found_by, COMPARED, {"entry": "name"}),
    ]
    return [msgspec.structs.replace(step, named_only=True) for step in steps]


def _mechanism(evidence: Evidence) -> list[Claim]:
    """Return what sets the first two apart, with their code unless the members of both are known."""
    if len(evidence.leads) < 2:
        return code_of_places(evidence)
    one, other = evidence.leads[:2]
    apart = differences(one, other, evidence.facts)
    return apart if all(members_of_both(one, other, evidence.facts)) else [*code_of_places(evidence), *apart]


KIND = QuestionKind(
    name="compare",
    meaning="differences",
    wordings=wordings(600, r"\b(?:compare|difference between|differ(?:s|ent)? from|versus|vs\.?)\b"),
    aspects=("definition", "mechanism"),
    asks_relations=of_named_relations,
    said=frozenset(query_terms("compare comparison differ difference versus vs between").counts),
    of_several=True,
    names_each=True,
    names_decide="always",
    writers={"mechanism": _mechanism},
    imperative="Compare {subject}",
    first_roles=("difference",),
    plan=plan,
)
