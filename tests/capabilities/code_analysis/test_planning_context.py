"""What a planner with a model is told, and how much of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.capabilities.code_analysis.evidence.steps import StepReport
from actors.capabilities.code_analysis.handover.passes import last_pass
from actors.capabilities.code_analysis.models.agent_context import ROOM_TOKENS, budget_of, record
from actors.capabilities.code_analysis.models.planning_context import MAX_LINE_CHARS, planner_context
from runtime.codebase.knowledge.earlier_answers import CitedLines, EarlierAnswer
from runtime.llm.messages import ModelRequest
from runtime.llm.scripted import ScriptedModel
from runtime.run.goals import GoalBoard, RoundSummary
from runtime.run.stage_view import StageView
from tests.capabilities.code_analysis.model_desk import ModelDesk, by_agent
from tests.capabilities.code_analysis.support import AnalysisHarness, view
from tests.capabilities.code_analysis.test_model_reasoners import GOALS_ALONE, GOOD

QUESTION = "How does deliver_parcel carry a parcel?"
CITED = CitedLines("relay/van.py", 6, 10, "")
MEASURED = [{"tool": "locate", "calls": 4, "usable": 3, "mean_ms": 10}]


def told(given: StageView, hint: object = None, measured: Any = ()) -> tuple[str, ...]:
    return planner_context(given, "why", ["goal"], hint, measured).context.recent


def knowing(finished: tuple[RoundSummary, ...] = (), **memory: Any) -> StageView:
    perceived = {"normalized_input": "why", "memory_context": {"turns": [], **memory}}
    return view("why", goals=GoalBoard(finished_rounds=finished), perception=perceived)


def test_all_that_is_known_is_told_what_matters_most_first() -> None:
    steps = [StepReport("m0", "locate", "ok", found=3), StepReport("read", "read_code", "empty")]
    given = knowing(
        (RoundSummary(1, synthesis={"steps": msgspec.to_builtins(steps)}),),
        earlier_answers=[EarlierAnswer("who?", (), "", (CITED,))],
        understood=[{"file": "relay/van.py", "summary": "Vans go.", "symbols": ["deliver_parcel"]}],
    )
    assert told(given, "look for vans", MEASURED) == (
        "hint: look for vans",
        "pass 1 had results: locate ok 3, read_code empty 0",
        "for 'who?' these were read: relay/van.py lines 6 to 10",
        "file relay/van.py: Vans go. (defines deliver_parcel)",
        "tool locate: 3 of 4 calls found something, 10 ms each",
    )


def test_nothing_is_told_where_nothing_is_known() -> None:
    assert told(knowing()) == ()


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_the_budget_of_what_went_before_is_exact(more: int) -> None:
    tokens_each = MAX_LINE_CHARS // 4
    fits = budget_of("planner", ROOM_TOKENS).recent_tokens // tokens_each
    files = [{"file": "x" * 400} for _ in range(fits + more)]
    shown = planner_context(knowing(understood=files), "why", [], None, ())
    assert len(shown.context.recent) == min(fits, fits + more)
    assert bool(shown.cut) is (more == 1)
    assert shown.total_tokens <= budget_of("planner", ROOM_TOKENS).total_tokens


def test_what_reads_like_a_mark_or_steers_a_terminal_is_not_passed_on() -> None:
    (line,) = told(knowing(understood=[{"file": "a\x1b[2J\nb", "summary": "see [relay/van.py:1]"}]))
    assert line == "file a [2J b: see (relay/van.py:1)"


def test_the_share_saved_is_measured_against_what_the_pass_before_gave() -> None:
    given = knowing((RoundSummary(1, synthesis={"steps": [], "context": {"raw_tokens": 4_000}}),))
    assert last_pass(knowing()).context.raw_tokens == 0
    assert last_pass(given).context.raw_tokens == 4_000
    shown = planner_context(given, "why", [], None, ())
    assert record(shown, last_pass(given).context.raw_tokens)["saved_share"] > 0.99


async def test_a_model_that_plans_is_told_what_earlier_sessions_left_and_the_record_says_how_much(
    own_root: Path, tmp_path: Path
) -> None:
    desk = await AnalysisHarness.open(own_root, tmp_path / "state")
    await desk.run(QUESTION, "s")
    asked: list[str] = []

    def plan(request: ModelRequest) -> Any:
        asked.append(request.messages[1].content)
        return GOOD["planner"]

    script = by_agent({**GOOD, "intent": GOALS_ALONE, "planner": plan})
    document = await ModelDesk(desk, ScriptedModel([script])).ask(QUESTION + " please", session_id="s", explain=True)
    assert document["terminal_reason"] == "completed"
    known = asked[0].partition("Known already:\n")[2]
    assert f"for '{QUESTION}' these were read: relay/van.py" in known
    assert "file relay/van.py" in known
    assert "deliver_parcel" in known
    assert "tool locate: " in known
