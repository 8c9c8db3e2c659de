"""An answer by a model: it has the confidence of its last judge, and is not found when no claim of it is left."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.llm.messages import ModelRequest
from serve.answer_document import EXIT_ANSWERED, exit_status
from tests.capabilities.code_analysis.support import AnalysisHarness
from tests.capabilities.code_analysis.test_judging import TRUE, told, verdicts


@pytest.mark.parametrize("confidence", [0, 0.49, 0.5, 1])
async def test_an_answer_has_the_confidence_of_its_judge_which_alone_does_not_make_it_not_found(
    relay: AnalysisHarness, confidence: float
) -> None:
    judged = verdicts((1, "misread"), (2, "supported"))
    document = await told(relay, {**judged, "confidence": confidence})
    assert document["confidence"] == confidence
    assert (document["status"], exit_status(document)) == ("answered", EXIT_ANSWERED)
    assert document["answer"].startswith(TRUE)


async def test_the_confidence_is_that_of_the_last_round_which_wrote_the_whole_answer_anew(
    relay: AnalysisHarness,
) -> None:
    rounds: list[ModelRequest] = []

    def judge(request: ModelRequest) -> Any:
        rounds.append(request)
        both = ((1, "supported"), (2, "supported"))
        if len(rounds) > 1:
            return {**verdicts(*both), "confidence": 0.6}
        goals = [{"goal": "definition", "status": "unmet"}, {"goal": "mechanism", "status": "satisfied"}]
        return {**verdicts(*both, verdict="next_stage", goals=goals), "confidence": 0.9}

    document = await told(relay, judge)
    assert (len(rounds), document["confidence"]) == (2, 0.6)


async def test_an_answer_without_a_judge_has_no_confidence(relay: AnalysisHarness) -> None:
    document = await told(relay, "I would rather not.")
    assert document["citations"]
    assert "confidence" not in document


@pytest.mark.parametrize("claims", [[(1, "unsupported"), (2, "misread")], None], ids=["all struck", "none written"])
async def test_an_answer_of_which_no_claim_is_left_is_not_found_also_when_rounds_ran_out(
    relay: AnalysisHarness, claims: list[tuple[int, str]] | None
) -> None:
    nothing: dict[str, Any] = {"claims": [], "contradictions": [], "open_questions": []}
    judged = verdicts(*(claims or []), verdict="next_stage", goals=[])
    wrote = [nothing] if claims is None else []
    document = await told(relay, {**judged, "confidence": 0.9}, *wrote)
    assert document["citations"] == []
    assert document["status"] == "not_found"
    assert document["confidence"] == 0
    assert exit_status(document) != EXIT_ANSWERED
