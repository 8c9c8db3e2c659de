"""A person's word on an answer before it goes out: the draft that is shown, and what is released of it.

In the reviewed pipeline `draft` puts the answer together and routes to a review; `release` runs after the answer to
it. Nothing goes out that nobody has seen: a run that a bound ends gives no answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actors.capabilities.code_analysis.agents.integration import (
    TURN_ANSWER_CHARS,
    assemble,
    remember_all,
    without_answer,
)
from actors.capabilities.code_analysis.evidence.claims import plain
from actors.capabilities.code_analysis.evidence.commits import SHORT_HASH_CHARS
from runtime.agents.capability import StageContext, StageResult
from runtime.run.envelope import InterruptRequest
from runtime.run.stage_view import StageView

MAX_ANSWER_CHARS = 200_000

_NOT_OF_THE_ANSWER = frozenset({"turn", "agent_review_question", "agent_review_data"})


async def draft(context: StageContext, view: StageView) -> StageResult:
    """The answer as it would go out, and the question to the reviewer.

    The question does not quote the answer: it is told to callers that do not wait, too, and stands in the record of a
    rejected run. What the reviewer is shown is in `agent_review_data`.
    """
    output, turn = await assemble(context, view)
    asked = f"May the answer to '{plain(view.raw_input.strip()[:200])}' go out?"
    return StageResult({**output, "turn": turn, **_review_of(output, asked)})


async def release(context: StageContext, view: StageView) -> StageResult:
    """Give out what the reviewer approved, or the text that they put in its place.

    `modify` takes `{"final_response": text}`; anything else is asked for again.
    """
    decision = _decision(view)
    drafted = view.outputs.get("draft")
    if decision is None or drafted is None:
        why = f"No answer is given: the run ended before a person had approved one ({view.ended_by})."
        return StageResult(without_answer(view, why))
    answer = {name: value for name, value in drafted.items() if name not in _NOT_OF_THE_ANSWER}
    turn = drafted.get("turn")
    if decision == "modify":
        text = _text_given(view)
        if text is None:
            return StageResult({}, interrupt=_again(drafted))
        answer = modified(answer, text)
        turn = None if turn is None else {**turn, "answer": answer["final_response"][:TURN_ANSWER_CHARS]}
    kept = await remember_all(context, view, answer, turn, with_answer=decision == "approve")
    return StageResult({**answer, "review": decision, **kept})


def modified(answer: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The answer with a text of the reviewer's own: its marks are still exactly its citations.

    Citations whose marks the text does not have are left out, commits whose short hashes it does not have, and findings
    that rest on such a citation. What reads like a mark and was not checked gets round brackets.
    """
    kept = [citation for citation in answer["citations"] if _mark(citation) in text]
    marks = {_mark(citation) for citation in kept}
    findings = [
        finding for finding in answer["findings"] if all(_mark(citation) in marks for citation in finding["citations"])
    ]
    commits = [commit for commit in answer.get("commits", ()) if commit["sha"][:SHORT_HASH_CHARS] in text]
    final = {"final_response": _unmarked(text, marks), "citations": kept, "commits": commits, "findings": findings}
    return {**answer, **final}


def _unmarked(text: str, marks: set[str]) -> str:
    """The text in which only `marks` read as marks."""
    if not marks:
        return plain(text)
    mark = max((mark for mark in marks if mark in text), key=len, default=None)
    if mark is None:
        return plain(text)
    return mark.join(_unmarked(part, marks - {mark}) for part in text.split(mark))


def _mark(citation: Mapping[str, Any]) -> str:
    first, last = citation["start_line"], citation["end_line"]
    lines = str(first) if first == last else f"{first}-{last}"
    return f"[{citation['file']}:{lines}]"


def _decision(view: StageView) -> str | None:
    """What the reviewer decided, or None: nobody was asked, nobody answered, or the run was ended before."""
    interrupt = view.interrupt
    if interrupt is None or interrupt.kind != "agent_review" or interrupt.response is None:
        return None
    return interrupt.response.decision if interrupt.response.decision in {"approve", "modify"} else None


def _text_given(view: StageView) -> str | None:
    assert view.interrupt is not None
    assert view.interrupt.response is not None
    text = view.interrupt.response.data.get("final_response")
    return text if isinstance(text, str) and text.strip() and len(text) <= MAX_ANSWER_CHARS else None


def _review_of(output: Mapping[str, Any], asked: str) -> dict[str, Any]:
    shown = {"final_response": output["final_response"], "citations": [_mark(c) for c in output["citations"]]}
    return {"agent_review_question": asked, "agent_review_data": shown}


def _again(drafted: Mapping[str, Any]) -> InterruptRequest:
    wanted = f'modify takes {{"final_response": TEXT}} with a text of 1 to {MAX_ANSWER_CHARS} characters'
    return InterruptRequest(
        "agent_review", f"{wanted}. {drafted['agent_review_question']}", data=drafted["agent_review_data"]
    )
