"""Prepares what a model is shown: facts in order, and text without control characters."""

from __future__ import annotations

from actors.capabilities.code_analysis.evidence.claims import plain
from runtime.agents.capability import StageContext
from runtime.llm.stage_llm import StageLlm

MOST_TURNS = 3


def model_of(context: StageContext) -> StageLlm:
    assert context.llm is not None
    return context.llm


def sanitised(text: str, most: int = 300) -> str:
    """Put a model's text on one line of at most `most` characters, without anything that reads like a citation mark."""
    return plain(one_line("".join(char for char in text if char.isprintable() or char.isspace()), most))


def one_line(text: str, most: int) -> str:
    return " ".join(str(text).split())[:most]
