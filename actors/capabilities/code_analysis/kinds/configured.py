"""Answers where a thing is configured: «Where is the lease time configured?», «Where is `depth` set?»."""

from __future__ import annotations

import re

from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.question.kinds import GivesWay, PlanRequest, QuestionKind, TakesOver, wordings

_HOW_CONFIGURED = re.compile(
    r"\bhow (?:is|are|do|can|to|does) (?:(?!\b(?:and|where|works?)\b).){0,40}configur", re.IGNORECASE
)
# «Where is `depth` set?»: the lines that give it a value.
_ASSIGNED = re.compile(r"^\W*where\b.*\b(?:set|assigned|initiali[sz]ed)\b\s*+\??\s*+$", re.IGNORECASE)


def plan(request: PlanRequest) -> list[Step]:
    """Build the shared steps, with the uses of words in the place of a name."""
    return steps_by_aspect(request, names_used=request.question.perhaps_names)


KIND = QuestionKind(
    name="configured",
    wordings=wordings(
        800, r"\b(?:configur\w*|settings?|environment variables?|env vars?|defaults? (?:value )?(?:of|for))\b"
    ),
    takes_over=TakesOver("where", _ASSIGNED),
    gives_way=GivesWay("how", _HOW_CONFIGURED, ("configuration",)),
    aspects=("configuration", "definition"),
    added=("configuration",),
    imperative="Show where {subject} is configured",
    first_roles=("setting",),
    plan=plan,
)
