"""What agents with a model are shown: typed facts within their budget, and no output of tools."""

from __future__ import annotations

import pytest

from actors.capabilities.code_analysis.evidence.commits import CommitNote
from actors.capabilities.code_analysis.evidence.facts import Fact
from actors.capabilities.code_analysis.handover.execution import ExecutionOutput
from actors.capabilities.code_analysis.handover.reading import read
from actors.capabilities.code_analysis.models import agent_context
from actors.capabilities.code_analysis.models.agent_context import BUDGETS
from runtime.context.models import FactCategory
from tests.capabilities.code_analysis.support import AnalysisHarness, cited

COMMIT = CommitNote("ab" * 20, "Ann", "2024-05-01", "Ten at most")


def code(number: int, size: int = 400) -> Fact:
    return Fact("code", cited("a.py", number), step="read", name=f"f{number}", text="x" * size)


def test_facts_are_numbered_as_they_are_cited_and_carry_their_lines() -> None:
    shown = agent_context.of_facts("synthesizer", "why", ["goal"], [code(1, 8), code(2, 8)], 3)
    assert agent_context.numbered(shown) == ["1. code f1 (a.py:1-1)\nxxxxxxxx", "2. code f2 (a.py:2-2)\nxxxxxxxx"]
    first = shown.context.understanding.facts[0]
    assert (first.source, first.step, first.category) == ("read:code", 3, FactCategory.CODE_STRUCTURE)


def test_beyond_the_budget_excerpts_of_the_last_facts_go_first_and_the_facts_stay() -> None:
    shown = agent_context.of_facts("synthesizer", "why", [], [code(n, 1_200) for n in range(1, 41)], 1)
    assert shown.total_tokens <= BUDGETS["synthesizer"].total_tokens
    lines = agent_context.numbered(shown)
    assert len(lines) == 40
    assert "\n" in lines[0]
    assert "\n" not in lines[-1]
    assert agent_context.record(shown, 20_000)["cut"][0]["part"] == "excerpts"


def test_a_commit_is_shown_as_git_told_it() -> None:
    fact = Fact("change", cited("a.py", 1), about="deliver", commit=COMMIT, deed="changed")
    (line,) = agent_context.numbered(agent_context.of_facts("synthesizer", "why", [], [fact], 1))
    assert line == "1. change deliver: `ababababab`, 2024-05-01, `Ann`: `Ten at most`"


@pytest.mark.parametrize("agent", ["intent", "critic"])
def test_what_others_wrote_is_cut_from_its_end(agent: str) -> None:
    shown = agent_context.of_lines(agent, "why", [], [f"{n}" * 400 for n in range(100)])
    assert 0 < len(shown.context.recent) < 100
    assert shown.context.recent[0] == "0" * 400
    assert shown.total_tokens <= BUDGETS[agent].total_tokens


def test_the_share_saved_is_measured_against_what_tools_gave() -> None:
    shown = agent_context.of_facts("synthesizer", "why", [], [code(1, 8)], 1)
    assert agent_context.record(shown, 4 * shown.total_tokens)["saved_share"] == 0.75
    assert agent_context.record(shown, 0)["saved_share"] is None


async def test_a_model_is_shown_much_less_than_the_tools_gave(relay: AnalysisHarness) -> None:
    envelope = await relay.run("How does deliver_parcel work and who calls accept?")
    execution = read("execution", envelope.outputs["execution"], ExecutionOutput)
    record = agent_context.record(
        agent_context.of_facts("synthesizer", "how", [], execution.facts, 1), execution.context.raw_tokens
    )
    assert record["saved_share"] >= 0.5
