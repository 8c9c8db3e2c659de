"""Answers where a thing is configured: «Where is the lease time configured?», «Where is `depth` set?»."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence

from actors.capabilities.code_analysis.answers.definition import definition
from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.answers.settings import configuration, is_answered_by_lines, settings_by_name
from actors.capabilities.code_analysis.answers.wording import setting_line_claim
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.question.action import says_it_sets
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.kinds import GivesWay, QuestionKind, TakesOver, wordings
from actors.capabilities.code_analysis.ranking.relevance import VALUES, precision, speaks_of_settings
from runtime.primitives.dotted_names import last_part

CONFIGURING_BONUS, WHOLE_NAME_BONUS = 0.4, 0.4
# What the best find of the step that looks through the names of values gains.
VALUE_BONUS = 0.8

_HOW_CONFIGURED = re.compile(
    r"\bhow (?:is|are|do|can|to|does) (?:(?!\b(?:and|where|works?)\b).){0,40}configur", re.IGNORECASE
)
# «Where is `depth` set?»: the lines that give it a value.
_ASSIGNED = re.compile(r"^\W*where\b.*\b(?:set|assigned|initiali[sz]ed)\b\s*+\??\s*+$", re.IGNORECASE)


def _definition(evidence: Evidence) -> list[Claim]:
    """Return what it is, else the first line that sets a name which nothing bears."""
    if is_answered_by_lines(evidence):
        return [setting_line_claim(fact) for fact in settings_by_name(evidence, of_fields=True)[:1]]
    return definition(evidence)


def _bonus(question: Question, best: CodeFact, facts: Sequence[CodeFact], weights: Mapping[str, float]) -> float:
    """Return what a place gains that speaks of settings, has a value, or is called like the setting."""
    is_value, bonus = best.symbol_kind in VALUES, 0.0
    if speaks_of_settings(best.name, best.citation.file):
        bonus += CONFIGURING_BONUS * (2 if is_value else 1)
    if is_value:
        bonus += VALUE_BONUS * max((fact.score for fact in facts if "values" in fact.purposes), default=0.0)
    if precision(last_part(best.name), weights) == 1.0:
        bonus += WHOLE_NAME_BONUS + VALUE_BONUS * says_it_sets(best.docstring)
    return bonus


KIND = QuestionKind(
    name="configured",
    meaning="where it is set",
    wordings=wordings(
        800, r"\b(?:configur\w*|settings?|environment variables?|env vars?|defaults? (?:value )?(?:of|for))\b"
    ),
    takes_over=TakesOver("where", _ASSIGNED),
    gives_way=GivesWay("how", _HOW_CONFIGURED, ("configuration",)),
    aspects=("configuration", "definition"),
    added=("configuration",),
    imperative="Show where {subject} is configured",
    bonus=_bonus,
    leads_outside_tests=True,
    writers={"definition": _definition, "configuration": functools.partial(configuration, is_all=True)},
    first_roles=("setting",),
    plan=steps_by_aspect,
)
