"""Answers where a thing is defined, or where something is done: «Where is `decide` defined?»."""

from __future__ import annotations

from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.question.analysis import SAID_OF_PLACE, Question
from actors.capabilities.code_analysis.question.kinds import QuestionKind, wordings


def _asks_for_deed(question: Question) -> bool:
    """Return whether it asks where something is done."""
    return question.asks_for_doing


KIND = QuestionKind(
    name="where",
    meaning="place of a thing",
    wordings=wordings(
        1300,
        r"^\W*where\b|\b(?:find|locate)\b|\bin which file\b"
        # «Which file names are refused?» asks for no file.
        r"|\bwhich (?:file|module|class|function)\b(?! \w+s (?:are|were|do|does)\b)",
    ),
    aspects=("definition",),
    added=("definition",),
    asks_for_deed=_asks_for_deed,
    may_be_set_up=True,
    tail=SAID_OF_PLACE,
    names_decide="alone",
    imperative="Locate {subject}",
    plan=steps_by_aspect,
)
