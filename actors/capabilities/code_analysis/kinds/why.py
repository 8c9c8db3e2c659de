"""Gives the reason for a thing: «Why was `Lease` added?»."""

from __future__ import annotations

import re

from actors.capabilities.code_analysis.answers.evidence import Evidence
from actors.capabilities.code_analysis.answers.mechanism import with_code
from actors.capabilities.code_analysis.answers.wording import code_claim
from actors.capabilities.code_analysis.evidence.claims import Claim
from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.question.analysis import SAID_OF_PLACE
from actors.capabilities.code_analysis.question.kinds import Origin, QuestionKind, wordings

_WAS_NEW = re.compile(r"\b(?:added|introduced|created|invented|implemented|needed|exist|there)\b", re.IGNORECASE)


def _mechanism(evidence: Evidence) -> list[Claim]:
    """Return the code of the best place."""
    return [claim for entity in with_code(evidence)[:1] if (claim := code_claim(entity, evidence.question))]


KIND = QuestionKind(
    name="why",
    meaning="the reason for it",
    wordings=wordings(1100, r"^\W*why\b|\breason for\b"),
    aspects=("definition", "mechanism", "history"),
    added=("mechanism", "history"),
    besides_of_names=("history",),
    tail=SAID_OF_PLACE,
    asks_for_reason=True,
    origin=Origin(_WAS_NEW, needs_name=True),
    imperative="Give the reason for {subject}",
    names_decide="alone",
    writers={"mechanism": _mechanism},
    first_roles=("change",),
    plan=steps_by_aspect,
)
