"""Formats the explanation of an answer as Markdown: plan, attempts and route of each round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def explanation_text(document: dict[str, Any]) -> str:
    """Return the explanation and attempts of an answer document as Markdown; empty without an explanation."""
    explained = document.get("explanation")
    if not explained:
        return ""
    return "\n".join(["", "---", "", "**How this answer came about**", "", *_lines(document, explained)]) + "\n"


def _lines(document: dict[str, Any], explained: dict[str, Any]) -> Iterator[str]:
    yield f"Intent: {explained['intent'].get('intent') or 'none'}"
    for goal in explained["goals"]:
        yield f"- goal {goal['id']}: {goal['text']} ({goal['status']})"
    attempts = document.get("attempts", [])
    for number, done in enumerate(explained["rounds"]):
        tried = attempts[number]["steps"] if number < len(attempts) else {}
        yield from _round(done, tried)


def _round(done: dict[str, Any], tried: dict[str, Any]) -> Iterator[str]:
    plan, size = done["plan"], done["context"]
    yield ""
    yield f"Round {done['round']}: {plan.get('rationale')} (feasibility {plan.get('feasibility_score')} of 100)"
    for step in done["steps"]:
        how = ", ".join(f"{a['strategy']}: {a['status']} {a.get('results', 0)}" for a in tried.get(step["step"], []))
        yield f"- {step['step']}, {step['tool']}: {step['status']}, {step['found']} places ({how or 'no attempts'})"
    if size.get("raw_tokens"):
        saved = 100 - round(100 * size["fact_tokens"] / size["raw_tokens"])
        yield f"- {size['fact_tokens']} tokens of facts for {size['raw_tokens']} of tool output: {saved} % saved"
    yield f"- then: {done['route']} ({done['because']}), {done['new_evidence']} new places"
