"""What only a person can settle: asked at most once, after the code was explored, and only where somebody answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from actors.capabilities.code_analysis.agents.clarification import MANY_MATCHES, blocking_issues
from actors.capabilities.code_analysis.capability import CAPABILITY
from actors.capabilities.code_analysis.evidence.facts import CodeFact
from actors.capabilities.code_analysis.question.analysis import analyse
from runtime.agents.capability import StageContext, StageInput
from runtime.agents.stage_runner import Agent
from runtime.hosting.local_runner import LocalRunner
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, InterruptResponse
from runtime.run.stage_view import StageView
from runtime.store.run_log import MemoryRunLog
from serve.answer_document import Ask
from serve.runtimes.answering import request_of
from tests.capabilities.code_analysis.support import AnalysisHarness, cited, pipeline, reasoning, with_agents

FORMS = ["code_analysis", "code_analysis_replan"]
UNKNOWN = "How does `deliver_letter` work?"
BOTH_FORMS = pytest.mark.parametrize("form", FORMS)


def defined(name: str, file: str = "a.py", line: int = 1, **more: Any) -> CodeFact:
    return CodeFact("definition", cited(file, line, quote=f"def {name}"), name=name, **more)


def test_a_name_that_is_not_there_is_named_with_those_that_are_like_it() -> None:
    (issue,) = blocking_issues(analyse(UNKNOWN), [defined("deliver_parcel"), defined("open_door", line=3)])
    assert "There is no `deliver_letter`" in issue
    assert "`deliver_parcel`" in issue
    assert "open_door" not in issue


def test_a_name_that_stands_in_any_line_that_was_shown_is_there() -> None:
    assert blocking_issues(analyse(UNKNOWN), [CodeFact("excerpt", cited("a.py", 1, quote="deliver_letter = 5"))]) == []


@pytest.mark.parametrize(
    ("places", "asks"), [(MANY_MATCHES - 1, False), (MANY_MATCHES, True), (MANY_MATCHES + 1, True)]
)
def test_a_name_that_many_things_bear_is_asked_about(places: int, asks: bool) -> None:
    facts = [defined("run", f"m{n}.py") for n in range(places)]
    facts += [defined("run", f"tests/t{n}.py", is_test=True) for n in range(9)]
    assert bool(blocking_issues(analyse("How does `run` work?"), facts)) is asks


def test_who_is_asked_is_told_how_many_there_are_and_not_how_many_were_looked_at() -> None:
    facts = [defined("run", f"m{n}.py", count=50) for n in range(9)]
    (issue,) = blocking_issues(analyse("How does `run` work?"), facts)
    assert "is defined at 50 places" in issue


def test_a_file_in_the_question_says_which_one_is_meant() -> None:
    facts = [defined("run", f"m{n}.py") for n in range(9)]
    assert blocking_issues(analyse("How does `run` in m1.py work?"), facts) == []


def test_results_that_contradict_each_other_are_told_as_the_synthesizer_says_them() -> None:
    facts = [defined("run")]
    (issue,) = blocking_issues(analyse("How does `run` work?"), facts, ["two limits are named [a.py:1]"])
    assert issue == "What was found contradicts itself: two limits are named [a.py:1]"
    assert blocking_issues(analyse("How does `run` work?"), facts) == []


class Conversation:
    """Runs of one pipeline that wait for what a person says."""

    def __init__(self, desk: AnalysisHarness, form: str) -> None:
        config = pipeline(form)
        clock = SystemClock()
        agents = {
            agent.name: Agent(agent, desk.capability, "rules", {}, clock, desk.queries, desk.services)
            for agent in config.agents
        }
        self._desk, self._form = desk, form
        self.runner = LocalRunner({form: config}, {form: agents}, MemoryRunLog(), clock)

    async def ask(self, question: str, clarify: bool = True) -> tuple[RunId, Envelope]:
        ask = Ask(question, str(self._desk.root), self._form, wait=True, clarify=clarify)
        run_id = await self.runner.submit(request_of(ask, self._desk.repository))
        return run_id, await self.settled(run_id)

    async def settled(self, run_id: RunId) -> Envelope:
        async for event in self.runner.watch(run_id):
            if event.type == "interrupt.raised" and self.runner.envelope(run_id).lifecycle == "waiting":
                break
        return self.runner.envelope(run_id)

    async def answer(self, run_id: RunId, text: str) -> Envelope:
        interrupt = self.runner.envelope(run_id).interrupt
        assert interrupt is not None
        await self.runner.answer(run_id, interrupt.id, "local", InterruptResponse(text))
        async for event in self.runner.watch(run_id):
            if event.type == "run.finished":
                break
        return self.runner.envelope(run_id)


@pytest.fixture
async def conversation(relay: AnalysisHarness, form: str) -> AsyncIterator[Conversation]:
    talk = Conversation(relay, form)
    yield talk
    await talk.runner.close()


def times_asked(envelope: Envelope) -> int:
    return envelope.interrupts_raised


@BOTH_FORMS
async def test_a_question_about_code_that_does_not_exist_is_asked_back_after_looking(
    conversation: Conversation,
) -> None:
    run_id, waiting = await conversation.ask(UNKNOWN)
    assert waiting.interrupt is not None
    assert waiting.interrupt.kind == "clarification"
    assert "There is no `deliver_letter`" in waiting.interrupt.question
    assert "`deliver_parcel`" in waiting.interrupt.question
    assert "traverser" in [record.stage for record in waiting.history]
    done = await conversation.answer(run_id, "I mean deliver_parcel")
    assert done.terminal_reason == "completed"
    assert times_asked(done) == 1
    assert done.outputs["integration"]["citations"][0]["file"] == "relay/van.py"


async def contradicting(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
    output = await CAPABILITY.agents["synthesizer"].reasoners["rules"](context, view, given)
    return {**output, "contradictions": ["a depot holds ten and nine parcels [relay/depot.py:99]"]}


@pytest.mark.parametrize("form", FORMS)
async def test_a_contradiction_is_asked_about_once_and_stands_in_no_answer(relay: AnalysisHarness, form: str) -> None:
    desk = relay.variant(with_agents(synthesizer=reasoning("synthesizer", contradicting)))
    talk = Conversation(desk, form)
    run_id, waiting = await talk.ask("How does deliver_parcel work?")
    assert waiting.interrupt is not None
    assert "a depot holds ten and nine parcels (relay/depot.py:99)" in waiting.interrupt.question
    done = await talk.answer(run_id, "the ten")
    assert (done.terminal_reason, times_asked(done)) == ("completed", 1)
    _, unasked = await talk.ask("How does deliver_parcel work?", clarify=False)
    assert (unasked.terminal_reason, times_asked(unasked)) == ("completed", 0)
    for envelope in (done, unasked):
        assert "nine parcels" not in envelope.outputs["integration"]["final_response"]
    await talk.runner.close()


@BOTH_FORMS
async def test_a_second_thing_that_is_not_there_is_not_asked_about_again(conversation: Conversation) -> None:
    run_id, _ = await conversation.ask(UNKNOWN)
    done = await conversation.answer(run_id, "`carry_letter`")
    assert done.terminal_reason == "completed"
    assert times_asked(done) == 1


@BOTH_FORMS
async def test_a_query_that_was_unintelligible_is_not_asked_about_again_after_looking(
    conversation: Conversation,
) -> None:
    run_id, _ = await conversation.ask("why?")
    done = await conversation.answer(run_id, UNKNOWN)
    assert done.terminal_reason == "completed"
    assert times_asked(done) == 1


@BOTH_FORMS
async def test_where_nobody_answers_nothing_is_asked_after_looking(conversation: Conversation) -> None:
    _, done = await conversation.ask(UNKNOWN, clarify=False)
    assert done.terminal_reason == "completed"
    assert times_asked(done) == 0
