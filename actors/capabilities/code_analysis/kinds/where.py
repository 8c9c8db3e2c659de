"""Answers where a thing is defined, or where something is done: «Where is `decide` defined?»."""

from __future__ import annotations

from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.question.analysis import SAID_OF_PLACE
from actors.capabilities.code_analysis.question.kinds import QuestionKind, wordings

KIND = QuestionKind(
    name="where",
    wordings=wordings(
        1300, r"^\W*where\b|\b(?:find|locate)\b|\bin which file\b|\bwhich (?:file|module|class|function)\b"
    ),
    aspects=("definition",),
    added=("definition",),
    tail=SAID_OF_PLACE,
    imperative="Locate {subject}",
    plan=steps_by_aspect,
)
