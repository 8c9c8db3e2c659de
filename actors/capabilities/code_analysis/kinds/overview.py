"""Describes the repository as a whole: «What is this project?», «How is it structured?»."""

from __future__ import annotations

from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.question.kinds import THIS_PROJECT, QuestionKind, of_relations, wordings

KIND = QuestionKind(
    name="overview",
    meaning="the repository as a whole",
    wordings=wordings(
        100,
        rf"\b(?:what (?:is|does)|explain|describe|summari[sz]e|overview of) {THIS_PROJECT}\b|^\W*overview",
        rf"\b(?:structure|architecture|layout) of {THIS_PROJECT}\b|how is {THIS_PROJECT} (?:organi|struct)",
    ),
    aspects=("structure",),
    asks_relations=of_relations,
    needs_no_subject=True,
    imperative="Describe the repository",
    plan=steps_by_aspect,
)
