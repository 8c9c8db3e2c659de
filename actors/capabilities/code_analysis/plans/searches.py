"""Builds the steps that search for places, and those that read what answers a question in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from actors.capabilities.code_analysis.answers.documents.how_to import GUIDE_LINES, MAX_GUIDES, READ_GUIDES
from actors.capabilities.code_analysis.evidence.steps import Purpose, Step
from actors.capabilities.code_analysis.question.analysis import Question
from actors.capabilities.code_analysis.question.kinds import PlanRequest
from actors.capabilities.code_analysis.question.parts import searched_parts
from actors.capabilities.code_analysis.ranking.answer_order import PART
from runtime.codebase.files.words import index_terms
from runtime.codebase.search.values.value_questions import described_parts, value_parts

LOCATED_PER_STEP = 20
MAX_NAMED = 4
MAX_WORDS = 6
READ_PLACES = 4
READ_LINES = 80
ANSWERING_PLACES = 12

# What a step that is repeated for a place fills in: its lines, or its name.
LINES = {"path": "file", "start_line": "start_line", "end_line": "end_line"}
SYMBOL = {"path": "file", "symbol": "name"}


def locate(
    step_id: str, purpose: Purpose, query: str, goals: tuple[str, ...], max_results: int, kinds: Sequence[str] = ()
) -> Step:
    """Build a step that searches for a query."""
    asked: dict[str, Any] = {"query": query, "max_results": max_results, **({"kinds": list(kinds)} if kinds else {})}
    return Step(step_id, purpose, "locate", asked, goals, f"find '{query[:60]}'")


def answer_steps(request: PlanRequest, goal: str) -> list[Step]:
    """Build steps that search for the whole question, its parts, its names and its documents, and read the best."""
    question, goals = request.question, (goal,)
    whole = locate("answer", "answer", question.text, goals, ANSWERING_PLACES)
    if value_parts(question.text) or described_parts(question.text):
        whole = msgspec.structs.replace(whole, arguments={**whole.arguments, "values": True})
    searches = [whole]
    for number, part in enumerate(searched_parts(question.text)):
        searches.append(locate(f"{PART}{number}", "part", part, goals, ANSWERING_PLACES))
    for number, name in enumerate(question.identifiers[:MAX_NAMED]):
        searches.append(locate(f"name{number}", "find", name, goals, MAX_NAMED))
    searches += word_steps(request, goals, MAX_NAMED)
    found_by = tuple(step.id for step in searches)
    why = "read the best places"
    read = Step("read", "read", "read_code", {"max_lines": READ_LINES}, goals, why, found_by, READ_PLACES, LINES)
    return [*searches, msgspec.structs.replace(read, as_ranked=True)]


def word_steps(request: PlanRequest, goals: tuple[str, ...], max_results: int) -> list[Step]:
    """Build steps that search for each word of the question, from the second pass on."""
    if request.pass_number < 2:
        return []
    words = _words(request.question, request.is_wider)
    return [locate(f"word{number}", "find", term, goals, max_results) for number, term in enumerate(words)]


def guide_steps(question: Question, goals: tuple[str, ...]) -> list[Step]:
    """Build steps that search documents for sections about the subject and read the best ones."""
    short, why = {"max_lines": GUIDE_LINES}, "what the documentation says"
    found = locate("guides", "documents", question.topic or question.text, goals, MAX_GUIDES, ["section"])
    return [found, Step("guide", "guidance", "read_code", short, goals, why, (found.id,), READ_GUIDES, LINES)]


def distinct_steps(steps: Sequence[Step]) -> list[Step]:
    """Return the steps in order, without those that make the calls of an earlier one."""
    seen: set[bytes] = set()
    kept = []
    for step in steps:
        key = msgspec.msgpack.encode((step.tool, step.arguments, step.top_of, step.fill))
        if key not in seen:
            seen.add(key)
            kept.append(step)
    return kept


def _words(question: Question, is_wider: bool) -> tuple[str, ...]:
    """Return the words that a later pass searches for one by one."""
    words = _parts_of(question) if is_wider else question.terms[:MAX_WORDS]
    return () if words == (question.text.strip(),) else words


def _parts_of(question: Question) -> tuple[str, ...]:
    """Return the question's words and the parts of its names, each once."""
    parts = [part for name in question.identifiers for part in index_terms(name).split()]
    return tuple(dict.fromkeys((*question.terms, *parts)))[: 2 * MAX_WORDS]
