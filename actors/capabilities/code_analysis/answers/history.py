"""What is told of the commits that changed a thing, and of the files that changed with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from actors.capabilities.code_analysis.answers.evidence import MAX_COMPARED, Evidence
from actors.capabilities.code_analysis.answers.wording import change_claim, together_claim
from actors.capabilities.code_analysis.evidence.claims import Claim, cut_to
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.kinds import kind_of
from runtime.codebase.files.path_kinds import kind_of_path
from runtime.codebase.files.words import index_terms

MAX_CHANGES = 4
MAX_TOGETHER, FEW_TOGETHER = 8, 3


def history(evidence: Evidence) -> list[Claim]:
    """For each thing its newest commits, those first that speak of the question where it asks for reasons.

    Who changed the lines of a document that names a thing is no reason for it.
    """
    by_thing: dict[str, list[CodeFact]] = {}
    asks_for_code = kind_of(evidence.question).asks_for_reason and not evidence.question.paths
    for fact in evidence.of("change"):
        if asks_for_code and kind_of_path(fact.citation.file) == "docs":
            continue
        by_thing.setdefault(fact.about, []).append(fact)
    claims = [claims_of_thing(evidence.question, facts) for facts in list(by_thing.values())[:MAX_COMPARED]]
    return [claim for found in claims for claim in found]


def claims_of_thing(question: Question, facts: Sequence[CodeFact]) -> list[Claim]:
    """What is told of the changes of one thing: the commits worth telling, since when it is there, what is open."""
    by_deed = {deed: [fact for fact in facts if fact.deed == deed] for deed in ("began", "open", "ends")}
    changed = [fact for fact in facts if fact.deed in {"wrote", "changed"}]
    shown = _worth_telling(question, changed)
    order: Literal["last", "some"] = "last" if shown[:1] == changed[:1] else "some"
    claims = [change_claim(fact, "before" if place else order) for place, fact in enumerate(shown)]
    began = [change_claim(fact) for fact in by_deed["began"]]
    return [*began, *claims, *map(change_claim, by_deed["open"][:1]), *map(change_claim, by_deed["ends"][:1])]


def _worth_telling(question: Question, changed: list[CodeFact]) -> list[CodeFact]:
    """The newest changes; where a reason is asked for, those first that share words with the question."""
    if not kind_of(question).asks_for_reason:
        return changed[:MAX_CHANGES]
    wanted = set(question.terms)
    shares = {
        fact.name: len(wanted.intersection(index_terms(fact.commit.subject).split())) for fact in changed if fact.commit
    }
    best = sorted(changed, key=lambda fact: -shares[fact.name])[:MAX_CHANGES]
    return [fact for fact in changed if fact in best]


def together(evidence: Evidence) -> list[Claim]:
    """Files that changed in the same commits most often, documents last; of those that did so once, a few."""
    found = sorted(evidence.of("together"), key=lambda fact: (_is_prose(fact.name), -fact.count))
    often = [fact for fact in found if fact.count > 1]
    told = often or found
    claims = [together_claim(fact, is_first=not place) for place, fact in enumerate(told)]
    return cut_to(claims, MAX_TOGETHER if often else FEW_TOGETHER)


def _is_prose(file: str) -> bool:
    return kind_of_path(file) == "docs" or file.endswith((".md", ".rst", ".txt"))
