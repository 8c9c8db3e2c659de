"""Prepares what a model is shown: facts in order, and text without control characters."""

from __future__ import annotations

from actors.capabilities.code_analysis.evidence.claims import plain
from actors.capabilities.code_analysis.evidence.facts import Fact
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.ranking.delegation import ranked_places
from runtime.agents.capability import StageContext
from runtime.llm.stage_llm import StageLlm

MOST_TURNS = 3


def model_of(context: StageContext) -> StageLlm:
    assert context.llm is not None
    return context.llm


def best_first(question: Question, facts: list[Fact]) -> list[Fact]:
    """Sort facts by the rank of their places, so that the least important are cut first."""
    order = {
        (entity.citation.file, entity.citation.start_line): number
        for number, entity in enumerate(ranked_places(question, facts))
    }
    return sorted(facts, key=lambda fact: order.get((fact.citation.file, fact.citation.start_line), len(order)))


def sanitised(text: str, most: int = 300) -> str:
    """Put a model's text on one line of at most `most` characters, without anything that reads like a citation mark."""
    return plain(one_line("".join(char for char in text if char.isprintable() or char.isspace()), most))


def one_line(text: str, most: int) -> str:
    return " ".join(str(text).split())[:most]
