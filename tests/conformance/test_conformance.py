"""A run is the same in one process and on actors: how it ends, what it spent, what it gave, what callers saw."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from runtime.errors import InputError, UnknownNameError
from runtime.run.envelope import InterruptResponse, Request
from serve.answer_document import Ask, document_of
from tests.conformance.hosts import ClusterUp, Host, LocalHost, Ran, RayHost, described, ran, run_through
from tests.doors.evidence_checker import document_faults
from tests.doors.sample_repo import FILES, QUESTION, write_files


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with ClusterUp(tmp_path_factory.mktemp("conformance")) as running:
        yield running


@pytest.fixture
async def local(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> AsyncIterator[LocalHost]:
    caplog.set_level(logging.CRITICAL)
    host = LocalHost(tmp_path / "local")
    yield host
    await host.close()
    host.sessions.close()


@pytest.fixture(params=["local", pytest.param("ray", marks=pytest.mark.ray)])
async def host(request: pytest.FixtureRequest, local: LocalHost) -> Host:
    if request.param == "local":
        return local
    system = request.getfixturevalue("system")
    await system.ready()
    return RayHost(system)


class Case(msgspec.Struct, frozen=True):
    """A pipeline, what its agents do, and how the run ends; `stages` as `Ran.stages` tells them.

    `races`: whether a stage that is called off had begun is chance, so that two runs need not show the same events.
    """

    pipeline: str
    script: dict[str, list[Any]]
    reason: str
    stages: str
    limits: dict[str, int] = {}
    deadline_s: float | None = None
    cancel_at: str | None = None
    races: bool = False

    @property
    def request(self) -> Request:
        metadata = {"script": self.script}
        return Request(self.pipeline, "why?", metadata=metadata, limits=self.limits, deadline_s=self.deadline_s)

    def request_to(self, host: Host) -> Request:
        """The same request; a run in this process needs no second to get going before its deadline."""
        if self.deadline_s is None or not isinstance(host, LocalHost):
            return self.request
        return msgspec.structs.replace(self.request, deadline_s=self.deadline_s / 3)


B = [{"give": {"needed": 1}}]
BAD = [{"give": {"good": False}}]

CASES = {
    "a line of stages": Case("line", {"b": B}, "completed", "a b c"),
    "what a stage gives is seen by the next": Case(
        "line", {"a": [{"give": {"x": 1}}], "b": B, "c": [{"see": 0}]}, "completed", "a b c"
    ),
    "goals travel": Case("line", {"a": [{"set_goal": "find it"}], "b": B}, "completed", "a b c"),
    "a failed stage is tried again": Case(
        "line", {"a": [[{"raise": "odd"}, {"give": {}}]], "b": B}, "completed", "a! a/2 b c"
    ),
    "a stage that always fails ends the run": Case("line", {"a": [{"raise": "odd"}]}, "internal_error", "a! a/2!"),
    "a broken tool ends the run": Case("line", {"a": [{"fail_tool": False}]}, "tool_failed_fatally", "a! a/2!"),
    "a broken tool that may be mended": Case(
        "line", {"a": [{"fail_tool": True}]}, "tool_failed_recoverably", "a! a/2!"
    ),
    "a model that fails ends the run": Case("loop", {"a": [{"fail_model": "no"}]}, "llm_failed_fatally", "a!"),
    "an error route goes on": Case("line", {"b": [{"raise": "odd"}]}, "completed", "a b! c"),
    "an output without its fields fails": Case("line", {"b": [{"give": {"x": 1}}]}, "completed", "a b! c"),
    "a hook that returns a number": Case("loop", {"a": [{"return": 5}]}, "internal_error", "a!"),
    "a hook that returns nothing": Case("loop", {"a": [{"return": None}]}, "internal_error", "a!"),
    "a hook that writes too much": Case("loop", {"a": [{"too_big": 0}]}, "internal_error", "a!"),
    "a hook that writes what no wire takes": Case("loop", {"a": [{"unspeakable": 0}]}, "internal_error", "a!"),
    "a hook that wants to end the process": Case("loop", {"a": [{"exit": 3}]}, "internal_error", "a!"),
    "a hook that raises what it cannot say": Case(
        "loop", {"a": [{"raise": "\x00\x1b[31m" + "x" * 10_000}]}, "internal_error", "a!"
    ),
    "a loop that gets better": Case("loop", {"b": [*BAD, {"give": {"good": True}}]}, "completed", "a b a b c"),
    "an edge is taken as often as it may be": Case(
        "loop", {"b": [*BAD, *BAD, {"give": {}}]}, "completed", "a b a b a b c"
    ),
    "an edge is not taken more often": Case("loop", {"b": BAD}, "max_loop_exceeded", "a b a b a b"),
    "iterations are bounded": Case("loop", {"c": BAD}, "max_iterations_exceeded", "a b c" + " a b c" * 5),
    "iterations can be lowered": Case(
        "loop", {"c": BAD}, "max_iterations_exceeded", "a b c a b c", {"max_iterations": 1}
    ),
    "iterations cannot be raised": Case("loop", {"b": BAD}, "max_loop_exceeded", "a b a b a b", {"max_iterations": 99}),
    "hops are bounded": Case("loop", {}, "max_agent_hops_exceeded", "a b", {"max_agent_hops": 2}),
    "as many hops as needed": Case("loop", {}, "completed", "a b c", {"max_agent_hops": 3}),
    "no hop at all": Case("loop", {}, "max_agent_hops_exceeded", "", {"max_agent_hops": 0}),
    "the final stage answers at the limit of hops": Case(
        "guarded", {"b": BAD, "c": [{"see": 0}]}, "max_agent_hops_exceeded", "a b a b a c"
    ),
    "a bound of calls to the model": Case(
        "guarded", {"b": [{"spend": "llm_calls"}]}, "max_llm_calls_exceeded", "a b! c"
    ),
    "a bound of tokens": Case("guarded", {"b": [{"spend": "tokens"}]}, "max_tokens_exceeded", "a b! c"),
    "a bound of calls to the model without a final stage": Case(
        "loop", {"b": [{"spend": "llm_calls"}]}, "max_llm_calls_exceeded", "a b!"
    ),
    "tool calls are counted": Case("line", {"a": [{"call": ["x", "y"]}], "b": B}, "completed", "a b c"),
    "tool calls are bounded": Case("line", {"a": [{"call": ["x", "bad", "y", "z"]}], "b": B}, "completed", "a b c"),
    "tool calls of all attempts count": Case(
        "line", {"a": [[{"call": ["x", "y"]}, {"call": ["x"]}]], "b": B}, "completed", "a b c"
    ),
    "no tool call at all": Case("line", {"a": [{"call": ["x"]}], "b": B}, "completed", "a b c", {"max_tool_calls": 0}),
    "rounds without anything new are a loop": Case("rounds", {"b": BAD}, "loop_detected", "a b a b a b"),
    "rounds that bring something new are none": Case(
        "rounds",
        {"b": [*({"give": {"good": False, "n": n}} for n in range(6)), {"give": {}}]},
        "completed",
        "a b" + " a b" * 6,
    ),
    "stages that fail in turn are a loop": Case(
        "rounds", {"a": [{"raise": "odd"}], "b": [{"raise": "odd"}]}, "loop_detected", "a! b! a! b!"
    ),
    "a hook that hangs": Case("guarded", {"a": [{"hang": 0}]}, "tool_failed_recoverably", "a!"),
    "a deadline": Case("line", {"b": [{"hang": 0}]}, "deadline_exceeded", "a b~", deadline_s=3),
    "a deadline with a final stage": Case(
        "guarded", {"b": [{"hang": 0}], "c": [{"see": 0}]}, "deadline_exceeded", "a b~ c", deadline_s=3
    ),
    "a question to a person by a route": Case(
        "line", {"b": B, "c": [{"give": {"unclear": True, "question": "Who?"}}]}, "clarification_required", "a b c"
    ),
    "a confirmation by a route": Case(
        "line", {"b": B, "c": [{"give": {"sure": False}}]}, "confirmation_required", "a b c"
    ),
    "a question to a person by a hook": Case(
        "line", {"a": [{"interrupt": "clarification"}]}, "clarification_required", "a"
    ),
    "a confirmation by a hook": Case("line", {"b": [{"interrupt": "confirmation"}]}, "confirmation_required", "a b"),
    "the first success starts a join of any, and the loser is called off": Case(
        "race", {"a": [{"give": {"x": 1}}], "b": [{"hang": 0}]}, "completed", "a b~ c", races=True
    ),
    "a stage runs once per item, in their order": Case(
        "fan", {"a": [{"give": {"items": ["x", "y", "z"]}}]}, "completed", "a b b b c"
    ),
    "no item at all is a result": Case("fan", {"a": [{"give": {"items": []}}]}, "completed", "a b- c"),
    "a run is cancelled in the middle of a stage": Case(
        "line", {"a": [{"give": {"x": 1}}], "b": [{"hang": 0}]}, "user_cancelled", "a b~", cancel_at="b"
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
async def test_a_run_ends_as_it_should_and_alike_everywhere(host: Host, local: LocalHost, name: str) -> None:
    case = CASES[name]
    ended = await run_through(host, case.request_to(host), case.cancel_at)
    assert (ended.reason, ended.stages) == (case.reason, case.stages), ended
    check_events(ended)
    if host is not local and not case.races:
        assert ended == await run_through(local, case.request_to(local), case.cancel_at)


def check_events(ended: Ran) -> None:
    """What holds for the events of every run."""
    assert ended.events[0] == "run.accepted"
    assert ended.events[-1] == "run.finished"
    assert [event for event in ended.events if event == "run.finished"] == ["run.finished"]
    finished = [event for event in ended.events if event.startswith("stage.finished")]
    assert finished == [f"stage.finished {stage} {status}" for stage, _, _, status, _ in ended.history]
    seen = [event for event in ended.events if event.startswith("tool.called") and not event.endswith("denied")]
    spent = ended.usage.get("tool_calls", 0)
    # What was granted to an attempt that was cut off counts as spent, whatever it was seen to do.
    cut_off = any(status != "success" for _, _, _, status, _ in ended.history)
    assert spent >= len(seen) if cut_off else spent == len(seen)


@pytest.mark.parametrize("words", [["x"], ["x", "y", "z"]])
async def test_every_tool_call_is_shown_in_order_before_the_end_of_its_stage(host: Host, words: list[str]) -> None:
    case = Case("line", {"a": [{"call": words}], "b": B}, "completed", "a b c")
    ended = await run_through(host, case.request)
    called = ended.events.index("stage.started a 1") + 1
    assert ended.events[called : called + len(words)] == ["tool.called a ok"] * len(words)


async def test_what_was_finished_is_kept_when_a_run_is_cancelled(host: Host) -> None:
    case = CASES["a run is cancelled in the middle of a stage"]
    ended = await run_through(host, case.request, case.cancel_at)
    assert ended.outputs == {"a": {"x": 1}}
    assert ended.detail == "enough"


async def test_the_final_stage_is_told_by_what_the_run_ended(host: Host) -> None:
    ended = await run_through(host, CASES["the final stage answers at the limit of hops"].request)
    assert ended.outputs["c"]["ended_by"] == "max_agent_hops_exceeded"
    assert ended.usage["agent_hops"] == 6


async def test_outputs_are_what_the_wire_makes_of_them(host: Host) -> None:
    odd = {"list": [1, 2.5, None, True], "text": "ü\u2028\x00", "deep": {"a": {"b": [[]]}}, "big": 2**63}
    ended = await run_through(host, Case("loop", {"a": [{"give": odd}]}, "completed", "").request)
    assert ended.outputs["a"] == odd


async def reviewed(host: Host, repo: Path, question: str, *responses: InterruptResponse) -> Ran:
    """A whole run of the reviewed pipeline, in which a person gives these answers."""
    metadata = {"repo": str(repo)}
    limits = {"max_plan_cost": 0, "max_stages": 1, "max_reintents": 0}
    run_id = await host.submit(Request("code_analysis_reviewed", question, metadata=metadata, limits=limits, wait=True))
    given = iter(responses)
    events = []
    async for event in host.watch(run_id):
        events.append(described(event))
        if event.type == "interrupt.raised":
            await host.answer(run_id, event.data["id"], "local", next(given))
    assert list(given) == []
    return ran(await host.final(run_id), events)


@pytest.mark.long
@pytest.mark.parametrize(
    ("question", "responses", "reason"),
    [
        (QUESTION, [{"approved": True}, {"decision": "approve"}], "completed"),
        (QUESTION, [{"approved": False}], "denied_by_policy"),
        (QUESTION, [{"approved": True}, {"decision": "reject"}], "denied_by_policy"),
        (
            QUESTION,
            [{"approved": True}, {"decision": "modify", "data": {"final_response": "Ask Ada."}}],
            "completed",
        ),
        ("why?", [{"text": "MAX_LETTERS"}, {"approved": True}, {"decision": "approve"}], "completed"),
        ("Explain ../../etc/passwd", [], "denied_by_policy"),
    ],
)
async def test_what_a_person_says_decides_alike_everywhere(
    host: Host, local: LocalHost, tmp_path: Path, question: str, responses: list[dict[str, Any]], reason: str
) -> None:
    repo = write_files(tmp_path / "repo", FILES)
    answers = [InterruptResponse(**response) for response in responses]
    ended = await reviewed(host, repo, question, *answers)
    assert (ended.reason, sum("interrupt.raised" in event for event in ended.events)) == (reason, len(responses))
    assert ("integration" in ended.outputs) is (reason == "completed")
    if host is not local:
        again = await reviewed(local, repo, question, *answers)
        assert (ended.stages, ended.events, ended.detail) == (again.stages, again.events, again.detail)
        said = [run.outputs.get("integration", {}).get("final_response") for run in (ended, again)]
        assert said[0] == said[1]


async def test_many_runs_at_once_do_not_mix(host: Host) -> None:
    def request(number: int) -> Request:
        return Request("loop", f"question {number}", metadata={"script": {"c": [{"see": 0}]}})

    ended = await asyncio.gather(*(run_through(host, request(number)) for number in range(20)))
    assert [item.outputs["c"]["question"] for item in ended] == [f"question {number}" for number in range(20)]
    assert {item.reason for item in ended} == {"completed"}


async def test_an_unknown_pipeline_is_refused(host: Host) -> None:
    with pytest.raises(UnknownNameError, match="'three'"):
        await host.submit(Request("three", "why?"))


@pytest.mark.parametrize(
    "request_",
    [
        Request("line", "\ud800"),
        Request("line", "x", metadata={"n": 2**70}),
        Request("line", "x", limits={"max_tokens": 2**70}),
    ],
)
async def test_a_request_that_cannot_be_written_down_is_refused(host: Host, request_: Request) -> None:
    with pytest.raises(InputError, match="cannot be recorded"):
        await host.submit(request_)


async def test_an_unknown_run_is_refused(host: Host) -> None:
    with pytest.raises(UnknownNameError, match="r-nothing"):
        async for _ in host.watch("r-nothing"):  # type: ignore[arg-type]
            raise AssertionError("an unknown run had an event")


@pytest.mark.ray
async def test_an_unknown_run_can_neither_be_cancelled_nor_paused_and_that_is_said(system: Any) -> None:
    for wish in (system.cancel, system.pause):
        with pytest.raises(UnknownNameError, match="r-nothing"):
            await wish("r-nothing", "enough")


@pytest.mark.ray
async def test_every_actor_of_one_machine_has_a_link_to_the_bus(system: Any) -> None:
    await system.ready()
    deadline_s = time.monotonic() + 20
    while (stats := await system.bus_stats())["links"] != sorted(stats["endpoints"]):
        assert time.monotonic() < deadline_s, stats["links"]
        await asyncio.sleep(0.1)


async def test_cancelling_a_run_that_is_over_changes_nothing(host: Host) -> None:
    run_id = await host.submit(CASES["a line of stages"].request)
    events = [event async for event in host.watch(run_id)]
    await host.cancel(run_id, "late")
    assert (await host.final(run_id)).terminal_reason == "completed"
    assert [event async for event in host.watch(run_id)] == events


@pytest.mark.long
@pytest.mark.parametrize(
    "question",
    [QUESTION, "Who calls Box.put?", "Give me an overview of this repository", "What is frobnicate_quux?", "why?"],
)
async def test_code_analysis_gives_the_same_answer_with_the_same_citations(
    host: Host, local: LocalHost, tmp_path: Path, question: str
) -> None:
    repo = write_files(tmp_path / "repo", FILES)
    ask = Ask(question, str(repo), "code_analysis", session_id="s")
    request = Request("code_analysis", question, session_id="s", metadata={"repo": str(repo)})

    async def answer(asked: Host) -> dict[str, Any]:
        run_id = await asked.submit(request)
        events = [event.type async for event in asked.watch(run_id)]
        document = document_of(ask, await asked.final(run_id), "rules")
        assert document_faults(document, repo) == []
        del document["run_id"], document["usage"]["duration_ms"]
        return {**document, "events": events}

    document = await answer(host)
    if host is not local:
        assert document == await answer(local)
    else:
        assert bool(document["citations"]) is (question not in {"What is frobnicate_quux?", "why?"})
