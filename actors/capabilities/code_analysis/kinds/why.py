"""Gives the reason for a thing: «Why was `Lease` added?»."""

from __future__ import annotations

import re

from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.question.analysis import SAID_OF_PLACE
from actors.capabilities.code_analysis.question.kinds import Origin, QuestionKind, wordings

_WAS_NEW = re.compile(r"\b(?:added|introduced|created|invented|implemented|needed|exist|there)\b", re.IGNORECASE)


KIND = QuestionKind(
    name="why",
    wordings=wordings(1100, r"^\W*why\b|\breason for\b"),
    aspects=("definition", "mechanism", "history"),
    added=("mechanism", "history"),
    besides_of_names=("history",),
    tail=SAID_OF_PLACE,
    history_of_any=True,
    origin=Origin(_WAS_NEW, needs_name=True),
    imperative="Give the reason for {subject}",
    first_roles=("change",),
    plan=steps_by_aspect,
)
