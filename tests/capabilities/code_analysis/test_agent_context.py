"""What agents with a model are shown: typed facts within their budget, and no output of tools."""

from __future__ import annotations

import pytest

from actors.capabilities.code_analysis.evidence.commits import CommitNote
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.handover.execution import ExecutionOutput
from actors.capabilities.code_analysis.handover.reading import read
from actors.capabilities.code_analysis.models import agent_context
from actors.capabilities.code_analysis.models.agent_context import ROOM_TOKENS, budget_of
from runtime.context.models import FactCategory
from tests.capabilities.code_analysis.support import AnalysisHarness, cited

COMMIT = CommitNote("ab" * 20, "Ann", "2024-05-01", "Ten at most")


def code(number: int, size: int = 400) -> CodeFact:
    return CodeFact("code", cited("a.py", number), step="read", name=f"f{number}", text="x" * size)


def test_facts_are_numbered_as_they_are_cited_and_carry_their_lines() -> None:
    facts = [code(1, 8), code(2, 8)]
    shown = agent_context.of_facts("synthesizer", "why", ["goal"], facts, 3)
    assert agent_context.numbered(shown, facts) == [
        "1. code f1 (a.py:1-1)\n1| xxxxxxxx",
        "2. code f2 (a.py:2-2)\n2| xxxxxxxx",
    ]
    first = shown.context.understanding.facts[0]
    assert (first.source, first.step, first.category) == ("read:code", 3, FactCategory.CODE_STRUCTURE)


def test_beyond_the_budget_excerpts_of_the_last_facts_go_first_and_the_facts_stay() -> None:
    facts = [code(n, 1_200) for n in range(1, 41)]
    shown = agent_context.of_facts("synthesizer", "why", [], facts, 1)
    assert shown.total_tokens <= budget_of("synthesizer", ROOM_TOKENS).total_tokens
    lines = agent_context.numbered(shown, facts)
    assert len(lines) == 40
    assert "\n" in lines[0]
    assert lines[-1].endswith("\n(lines 40 to 40 of it are not shown)")
    assert agent_context.record(shown, 20_000)["cut"][0]["part"] == "excerpts"


@pytest.mark.parametrize(("room_tokens", "last_shown"), [(40, 1), (400, 14), (20_000, 100)])
def test_code_that_does_not_fit_whole_is_cut_between_lines_and_the_model_is_told_which_lines_it_lacks(
    room_tokens: int, last_shown: int
) -> None:
    text = "\n".join(f"line of code number {number}" for number in range(1, 101))
    fact = CodeFact("code", cited("a.py", 1, 100), step="read", name="long", text=text)
    room = agent_context.Room(room_tokens)
    shown = agent_context.of_facts("synthesizer", "why", [], [fact], 1, room)
    (said,) = agent_context.numbered(shown, [fact])
    last = max((int(line.partition("|")[0]) for line in said.split("\n") if "| " in line), default=0)
    assert (last > 0) is (last_shown > 0)
    assert (last == 100) is (last_shown == 100)
    assert said.endswith(f"(lines {last + 1} to 100 of it are not shown)") is (last < 100)
    assert shown.total_tokens <= room_tokens


def test_room_for_facts_follows_the_context_of_the_model() -> None:
    facts = [code(n, 4_000) for n in range(1, 41)]
    small = agent_context.of_facts("synthesizer", "why", [], facts, 1, agent_context.Room(4_000))
    large = agent_context.of_facts("synthesizer", "why", [], facts, 1, agent_context.Room(60_000))
    assert len(small.context.excerpts) == 3
    assert len(large.context.excerpts) == 40


def test_a_commit_is_shown_as_git_told_it() -> None:
    fact = CodeFact("change", cited("a.py", 1), about="deliver", commit=COMMIT, deed="changed")
    (line,) = agent_context.numbered(agent_context.of_facts("synthesizer", "why", [], [fact], 1), [fact])
    assert line == "1. change deliver: `ababababab`, 2024-05-01, `Ann`: `Ten at most`"


@pytest.mark.parametrize("agent", ["intent", "critic"])
def test_what_others_wrote_is_cut_from_its_end(agent: str) -> None:
    shown = agent_context.of_lines(agent, "why", [], [f"{n}" * 400 for n in range(200)])
    assert 0 < len(shown.context.recent) < 200
    assert shown.context.recent[0] == "0" * 400
    assert shown.total_tokens <= budget_of(agent, ROOM_TOKENS).total_tokens


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
