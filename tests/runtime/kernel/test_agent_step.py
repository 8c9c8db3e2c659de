"""One stage, executed: whatever a hook does becomes a success or a failure; only cancellation passes through."""

from __future__ import annotations

import asyncio
import enum
import logging
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.agents.capability import AgentHooks, Capability, StageContext, StageInput, StageResult, load_capability
from runtime.agents.reporter import Progress
from runtime.agents.stage_runner import MAX_ERROR_CHARACTERS, MAX_OUTPUT_BYTES, MAX_OUTPUT_DEPTH, Agent
from runtime.bus.queries import LocalQueries
from runtime.effects.journal import MemoryJournal
from runtime.effects.remote_journal import journal_queries
from runtime.errors import BudgetExhaustedError, ModelFailedError, SettingsError, StageError, ToolFailedError
from runtime.pipeline.config import AgentConfig
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import GoalId, RunId, StageKey, StageName
from runtime.run.bounds import Grant
from runtime.run.envelope import InterruptRequest
from runtime.run.goals import Goal, GoalsPatch
from runtime.run.stage_view import StageView
from runtime.supervision.commands import RunStage
from runtime.supervision.events import (
    Event,
    StageFailed,
    StageSucceeded,
    ToolCalled,
    decode_event,
    encode_event,
)
from runtime.testing import ScriptedAgent, hang
from runtime.tools.registry import Tool, ToolRegistry
from runtime.tools.result import ToolResult

KEY = StageKey(RunId("r-1"), 1)


class NoParameters(msgspec.Struct, frozen=True):
    """A tool that takes nothing."""


READER = Tool("reader", "Reads.", NoParameters, lambda subject, parameters: ToolResult("ok"))
WRITER = Tool(
    "writer", "Writes.", NoParameters, lambda subject, parameters: ToolResult("ok"), access="write", risk="write"
)


def agent_of(hooks: AgentHooks, **settings: Any) -> Agent:
    config = AgentConfig(name="a", stage_order=1, **settings)
    registry = ToolRegistry([READER, WRITER])
    capability = Capability("c", ("p",), {"a": hooks}, registry, dict)
    queries = LocalQueries()
    queries.register(journal_queries(MemoryJournal()))
    return Agent(config, capability, "rules", {}, FakeClock(), queries)


def command(view: StageView | bytes | None = None, grant: Grant | None = None) -> RunStage:
    data = view if isinstance(view, bytes) else msgspec.msgpack.encode(view or StageView("?"))
    return RunStage(KEY, StageName("a"), data, grant or Grant(tool_calls=5), 0)


async def outcome(step: Any, **settings: Any) -> StageSucceeded | StageFailed:
    return await agent_of(ScriptedAgent([step]).hooks(), **settings).run(command(), asyncio.Event())


async def failure(step: Any) -> StageFailed:
    result = await outcome(step)
    assert isinstance(result, StageFailed)
    assert result.key == KEY
    assert decode_event(encode_event(Event(RunId("r-1"), 1, 0, result))).payload == result
    return result


async def test_a_result_becomes_a_success_with_all_its_parts() -> None:
    goals = GoalsPatch(add=(Goal(GoalId("g"), "find", depends_on=(GoalId("h"),)),))
    asked = InterruptRequest("confirmation", "Sure?", data={"n": 1})
    result = await outcome(StageResult({"x": [1, {"y": None}]}, goals, asked))
    assert isinstance(result, StageSucceeded)
    assert (result.key, result.output, result.goals, result.interrupt) == (KEY, {"x": [1, {"y": None}]}, goals, asked)
    assert (result.usage.tool_calls, result.usage.llm_calls) == (0, 0)


async def test_a_hook_is_given_the_view_and_its_key() -> None:
    script = ScriptedAgent([{}])
    view = StageView("what?", {"repo": "/r"}, outputs={"b": {"x": 1}}, hop=3)
    await agent_of(script.hooks()).run(command(view), asyncio.Event())
    assert script.views == [view]
    assert script.keys == [KEY]


class Colour(enum.StrEnum):
    """A text that is more than a text until it travels."""

    RED = "red"


async def test_an_output_is_what_the_wire_makes_of_it_in_every_host() -> None:
    result = await outcome({"t": (1, 2), "c": Colour.RED, "g": Goal(GoalId("g"), "x")})
    assert isinstance(result, StageSucceeded)
    assert result.output == {"t": [1, 2], "c": "red", "g": {"id": "g", "text": "x"}}
    assert type(result.output["c"]) is str


@pytest.mark.parametrize(
    ("error", "kind", "bound", "recoverable"),
    [
        (ToolFailedError("why", recoverable=True), "tool", None, True),
        (ToolFailedError("why"), "tool", None, False),
        (ModelFailedError("why"), "model", None, False),
        (BudgetExhaustedError("why", bound="llm_calls"), "budget", "llm_calls", False),
        (BudgetExhaustedError("why", bound="tokens"), "budget", "tokens", False),
        (BudgetExhaustedError("why"), "budget", None, False),
        (BudgetExhaustedError("why", bound="tool_calls"), "budget", None, False),
        (BudgetExhaustedError("why", bound=["tokens"]), "budget", None, False),
        (StageError("why"), "internal", None, False),
        (SettingsError("why"), "internal", None, False),
    ],
)
async def test_an_error_on_purpose_becomes_the_failure_that_it_names(
    error: Exception, kind: str, bound: str | None, recoverable: bool
) -> None:
    result = await failure(error)
    assert (result.kind, result.error, result.bound, result.recoverable) == (kind, "why", bound, recoverable)


@pytest.mark.parametrize(
    "error", [ValueError("odd"), AssertionError("odd"), RecursionError("odd"), TimeoutError("odd"), SystemExit("odd")]
)
async def test_any_other_error_is_an_internal_failure_with_its_name(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        result = await failure(error)
    assert (result.kind, result.error) == ("internal", f"{type(error).__name__}: odd")
    assert [record.message for record in caplog.records] == ["stage.hook_failed"]


@pytest.mark.parametrize("value", [None, 7, "text", [], ({},)])
async def test_a_hook_that_returns_something_else_fails_and_names_the_type(value: Any) -> None:
    result = await failure(value)
    assert (result.kind, result.error) == ("internal", f"the hook returned a {type(value).__name__}, not a StageResult")


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "result",
    [
        StageResult("text"),  # type: ignore[arg-type]
        StageResult({1: "a key that is no text"}),  # type: ignore[dict-item]
        StageResult({"x": object()}),
        StageResult({"x": 2**64}),
        StageResult({"x": "caf\udce9"}),
        StageResult({"x": nested(5_000)}),
        StageResult({"x": nested(MAX_OUTPUT_DEPTH)}),
        StageResult({}, {"add": 1}),  # type: ignore[arg-type]
        StageResult({}, GoalsPatch(statuses={GoalId("g"): "half done"})),  # type: ignore[dict-item]
        StageResult({}, None, InterruptRequest("small talk", "?")),  # type: ignore[arg-type]
        StageResult({}, None, InterruptRequest("confirmation", "?", data={"x": object()})),
    ],
    ids=lambda value: "result",
)
async def test_an_output_that_the_wire_cannot_take_is_a_failure_that_says_so(result: StageResult) -> None:
    failed = await failure(result)
    assert failed.kind == "internal"
    assert failed.error.startswith("the hook's output cannot be put on the wire: ")


async def test_an_output_may_be_nested_to_the_limit() -> None:
    assert isinstance(await outcome({"x": nested(MAX_OUTPUT_DEPTH - 1)}), StageSucceeded)


async def test_an_output_of_the_greatest_size_is_taken_and_one_byte_more_is_not() -> None:
    frame = len(msgspec.msgpack.encode(StageResult({"x": "y" * 100_000}))) - 100_000
    assert isinstance(await outcome({"x": "y" * (MAX_OUTPUT_BYTES - frame)}), StageSucceeded)
    failed = await failure({"x": "y" * (MAX_OUTPUT_BYTES - frame + 1)})
    assert failed.error == f"the hook's output takes {MAX_OUTPUT_BYTES + 1} bytes, limit {MAX_OUTPUT_BYTES}"


async def test_an_error_text_is_cut_and_made_fit_for_the_log() -> None:
    assert (await failure(StageError("caf\udce9"))).error == "caf\\udce9"
    assert len((await failure(StageError("x" * 99_999))).error) == MAX_ERROR_CHARACTERS
    assert (await failure(StageError(7))).error == "7"  # type: ignore[arg-type]


async def test_a_view_that_cannot_be_read_is_a_failure() -> None:
    agent = agent_of(ScriptedAgent([{}]).hooks())
    assert isinstance(await agent.run(command(b"\xc1"), asyncio.Event()), StageFailed)


async def test_cancellation_passes_through() -> None:
    task = asyncio.create_task(outcome(hang))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_hook_that_cancels_itself_is_a_failure_and_no_cancellation() -> None:
    assert "was cancelled, though the stage was not" in (await failure(asyncio.CancelledError())).error


async def test_an_agent_with_a_model_runs_pre_process_reasoner_and_post_process_in_order() -> None:
    async def pre_process(_context: StageContext, view: StageView) -> StageInput:
        return StageInput({"question": view.raw_input})

    async def reason(_context: StageContext, _view: StageView, given_: StageInput) -> dict[str, Any]:
        return {"heard": given_.facts["question"]}

    async def post_process(_context: StageContext, _view: StageView, output: dict[str, Any]) -> StageResult:
        return StageResult({**output, "checked": True})

    hooks = AgentHooks(pre_process=pre_process, reasoners={"rules": reason}, post_process=post_process)
    result = await agent_of(hooks, has_llm=True).run(command(), asyncio.Event())
    assert isinstance(result, StageSucceeded)
    assert result.output == {"heard": "?", "checked": True}
    bare = await agent_of(AgentHooks(reasoners={"rules": reason}, pre_process=pre_process), has_llm=True).run(
        command(), asyncio.Event()
    )
    assert isinstance(bare, StageSucceeded)
    assert bare.output == {"heard": "?"}


async def test_a_reasoner_that_writes_no_mapping_is_a_failure() -> None:
    async def mumble(_context: StageContext, _view: StageView, _given: StageInput) -> Any:
        return "just words"

    result = await agent_of(AgentHooks(reasoners={"rules": mumble}), has_llm=True).run(command(), asyncio.Event())
    assert isinstance(result, StageFailed)


async def call_both(context: StageContext, _view: StageView) -> StageResult:
    statuses = [(await context.tools.call(name, None, {})).status for name in ("reader", "writer")]
    return StageResult({"statuses": statuses})


@pytest.mark.parametrize(
    ("settings", "statuses"),
    [
        ({}, ["denied", "denied"]),
        ({"has_tools": True, "tool_access": "read"}, ["denied", "denied"]),
        ({"has_tools": True, "tool_access": "read", "allowed_tools": ("reader", "writer")}, ["ok", "denied"]),
        ({"has_tools": True, "tool_access": "write", "allowed_tools": ("reader", "writer")}, ["ok", "ok"]),
        ({"has_tools": True, "tool_access": "all", "allowed_tools": ("writer",)}, ["denied", "ok"]),
        ({"has_tools": True, "tool_access": "none", "allowed_tools": ("reader", "writer")}, ["denied", "denied"]),
        ({"has_tools": False, "tool_access": "all", "allowed_tools": ("reader",)}, ["denied", "denied"]),
    ],
)
async def test_an_agent_may_call_the_tools_that_its_list_and_its_access_both_permit(
    settings: dict[str, Any], statuses: list[str]
) -> None:
    result = await outcome(call_both, **settings)
    assert isinstance(result, StageSucceeded)
    assert result.output == {"statuses": statuses}
    assert result.usage.tool_calls == statuses.count("ok")


async def test_tool_calls_are_granted_reported_and_counted_also_when_the_stage_fails() -> None:
    seen: list[ToolCalled] = []

    async def greedy(context: StageContext, _view: StageView) -> StageResult:
        for _ in range(3):
            await context.tools.call("reader", None, {})
        raise ToolFailedError("gave up")

    async def report(called: Progress) -> None:
        assert isinstance(called, ToolCalled)
        seen.append(called)

    agent = agent_of(ScriptedAgent([greedy]).hooks(), has_tools=True, tool_access="read", allowed_tools=("reader",))
    result = await agent.run(command(grant=Grant(tool_calls=2)), asyncio.Event(), report)
    assert isinstance(result, StageFailed)
    assert result.usage.tool_calls == 2
    assert [(called.key, called.tool, called.status) for called in seen] == [
        (KEY, "reader", "ok"),
        (KEY, "reader", "ok"),
        (KEY, "reader", "denied"),
    ]


async def test_blocking_work_runs_beside_the_event_loop() -> None:
    async def process(context: StageContext, _view: StageView) -> StageResult:
        return StageResult({"sum": await context.run_blocking(sum, [1, 2])})

    result = await outcome(process)
    assert isinstance(result, StageSucceeded)
    assert result.output == {"sum": 3}


@pytest.mark.parametrize(
    ("hooks", "settings", "says"),
    [
        (AgentHooks(), {}, "no model and no `process` hook"),
        (AgentHooks(), {"has_llm": True}, "has no reasoner 'rules'"),
        (ScriptedAgent([{}]).hooks(), {"name": "b"}, "has no agent 'b'; it has a"),
    ],
)
def test_an_agent_without_the_hooks_that_its_configuration_needs_is_refused(
    hooks: Any, settings: Any, says: str
) -> None:
    config = AgentConfig.model_validate({"name": "a", "stage_order": 1, **settings})
    capability = Capability("c", ("p",), {"a": hooks}, ToolRegistry([]), dict)
    with pytest.raises(SettingsError, match=says):
        Agent(config, capability, "rules", {}, FakeClock(), LocalQueries())


@pytest.mark.parametrize(
    "spec",
    [
        "",
        ":",
        "nothing.here:X",
        "runtime.agents.capability",
        "runtime.agents.capability:NOPE",
        ".relative:X",
        "runtime.agents.capability:T",
    ],
)
def test_a_capability_that_cannot_be_loaded_is_a_settings_error_that_names_it(spec: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_capability(spec)
    assert caught.value.values["spec"] == spec


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary(max_size=3)
    | st.builds(object)
    | st.characters(categories=["Cs"])
    | st.complex_numbers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.sets(st.integers(), max_size=2)
        | st.dictionaries(st.text(max_size=2) | st.integers(), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(anything | st.builds(StageResult, anything) | st.builds(StageResult, st.just({}), anything, anything))
def test_whatever_a_hook_returns_the_outcome_can_be_recorded_and_read_back(value: Any) -> None:
    result = asyncio.run(outcome(value))
    event = Event(RunId("r-1"), 1, 0, result)
    read = decode_event(encode_event(event))
    assert encode_event(read) == encode_event(event)
