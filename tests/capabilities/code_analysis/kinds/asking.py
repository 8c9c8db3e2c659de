"""What the tests of kinds ask: the plan of a question, and its answer."""

from __future__ import annotations

from actors.capabilities.code_analysis.agents.planner import plan_steps
from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.question.analysis import analyse
from runtime.primitives.ids import GoalId
from runtime.run.goals import Goal
from tests.capabilities.code_analysis.support import AnalysisHarness, mark_faults


def planned(text: str) -> list[Step]:
    """The steps of the first pass of a question."""
    question = analyse(text)
    return plan_steps(question, [Goal(GoalId(aspect), aspect) for aspect in question.aspects], 1)


def step_ids(text: str) -> list[str]:
    """The ids of these steps."""
    return [step.id for step in planned(text)]


async def told_of(desk: AnalysisHarness, question: str) -> str:
    """The text of an answer; its marks are its citations."""
    document = await desk.ask(question)
    assert mark_faults(document["answer"], document["citations"]) == []
    return str(document["answer"])
