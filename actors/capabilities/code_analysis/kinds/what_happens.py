"""Traces what happens in a case, or what follows what: «What happens when a lease expires?»."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.plans.by_aspect import steps_by_aspect
from actors.capabilities.code_analysis.question.analysis import FLOW, Question
from actors.capabilities.code_analysis.question.kinds import QuestionKind, of_names_alone, wordings
from actors.capabilities.code_analysis.ranking.documented_cases import says_it_is_for
from actors.capabilities.code_analysis.ranking.relevance import DOING
from runtime.codebase.files.words import query_terms

CASE_BONUS = 1.6


def _asks_relations(question: Question) -> bool:
    """Return whether it asks for the flow of what it names, or of nothing else."""
    return bool(question.identifiers and FLOW.search(question.text)) or of_names_alone(question)


def _bonus(question: Question, best: CodeFact, facts: Sequence[CodeFact], weights: Mapping[str, float]) -> float:
    """Return what code gains that says of itself that it is there for the case."""
    return CASE_BONUS * says_it_is_for(best.docstring, question.terms) if best.symbol_kind in DOING else 0.0


KIND = QuestionKind(
    name="what_happens",
    meaning="what follows from something",
    wordings=(
        *wordings(900, r"\b(?:flow of|call (?:chain|graph|tree)|control flow|step by step)\b|^\W*(?:trace|draw)\b"),
        # Wider than the wordings of a list and of a reason, which have smaller places.
        *wordings(1200, r"\bwhat happens\b|\bwhat (?:is done|goes on) when\b"),
    ),
    aspects=("definition", "mechanism", "usage"),
    added=("mechanism",),
    asks_relations=_asks_relations,
    said=frozenset(query_terms("show draw trace follow flow call chain graph tree step diagram sequence path").counts),
    said_in=FLOW,
    shows_flow=True,
    names_decide="alone",
    prefers_running_code=True,
    bonus=_bonus,
    imperative="Trace {subject}",
    plan=steps_by_aspect,
)
