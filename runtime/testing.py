"""Provides the kernel's test kit: short pipelines, scripted agents, whole runs under a fake clock.

    kit = scripted_runner(YAML, {"ask": [{"found": False}, {"found": True}], "answer": [{"text": "42"}]})
    envelope = await kit.run("what is it?")
    assert [record.stage for record in envelope.history] == ["ask", "ask", "answer"]

`Bench` drives `decide` by hand, one event at a time; `replay` folds a log. `ScriptedModel` answers from a script where
a capability asks a model (`scripted_runner(…, model=…)`), `MemoryBus` is the bus of one process. Nothing here sleeps or
reads a real clock.
(Over 400 lines: a single import covers all that authors of capabilities need.)
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import yaml

from runtime.agents.capability import AgentHooks, Capability, StageContext, StageInput, StageResult
from runtime.agents.stage_runner import MODEL_REASONER, Agent
from runtime.bus.memory_bus import MemoryBus, MemoryTransport, settle
from runtime.bus.queries import LocalQueries
from runtime.effects.journal import MemoryJournal
from runtime.effects.remote_journal import journal_queries
from runtime.hosting.local_runner import LocalRunner
from runtime.llm.scripted import ScriptedModel, scripted_client
from runtime.memory.capability_values import MemoryCache, ValueStore, value_queries
from runtime.pipeline.config import PipelineConfig
from runtime.pipeline.interrupt_kinds import InterruptKind
from runtime.pipeline.loading import parse_pipeline
from runtime.primitives.clock import FakeClock
from runtime.primitives.ids import RunId, StageKey
from runtime.run.bounds import Grant
from runtime.run.envelope import (
    SCHEMA_VERSION,
    Envelope,
    InterruptRequest,
    InterruptResponse,
    Lifecycle,
    Request,
)
from runtime.run.goals import GoalsPatch
from runtime.run.policy_verdict import PolicyVerdict
from runtime.run.stage_view import StageView
from runtime.store.run_log import MemoryRunLog, RunLog
from runtime.supervision.commands import ClientEvent, Command, Emit, GiveGrant, RunStage
from runtime.supervision.decide import decide
from runtime.supervision.events import (
    ActorLost,
    Bound,
    BudgetRequested,
    CancelRequested,
    Event,
    FailureKind,
    InterruptAnswered,
    PauseRequested,
    Payload,
    RunAdmitted,
    RunAdopted,
    RunRequested,
    StageFailed,
    StageStarted,
    StageSucceeded,
    StageUsage,
    TimerFired,
    ToolCalled,
)
from runtime.supervision.state import Decision, InFlight, RunState, new_state
from runtime.tools.registry import Tool, ToolRegistry

__all__ = [
    "Bench",
    "FakeClock",
    "MemoryBus",
    "MemoryTransport",
    "PipelineBuilder",
    "ScriptedAgent",
    "ScriptedModel",
    "ScriptedRunner",
    "hang",
    "replay",
    "scripted_runner",
    "settle",
    "wire_form",
]

Script = Sequence[Any]
# The reasoner of settings that name none.
_RULES = "rules"
START_MS = 1_700_000_000_000
MAX_STEPS = 10_000


class PipelineBuilder:
    """Builds a pipeline in code; `stage` numbers stages in the order of the calls."""

    def __init__(self, name: str = "sample", /, **settings: Any) -> None:
        self.data: dict[str, Any] = {"name": name, "agents": [], **settings}

    @classmethod
    def parallel(cls, name: str = "sample", /, **settings: Any) -> PipelineBuilder:
        """Start a pipeline whose stages start as soon as their requirements allow."""
        return cls(name, default_run_mode="parallel", **settings)

    def stage(self, name: str, **settings: Any) -> PipelineBuilder:
        """Add a stage; `settings` are keys of its configuration."""
        order = 10 * (len(self.data["agents"]) + 1)
        self.data["agents"].append({"name": name, "stage_order": order, **settings})
        return self

    def rule(self, condition: str, value: Any, target: str, clear: Sequence[str] = ()) -> PipelineBuilder:
        """Add a routing rule to the stage that was added last."""
        rule = {"condition": condition, "value": value, "target": target, "clear": list(clear)}
        self.data["agents"][-1].setdefault("routing_rules", []).append(rule)
        return self

    def edge_limit(self, source: str, target: str, max_count: int) -> PipelineBuilder:
        """Limit the edge source → target to `max_count` traversals."""
        self.data.setdefault("edge_limits", []).append({"from": source, "to": target, "max_count": max_count})
        return self

    def yaml(self) -> str:
        """Return the pipeline as a YAML document."""
        return yaml.safe_dump(self.data, sort_keys=False)

    def build(self) -> PipelineConfig:
        """Return the pipeline, validated like one from a file. Raises DocumentFaults."""
        return parse_pipeline(self.yaml())


async def hang(_context: StageContext, _view: StageView) -> StageResult:
    """Never return: a script step that has to be cancelled."""
    await asyncio.Event().wait()
    raise AssertionError("an event without a setter was set")


class ScriptedAgent:
    """Plays a script as an agent's hook, step by step; the last step repeats.

    A step is an output (a dict), a StageResult, an exception to raise, or an async function of context and view;
    anything else is returned as it is, which no agent may do. `verdicts` are its policy's, call by call. `views` and
    `keys` record the arguments of each call.
    """

    def __init__(self, script: Script, verdicts: Sequence[PolicyVerdict] = ()) -> None:
        if not script:
            raise ValueError("a script needs at least one step")
        self._script = list(script)
        self._verdicts = list(verdicts)
        self.views: list[StageView] = []
        self.keys: list[StageKey] = []

    @property
    def calls(self) -> int:
        """The number of times the stage was executed."""
        return len(self.views)

    async def process(self, context: StageContext, view: StageView) -> StageResult:
        """Play the next step."""
        step = self._script[min(self.calls, len(self._script) - 1)]
        self.views.append(view)
        self.keys.append(context.key)
        if isinstance(step, BaseException):
            raise step
        if callable(step):
            step = await step(context, view)
        result: StageResult = StageResult(step) if isinstance(step, dict) else step
        return result

    def hooks(self) -> AgentHooks:
        """Return hooks for an agent with or without a model; with one, `post_process` plays the script."""

        async def reason(_context: StageContext, _view: StageView, _given: StageInput) -> dict[str, Any]:
            return {}

        async def post_process(context: StageContext, view: StageView, _output: dict[str, Any]) -> StageResult:
            return await self.process(context, view)

        async def judge(_context: StageContext, _view: StageView, _result: StageResult) -> PolicyVerdict:
            return self._verdicts[min(self.calls, len(self._verdicts)) - 1]

        return AgentHooks(
            process=self.process,
            reasoners=dict.fromkeys(("scripted", _RULES, MODEL_REASONER), reason),
            post_process=post_process,
            policy=judge if self._verdicts else None,
        )


class ScriptedRunner:
    """Combines a LocalRunner over one pipeline with scripted agents by stage, a clock and a log.

    A stage that is given AgentHooks runs these: their reasoner `llm`, which asks `model`, or `rules` without a model.
    """

    def __init__(
        self,
        config: PipelineConfig,
        scripts: Mapping[str, Script | AgentHooks],
        tools: Iterable[Tool] = (),
        log: RunLog | None = None,
        verdicts: Mapping[str, Sequence[PolicyVerdict]] | None = None,
        model: ScriptedModel | None = None,
    ) -> None:
        missing = sorted(set(config.stages) ^ set(scripts))
        if missing:
            raise ValueError(f"stages and scripts differ in {', '.join(missing)}")
        self.config = config
        self.clock = FakeClock(START_MS)
        self.log = log if log is not None else MemoryRunLog()
        self.agents = {
            stage: ScriptedAgent(steps, (verdicts or {}).get(stage, ()))
            for stage, steps in scripts.items()
            if not isinstance(steps, AgentHooks)
        }
        own = {stage: hooks for stage, hooks in scripts.items() if isinstance(hooks, AgentHooks)}
        capability = Capability(
            id="scripted",
            pipelines=(config.name,),
            agents={**own, **{stage: agent.hooks() for stage, agent in self.agents.items()}},
            tools=ToolRegistry(tools),
            open_services=dict,
        )
        queries = LocalQueries()
        queries.register(journal_queries(MemoryJournal()))
        queries.register(value_queries(ValueStore(MemoryCache(), self.clock)))
        models = None if model is None else scripted_client(model, self.clock)
        reasoner = _RULES if model is None else MODEL_REASONER
        hosted = {
            stage: Agent(agent, capability, reasoner, {}, self.clock, queries, models=models)
            for stage, agent in config.stages.items()
        }
        self.runner = LocalRunner({config.name: config}, {config.name: hosted}, self.log, self.clock)

    def request(self, question: str = "?", **fields: Any) -> Request:
        """Return a request for this pipeline."""
        return Request(self.config.name, question, **fields)

    async def run(self, question: str = "?", **fields: Any) -> Envelope:
        """Execute a whole run while the clock stands still."""
        return await self.runner.run(self.request(question, **fields))

    async def run_through_time(self, question: str = "?", step_s: float = 0.25, **fields: Any) -> Envelope:
        """Execute a whole run while the clock advances in steps until the run is over."""
        run = asyncio.create_task(self.runner.run(self.request(question, **fields)))
        for _ in range(MAX_STEPS):
            if run.done():
                return run.result()
            await self.clock.advance(step_s)
        run.cancel()
        raise AssertionError(f"the run is not over after {MAX_STEPS} steps of {step_s:g} s")

    async def until(self, run_id: RunId, lifecycle: Lifecycle) -> Envelope:
        """Return the envelope of a run as soon as it is `lifecycle`, while the clock stands still."""
        for _ in range(MAX_STEPS):
            envelope = self.runner.envelope(run_id)
            if envelope.lifecycle == lifecycle:
                return envelope
            await asyncio.sleep(0)
        raise AssertionError(f"the run is {envelope.lifecycle}, not {lifecycle}")

    async def answer(self, run_id: RunId, text: str = "", **fields: Any) -> None:
        """Answer the run's open question as the user who requested it. Raises InterruptError."""
        asked = self.runner.envelope(run_id).interrupt
        interrupt_id = asked.id if asked else ""
        await self.runner.answer(run_id, interrupt_id, "local", InterruptResponse(text, **fields))

    async def events(self, run_id: RunId, after_seq: int = 0) -> list[ClientEvent]:
        """Return the client events of a run, to its end."""
        return [event async for event in self.runner.watch(run_id, after_seq)]


def scripted_runner(
    text: str,
    scripts: Mapping[str, Script | AgentHooks],
    tools: Iterable[Tool] = (),
    log: RunLog | None = None,
    verdicts: Mapping[str, Sequence[PolicyVerdict]] | None = None,
    model: ScriptedModel | None = None,
) -> ScriptedRunner:
    """Return a LocalRunner over the pipeline in YAML `text`, with a script, or hooks, for each stage."""
    return ScriptedRunner(parse_pipeline(text), scripts, tools, log, verdicts, model)


class Bench:
    """Drives one run by hand: each call is one event; ignored events are kept out of `log`, as hosts do."""

    def __init__(self, config: PipelineConfig, run_id: str = "r-bench") -> None:
        self.config = config
        self.run_id = RunId(run_id)
        self.now_ms = START_MS
        self.state: RunState = new_state(self.run_id)
        self.log: list[Event] = []
        self.commands: list[Command] = []

    def happen(self, payload: Payload) -> Decision:
        """Decide on one event, at the bench's current instant."""
        event = Event(self.run_id, len(self.log) + 1, self.now_ms, payload)
        decision = decide(self.config, self.state, event)
        if decision.ignored is None:
            self.log.append(event)
            self.state = decision.state
            self.commands.extend(decision.commands)
        return decision

    def request(self, queued: bool = False, calls_models: bool = True, **fields: Any) -> Decision:
        """Request the run; a queued one waits to be admitted."""
        request = Request(self.config.name, "?", **fields)
        return self.happen(RunRequested(request, queued, "", SCHEMA_VERSION, calls_models))

    def admit(self) -> Decision:
        """Admit the run."""
        return self.happen(RunAdmitted())

    def adopt(self) -> Decision:
        """Let another supervisor adopt the run."""
        return self.happen(RunAdopted())

    def start(self, stage: str | None = None, item: int | None = None) -> Decision:
        """Report that a stage in flight has started."""
        return self.happen(StageStarted(self.in_flight(stage, item).key))

    def succeed(
        self,
        output: dict[str, Any] | None = None,
        usage: StageUsage | None = None,
        goals: GoalsPatch | None = None,
        *,
        stage: str | None = None,
        item: int | None = None,
        policy: PolicyVerdict | None = None,
        interrupt: InterruptRequest | None = None,
    ) -> Decision:
        """End a stage in flight with `output`, and perhaps with a question or a policy's verdict."""
        key = self.in_flight(stage, item).key
        return self.happen(StageSucceeded(key, output or {}, goals, interrupt, usage or StageUsage(), policy))

    def ask(self, kind: InterruptKind = "clarification", question: str = "?", stage: str | None = None) -> Decision:
        """End a stage in flight with a question."""
        return self.succeed({}, stage=stage, interrupt=InterruptRequest(kind, question))

    def answer(
        self, text: str = "", *, interrupt_id: str | None = None, user_id: str = "local", **fields: Any
    ) -> Decision:
        """Answer the open question, or another one."""
        current = self.envelope.interrupt.id if self.envelope.interrupt else ""
        payload = InterruptAnswered(interrupt_id or current, user_id, InterruptResponse(text, **fields))
        return self.happen(payload)

    def pause(self, reason: str = "") -> Decision:
        """Request a pause."""
        return self.happen(PauseRequested(reason))

    def fail(
        self,
        kind: FailureKind = "internal",
        error: str = "broken",
        recoverable: bool = False,
        bound: Bound | None = None,
        usage: StageUsage | None = None,
        *,
        stage: str | None = None,
        item: int | None = None,
    ) -> Decision:
        """Fail a stage in flight."""
        key = self.in_flight(stage, item).key
        return self.happen(StageFailed(key, kind, error, bound, recoverable, usage or StageUsage()))

    def want(self, stage: str | None = None, item: int | None = None, **budget: int) -> Grant:
        """Request more budget for a stage in flight; return the grant."""
        (given,) = self.happen(BudgetRequested(self.in_flight(stage, item).key, **budget)).commands
        assert isinstance(given, GiveGrant)
        return given.grant

    def call_tool(self, status: str = "ok", stage: str | None = None) -> Decision:
        """Report a tool call of a stage in flight."""
        return self.happen(ToolCalled(self.in_flight(stage).key, "look", status))

    def lose(self, stage: str | None = None) -> Decision:
        """Report the death of the process under a stage in flight, with the attempts that it held, as hosts do."""
        lost = stage or self.flying.stage
        held = [entry for entry in self.state.in_flight.values() if entry.stage == lost and not entry.waiting_retry]
        return self.happen(ActorLost(lost, tuple(entry.key for entry in held)))

    def cancel(self, reason: str = "") -> Decision:
        """Request the end of the run."""
        return self.happen(CancelRequested(reason))

    def wait(self, delay_s: float) -> None:
        """Let time pass; each timer fires at its own instant."""
        until_ms = self.now_ms + round(delay_s * 1000)
        while due := [(due_ms, timer) for timer, due_ms in self.state.timers.items() if due_ms <= until_ms]:
            due_ms, timer = min(due)
            self.now_ms = max(self.now_ms, due_ms)
            self.happen(TimerFired(timer))
        self.now_ms = until_ms

    @property
    def flying(self) -> InFlight:
        """The only stage in flight."""
        (entry,) = self.state.in_flight.values()
        return entry

    def in_flight(self, stage: str | None = None, item: int | None = None) -> InFlight:
        """Return the entry in flight of `stage` (None: the only stage) and `item` (None: the first)."""
        if stage is None and item is None:
            return self.flying
        found = [entry for entry in self.state.in_flight.values() if stage in (None, entry.stage)]
        return next(entry for entry in found if item in (None, entry.key.item))

    @property
    def at_work(self) -> list[str]:
        """The stages in flight, in the order in which they were issued; a fan-out is there once per item."""
        return [str(entry.stage) for entry in self.state.in_flight.values()]

    @property
    def reason(self) -> str | None:
        """The run's terminal reason."""
        return self.envelope.terminal_reason

    @property
    def envelope(self) -> Envelope:
        """The current envelope."""
        return self.state.envelope

    @property
    def issued(self) -> list[RunStage]:
        """Every RunStage so far."""
        return [command for command in self.commands if isinstance(command, RunStage)]

    @property
    def visited(self) -> list[str]:
        """The stages that were issued, attempt by attempt."""
        return [str(command.stage) for command in self.issued]

    @property
    def client_events(self) -> list[ClientEvent]:
        """The client events so far."""
        return [command.event for command in self.commands if isinstance(command, Emit)]


def replay(config: PipelineConfig, events: Iterable[Event]) -> list[Decision]:
    """Return the decisions on a log, one for each event, from its first."""
    decisions: list[Decision] = []
    state: RunState | None = None
    for event in events:
        decisions.append(decide(config, state if state is not None else new_state(event.run_id), event))
        state = decisions[-1].state
    return decisions


def wire_form(value: Any) -> Any:
    """Return a value as it is after a trip through MessagePack, for comparing states and commands by content."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(value))
