"""Tells the value of a setting that is given none: «What is the default timeout?»."""

from __future__ import annotations

from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.question.kinds import QuestionKind, never, wordings

KIND = QuestionKind(
    name="default_value",
    meaning="what it is when nothing is given",
    wordings=wordings(
        790,
        r"\bwhat (?:is|are|was) (?:\w+ ){0,3}defaults?\b(?! (?:behaviou?r|constructor|export|implementation))",
        r"\b(?:how (?:long|many|much|often|big|large|deep|wide)|which|what) .{1,100}\bby default\b",
        r"\b(?:what|which) \w+ is used (?:when|if) (?:none|nothing)\b",
        r"^\W*(?:is|are|does|do) .{1,120}\b(?:on |off |enabled |disabled )?by default\W*$",
        r"\bset to by default\b",
    ),
    aspects=("configuration", "definition"),
    asks_relations=never,
    imperative="Tell the value of {subject}",
    plan=steps_by_aspect,
)
