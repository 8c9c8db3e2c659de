"""Answers where a thing is configured: «Where is the lease time configured?», «Where is `depth` set?»."""

from __future__ import annotations

import functools
import re

from actors.capabilities.code_analysis.answers.definition import definition
from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.answers.settings import configuration, is_answered_by_lines, settings_by_name
from actors.capabilities.code_analysis.answers.wording import setting_line_claim
from actors.capabilities.code_analysis.evidence.claims import Claim
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


def _definition(evidence: Evidence) -> list[Claim]:
    """Return what it is, else the first line that sets a name which nothing bears."""
    if is_answered_by_lines(evidence):
        return [setting_line_claim(fact) for fact in settings_by_name(evidence, of_fields=True)[:1]]
    return definition(evidence)


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
    leads_outside_tests=True,
    writers={"definition": _definition, "configuration": functools.partial(configuration, is_all=True)},
    first_roles=("setting",),
    plan=plan,
)
