"""The reviewed pipeline: plans are judged before they are carried out, and no answer goes out that nobody has seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.capabilities.code_analysis.agents.intent import gather
from actors.capabilities.code_analysis.agents.plan_policy import plan_cost
from actors.capabilities.code_analysis.agents.planner import by_rules
from actors.capabilities.code_analysis.agents.review import MAX_ANSWER_CHARS, modified
from actors.capabilities.code_analysis.capability import CAPABILITY
from actors.capabilities.code_analysis.evidence.steps import Step
from actors.capabilities.code_analysis.handover.answer import (
    AnswerCitation,
    AnswerCommit,
    AnswerFinding,
    AnswerOutput,
    AnswerPart,
)
from actors.capabilities.code_analysis.question.analysis import analyse
from runtime.agents.capability import Capability, StageContext, StageInput
from runtime.agents.stage_runner import Agent
from runtime.hosting.local_runner import LocalRunner
from runtime.pipeline.interrupt_kinds import TIME_TO_LIVE_MS
from runtime.pipeline.loading import load_pipeline
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, Interrupt, InterruptResponse
from runtime.run.stage_view import StageView
from runtime.settings import shipped_config_dir
from runtime.store.run_log import MemoryRunLog
from serve.answer_document import Ask, document_of, exit_status
from serve.runtimes.answering import request_of
from tests.capabilities.code_analysis.support import (
    AnalysisHarness,
    mark_faults,
    mark_of,
    no_context,
    reasoning,
    view,
    with_agents,
)

REVIEWED = load_pipeline(shipped_config_dir() / "pipelines" / "code_analysis_reviewed.yaml")
QUESTION = "What is Depot?"


class Reviewing:
    """Runs of the reviewed pipeline whose caller waits, on a clock that is turned by hand."""

    def __init__(self, desk: AnalysisHarness, capability: Capability = CAPABILITY) -> None:
        self.desk = desk
        self.clock = FakeClock()
        agents = {
            agent.name: Agent(agent, capability, "rules", {}, self.clock, desk.queries, desk.services)
            for agent in REVIEWED.agents
        }
        self.runner = LocalRunner({REVIEWED.name: REVIEWED}, {REVIEWED.name: agents}, MemoryRunLog(), self.clock)

    async def ask(self, question: str = QUESTION, wait: bool = True, **asked: Any) -> RunId:
        ask = Ask(question, str(self.desk.root), REVIEWED.name, wait=wait, **asked)
        run_id = await self.runner.submit(request_of(ask, self.desk.repository))
        await self.settled(run_id)
        return run_id

    async def settled(self, run_id: RunId, after_seq: int = 0) -> Envelope:
        """The run when it waits or is over."""
        async for _ in self.runner.watch(run_id, after_seq):
            if self.runner.envelope(run_id).lifecycle == "waiting":
                break
        return self.runner.envelope(run_id)

    async def answer(self, run_id: RunId, **response: Any) -> Envelope:
        seen = len([event async for event in self._so_far(run_id)])
        interrupt = self.waits_for(run_id)
        await self.runner.answer(run_id, interrupt.id, "local", InterruptResponse(**response))
        return await self.settled(run_id, seen)

    async def _so_far(self, run_id: RunId) -> Any:
        async for event in self.runner.watch(run_id):
            yield event
            if event.type == "interrupt.raised" and event.data["id"] == self.waits_for(run_id).id:
                return

    def waits_for(self, run_id: RunId) -> Interrupt:
        envelope = self.runner.envelope(run_id)
        assert envelope.lifecycle == "waiting", (envelope.terminal_reason, envelope.terminal_detail)
        assert envelope.interrupt is not None
        return envelope.interrupt

    def document(self, run_id: RunId) -> dict[str, Any]:
        return document_of(Ask(QUESTION, str(self.desk.root), REVIEWED.name), self.runner.envelope(run_id), "rules")


@pytest.fixture
def reviewing(relay: AnalysisHarness) -> Reviewing:
    return Reviewing(relay)


def planning(*steps: Step) -> Capability:
    """The capability with a planner that wants just these steps."""

    async def plan(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
        return {**await by_rules(context, view, given), "steps": [msgspec.to_builtins(step) for step in steps]}

    return with_agents(planner=reasoning("planner", plan))


def searches(count: int) -> list[Step]:
    return [Step(f"s{number}", "find", "locate", {"query": f"word{number}"}, (), "why") for number in range(count)]


# --- the review


async def test_the_reviewer_sees_the_answer_and_what_they_approve_goes_out_as_it_is(
    reviewing: Reviewing, relay: AnalysisHarness
) -> None:
    plain = await relay.ask(QUESTION)
    run_id = await reviewing.ask()
    asked = reviewing.waits_for(run_id)
    assert (asked.kind, asked.stage) == ("agent_review", "draft")
    shown = reviewing.document(run_id)["interrupt"]["data"]
    assert shown["final_response"] == plain["answer"]
    assert shown["citations"] == [mark_of(citation) for citation in plain["citations"]]
    assert "integration" not in reviewing.runner.envelope(run_id).outputs
    envelope = await reviewing.answer(run_id, decision="approve")
    assert envelope.terminal_reason == "completed"
    document = reviewing.document(run_id)
    for field in ("answer", "citations", "findings", "files_examined", "open_goals"):
        assert document[field] == plain[field], field


async def test_a_rejected_answer_does_not_go_out(reviewing: Reviewing) -> None:
    run_id = await reviewing.ask()
    envelope = await reviewing.answer(run_id, decision="reject")
    assert envelope.terminal_reason == "denied_by_policy"
    document = reviewing.document(run_id)
    assert (document["citations"], exit_status(document)) == ([], 1)
    assert "denied_by_policy" in document["answer"]
    assert "class Depot" not in json.dumps(document)


async def test_what_the_reviewer_writes_goes_out_with_the_citations_that_it_still_has(reviewing: Reviewing) -> None:
    run_id = await reviewing.ask()
    citations = reviewing.runner.envelope(run_id).outputs["draft"]["citations"]
    assert len(citations) > 1
    text = f"Depots hold parcels {mark_of(citations[0])}, I was told [elsewhere.py:3]."
    await reviewing.answer(run_id, decision="modify", data={"final_response": text})
    document = reviewing.document(run_id)
    assert document["answer"] == f"Depots hold parcels {mark_of(citations[0])}, I was told (elsewhere.py:3)."
    assert [mark_of(citation) for citation in document["citations"]] == [mark_of(citations[0])]
    assert mark_faults(document["answer"], document["citations"]) == []


@pytest.mark.parametrize(
    "data",
    [{}, {"final_response": "  "}, {"final_response": 5}, {"final_response": "x" * (MAX_ANSWER_CHARS + 1)}],
    ids=["nothing", "blank", "no text", "too long"],
)
async def test_a_change_that_is_no_text_is_asked_for_again(reviewing: Reviewing, data: dict[str, Any]) -> None:
    run_id = await reviewing.ask()
    first = reviewing.waits_for(run_id)
    await reviewing.answer(run_id, decision="modify", data=data)
    again = reviewing.waits_for(run_id)
    assert (again.kind, again.id != first.id) == ("agent_review", True)
    assert "final_response" in again.question
    assert first.question in again.question
    assert again.data["final_response"]
    assert (await reviewing.answer(run_id, decision="approve")).terminal_reason == "completed"
    assert reviewing.document(run_id)["citations"]


async def test_a_change_as_long_as_it_may_be_goes_out(reviewing: Reviewing) -> None:
    run_id = await reviewing.ask()
    text = "x" * MAX_ANSWER_CHARS
    await reviewing.answer(run_id, decision="modify", data={"final_response": text})
    assert reviewing.document(run_id)["answer"] == text


async def test_an_answer_that_nobody_reviews_in_time_does_not_go_out(reviewing: Reviewing) -> None:
    run_id = await reviewing.ask()
    life_ms = TIME_TO_LIVE_MS["agent_review"]
    assert life_ms is not None
    await reviewing.clock.advance(life_ms / 1000)
    envelope = await reviewing.settled(run_id)
    assert envelope.terminal_reason == "interrupt_expired"
    document = reviewing.document(run_id)
    assert (document["citations"], exit_status(document)) == ([], 1)


@pytest.mark.parametrize("hops", range(1, 9))
async def test_at_the_limit_nothing_goes_out_that_nobody_has_seen(reviewing: Reviewing, hops: int) -> None:
    run_id = await reviewing.ask(limits={"max_agent_hops": hops})
    envelope = reviewing.runner.envelope(run_id)
    if envelope.lifecycle == "waiting":
        # One hop is kept for the release, so that what was reviewed can always go out.
        envelope = await reviewing.answer(run_id, decision="approve")
        assert (hops, envelope.terminal_reason) == (8, "completed")
        return
    document = reviewing.document(run_id)
    assert (envelope.terminal_reason, document["citations"]) == ("max_agent_hops_exceeded", [])
    assert "before a person had approved" in document["answer"]


async def test_a_draft_that_waits_for_its_review_at_the_deadline_does_not_go_out(reviewing: Reviewing) -> None:
    run_id = await reviewing.ask(deadline_s=60)
    assert reviewing.waits_for(run_id).kind == "agent_review"
    await reviewing.clock.advance(60)
    async for _ in reviewing.runner.watch(run_id):
        pass
    document = reviewing.document(run_id)
    assert (document["terminal_reason"], document["citations"]) == ("deadline_exceeded", [])
    assert "class Depot" not in json.dumps(document)


async def test_a_caller_that_does_not_wait_gets_the_question_and_not_the_draft(reviewing: Reviewing) -> None:
    run_id = await reviewing.ask(wait=False)
    document = reviewing.document(run_id)
    assert (document["terminal_reason"], exit_status(document)) == ("confirmation_required", 4)
    assert "interrupt" not in document
    assert document["answer"] == "May the answer to 'What is Depot?' go out?"
    assert "class Depot" not in json.dumps(document)


async def test_a_document_of_a_run_that_waits_says_what_it_waits_for(reviewing: Reviewing) -> None:
    run_id = await reviewing.ask()
    document = reviewing.document(run_id)
    asked = reviewing.waits_for(run_id)
    assert (document["terminal_reason"], exit_status(document)) == (None, 4)
    assert document["interrupt"]["id"] == asked.id
    assert document["interrupt"]["expires_at_ms"] == asked.expires_at_ms


async def test_the_session_remembers_what_went_out_and_nothing_before(
    reviewing: Reviewing, relay: AnalysisHarness
) -> None:
    async def turns() -> list[dict[str, Any]]:
        answer = await relay.queries.query("session.turns", {"session_id": "reviewed"})
        return list(answer["turns"])

    run_id = await reviewing.ask(session_id="reviewed")
    assert await turns() == []
    await reviewing.answer(run_id, decision="modify", data={"final_response": "A shed."})
    assert [turn["answer"] for turn in await turns()] == ["A shed."]


@pytest.mark.parametrize(
    ("response", "focus", "recalled"),
    [
        ({"decision": "approve"}, ["Depot"], 1),
        ({"decision": "modify", "data": {"final_response": "A shed."}}, ["Depot"], 0),
        ({"decision": "reject"}, None, 0),
    ],
    ids=["approved", "modified", "rejected"],
)
async def test_what_a_person_let_out_is_remembered_as_in_the_plain_pipeline(
    own_root: Path, tmp_path: Path, response: dict[str, Any], focus: list[str] | None, recalled: int
) -> None:
    desk = await AnalysisHarness.open(own_root, tmp_path / "state")
    reviewing = Reviewing(desk)
    await reviewing.answer(await reviewing.ask(session_id="kept"), **response)
    state = (await desk.queries.query("session.turns", {"session_id": "kept"}))["state"]
    assert (state and state["graph"]["focus"]) == focus
    assert len(desk.memory.recall(str(own_root), ["depot"])) == recalled


def test_marks_that_share_a_beginning_are_told_apart() -> None:
    citations = [AnswerCitation(file="a.py", start_line=1, end_line=end_line) for end_line in (1, 12)]
    findings = [AnswerFinding("g", "open", "", citations[:1]), AnswerFinding("h", "open", "", citations)]
    commits = [AnswerCommit(f"{number}" * 40, "", "", "") for number in (1, 2)]
    parts = [AnswerPart("g", "answered", 0.9, citations), AnswerPart("h", "answered", 0.9, citations[1:])]
    answer = AnswerOutput(final_response="", citations=citations, commits=commits, findings=findings, parts=parts)
    changed = modified(answer, "one [a.py:1] and [a.py:1-2] by 2222222222")
    assert changed.final_response == "one [a.py:1] and (a.py:1-2) by 2222222222"
    assert changed.commits == commits[1:]
    assert changed.citations == citations[:1]
    assert changed.findings == findings[:1]
    assert changed.parts == [AnswerPart("g", "answered", 0.9, citations[:1]), AnswerPart("h", "not_found", 0.9, [])]


# --- the policy on plans


@pytest.mark.parametrize(("bound", "asks"), [(29, True), (30, False), (31, False)])
async def test_a_plan_above_the_bound_waits_for_consent_and_one_at_the_bound_does_not(
    relay: AnalysisHarness, bound: int, asks: bool
) -> None:
    steps = searches(10)
    assert plan_cost(steps) == 30
    reviewing = Reviewing(relay, planning(*steps))
    run_id = await reviewing.ask(limits={"max_plan_cost": bound, "max_stages": 1, "max_reintents": 0})
    asked = reviewing.waits_for(run_id)
    assert (asked.kind == "confirmation") is asks
    if asks:
        assert asked.stage == "planner"
        assert "cost of 30; up to 29 needs no consent" in asked.question
        assert "10 × locate" in asked.question
        assert "planner" not in reviewing.runner.envelope(run_id).outputs
        envelope = await reviewing.answer(run_id, approved=True)
        assert envelope.outputs["planner"]["steps"][0]["id"] == "s0"
        assert reviewing.waits_for(run_id).kind == "agent_review"


async def test_a_plan_that_is_not_consented_to_is_not_carried_out(reviewing: Reviewing) -> None:
    run_id = await reviewing.ask(limits={"max_plan_cost": 0})
    envelope = await reviewing.answer(run_id, approved=False)
    assert envelope.terminal_reason == "denied_by_policy"
    assert "traverser" not in [record.stage for record in envelope.history]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Step("x", "find", "read_code", {"path": "../outside.py"}, (), ""), "outside the repository"),
        (Step("x", "find", "read_code", {"path": "/etc/passwd"}, (), ""), "outside the repository"),
        (Step("x", "find", "map_module", {"path": ".git/config"}, (), ""), "version-control"),
        (Step("x", "find", "locate", {"query": "q", "scope": ".env"}, (), ""), "secrets"),
        (Step("x", "find", "read_code", {"path": ".env"}, (), ""), "secrets"),
        (Step("x", "find", "delete_all", {}, (), ""), "'delete_all'"),
        (Step("x", "find", "list_tools", {"path": "a\0b"}, (), ""), "NUL"),
    ],
    ids=lambda value: str(value.arguments) if isinstance(value, Step) else "",
)
async def test_a_plan_that_looks_where_nothing_may_be_read_is_denied(
    relay: AnalysisHarness, step: Step, words: str
) -> None:
    reviewing = Reviewing(relay, planning(*searches(1), step))
    envelope = reviewing.runner.envelope(await reviewing.ask())
    assert envelope.terminal_reason == "denied_by_policy"
    assert words in str(envelope.terminal_detail)
    assert "step 'x'" in str(envelope.terminal_detail)
    assert "planner" not in envelope.outputs


async def test_a_question_that_names_a_file_outside_is_denied(reviewing: Reviewing) -> None:
    envelope = reviewing.runner.envelope(await reviewing.ask("Explain ../../etc/passwd"))
    assert envelope.terminal_reason == "denied_by_policy"


async def test_a_file_that_is_not_there_is_no_reason_to_deny(relay: AnalysisHarness) -> None:
    reviewing = Reviewing(relay, planning(Step("x", "find", "read_code", {"path": "nowhere.py"}, (), "")))
    assert reviewing.waits_for(await reviewing.ask()).kind == "agent_review"


def test_a_step_for_each_of_several_places_costs_as_many_calls() -> None:
    one = Step("a", "read", "read_code", {}, (), "", count=4)
    each = Step("b", "structure", "map_module", {}, (), "", ("a",), 3)
    assert (plan_cost([one]), plan_cost([one, each])) == (1, 13)


# --- clarification


async def test_what_the_user_says_when_asked_back_is_looked_for(reviewing: Reviewing, relay: AnalysisHarness) -> None:
    run_id = await reviewing.ask("why?")
    assert reviewing.waits_for(run_id).kind == "clarification"
    envelope = await reviewing.answer(run_id, text="the\nDepot")
    assert envelope.outputs["intent"]["asked"] == "why? the Depot"
    assert reviewing.waits_for(run_id).kind == "agent_review"
    await reviewing.answer(run_id, decision="approve")
    document = reviewing.document(run_id)
    assert "relay/depot.py" in {citation["file"] for citation in document["citations"]}


async def test_a_clarification_that_clarifies_nothing_is_not_asked_for_again(reviewing: Reviewing) -> None:
    run_id = await reviewing.ask("why?")
    await reviewing.answer(run_id, text="?!")
    assert reviewing.waits_for(run_id).kind == "agent_review"


async def test_the_answer_to_a_clarification_is_kept_when_another_question_follows(reviewing: Reviewing) -> None:
    run_id = await reviewing.ask("why?", limits={"max_plan_cost": 0})
    await reviewing.answer(run_id, text="the Depot")
    for _ in range(10):
        if reviewing.waits_for(run_id).kind != "confirmation":
            break
        envelope = await reviewing.answer(run_id, approved=True)
        assert envelope.outputs["intent"]["asked"] == "why? the Depot"
    assert "relay/depot.py" in str(reviewing.document(run_id)["interrupt"]["data"])


async def test_a_later_visit_of_intent_still_knows_what_was_said() -> None:
    confirmed = Interrupt("q2", "confirmation", "May it?", response=InterruptResponse("sure", approved=True))
    asked = {"intent": "why?", "question": msgspec.to_builtins(analyse("why?")), "asked": "why? the Depot"}
    seen = view("why?", intent=asked)
    given = await gather(no_context(), msgspec.structs.replace(seen, interrupt=confirmed))
    assert given.facts["question"] == "why? the Depot"


def test_the_pipeline_ships_where_it_is_looked_for() -> None:
    assert "code_analysis_reviewed" in CAPABILITY.pipelines
    assert Path(shipped_config_dir() / "pipelines" / "code_analysis_reviewed.yaml").is_file()
