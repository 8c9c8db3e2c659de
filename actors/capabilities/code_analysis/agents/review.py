"""Submits the draft answer to a reviewer, and releases what the reviewer approved.

In the reviewed pipeline `draft` assembles the answer and routes to a review; `release` runs after the review. Only
reviewed answers are released: a run ended by a bound gives none.
"""

from __future__ import annotations

import msgspec

from actors.capabilities.code_analysis.agents.integration import (
    TURN_ANSWER_CHARS,
    assemble,
    remember_all,
    without_answer,
)
from actors.capabilities.code_analysis.evidence.claims import plain
from actors.capabilities.code_analysis.evidence.commits import SHORT_HASH_CHARS
from actors.capabilities.code_analysis.handover.answer import (
    AnswerCitation,
    AnswerOutput,
    AnswerPart,
    DraftOutput,
    ReviewMaterial,
    draft_if_any,
)
from actors.capabilities.code_analysis.handover.reading import written
from runtime.agents.capability import StageContext, StageResult
from runtime.codebase.citation import Citation
from runtime.run.envelope import InterruptRequest
from runtime.run.stage_view import StageView

MAX_ANSWER_CHARS = 200_000


async def draft(context: StageContext, view: StageView) -> StageResult:
    """Assemble the answer for release, and the question to the reviewer.

    The question does not quote the answer: it is also sent to callers that do not wait, and stays in the record of a
    rejected run. The material for the reviewer is in `agent_review_data`.
    """
    answer, turn = await assemble(context, view)
    material = ReviewMaterial(answer.final_response, [_mark(citation) for citation in answer.citations])
    drafted = DraftOutput(
        **msgspec.structs.asdict(answer),
        turn=turn,
        agent_review_question=f"May the answer to '{plain(view.raw_input.strip()[:200])}' go out?",
        agent_review_data=material,
    )
    return StageResult(written(drafted))


async def release(context: StageContext, view: StageView) -> StageResult:
    """Release the approved answer, or the text that the reviewer put in its place.

    `modify` takes `{"final_response": text}`; any other data is asked for again.
    """
    decision = _decision(view)
    drafted = draft_if_any(view)
    if decision is None or drafted is None:
        why = f"No answer is given: the run ended before a person had approved one ({view.ended_by})."
        return StageResult(written(without_answer(view, why)))
    answer, turn = drafted.answer, drafted.turn
    if decision == "modify":
        text = _text_given(view)
        if text is None:
            return StageResult({}, interrupt=_again(drafted))
        answer = modified(answer, text)
        message = answer.final_response[:TURN_ANSWER_CHARS]
        turn = None if turn is None else msgspec.structs.replace(turn, answer=message)
    answer = await remember_all(context, view, answer, turn, with_answer=decision == "approve")
    return StageResult(written(msgspec.structs.replace(answer, review=decision)))


def modified(answer: AnswerOutput, text: str) -> AnswerOutput:
    """Replace the answer's text by the reviewer's; its marks remain exactly its citations.

    Dropped are citations whose marks the text does not contain, commits whose short hashes it does not contain, and
    findings with a dropped citation; a part of the question without citations left is not answered. Text that reads
    like a mark and was not checked gets round brackets.
    """
    kept = [citation for citation in answer.citations if _mark(citation) in text]
    marks = {_mark(citation) for citation in kept}
    return msgspec.structs.replace(
        answer,
        final_response=_unmarked(text, marks),
        citations=kept,
        commits=[commit for commit in answer.commits if commit.sha[:SHORT_HASH_CHARS] in text],
        findings=[
            finding for finding in answer.findings if all(_mark(citation) in marks for citation in finding.citations)
        ],
        parts=[_part(part, marks) for part in answer.parts],
    )


def _part(part: AnswerPart, marks: set[str]) -> AnswerPart:
    kept = [citation for citation in part.citations if _mark(citation) in marks]
    return msgspec.structs.replace(part, citations=kept, status=part.status if kept else "not_found")


def _unmarked(text: str, marks: set[str]) -> str:
    """Change the text so that only `marks` read as marks."""
    if not marks:
        return plain(text)
    mark = max((mark for mark in marks if mark in text), key=len, default=None)
    if mark is None:
        return plain(text)
    return mark.join(_unmarked(part, marks - {mark}) for part in text.split(mark))


def _mark(citation: AnswerCitation) -> str:
    return Citation(*citation.place).mark


def _decision(view: StageView) -> str | None:
    """Return the reviewer's decision; None when there was no review, no response, or the run ended before."""
    interrupt = view.interrupt
    if interrupt is None or interrupt.kind != "agent_review" or interrupt.response is None:
        return None
    return interrupt.response.decision if interrupt.response.decision in {"approve", "modify"} else None


def _text_given(view: StageView) -> str | None:
    assert view.interrupt is not None
    assert view.interrupt.response is not None
    text = view.interrupt.response.data.get("final_response")
    return text if isinstance(text, str) and text.strip() and len(text) <= MAX_ANSWER_CHARS else None


def _again(drafted: DraftOutput) -> InterruptRequest:
    wanted = f'modify takes {{"final_response": TEXT}} with a text of 1 to {MAX_ANSWER_CHARS} characters'
    return InterruptRequest(
        "agent_review",
        f"{wanted}. {drafted.agent_review_question}",
        data=msgspec.to_builtins(drafted.agent_review_data),
    )
