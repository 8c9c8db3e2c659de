"""Executes one stage: decodes the view, runs the agent's hooks, and returns how the stage ended.

The local runner and the actors share it. Whatever a hook does — raise, return the wrong type, write too much — becomes
a `StageSucceeded` or a `StageFailed`; only cancellation passes through.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

import msgspec

from runtime.agents.capability import (
    NO_TOOLS,
    Capability,
    ModelUse,
    StageContext,
    StageInput,
    StageResult,
    check_hooks,
    services_of,
)
from runtime.agents.latency import LatencyWatch
from runtime.agents.memory import HookQueries, Memory
from runtime.agents.own_events import OwnEvents
from runtime.agents.profile import overrides_of, profile_of, section_of
from runtime.agents.reporter import Progress
from runtime.bus.queries import QueryClient
from runtime.effects.remote_journal import QueryJournal
from runtime.effects.stage_effects import StageEffects
from runtime.errors import (
    BudgetExhaustedError,
    JeevesError,
    ModelFailedError,
    NoHandlerError,
    SettingsError,
    StageError,
    ToolFailedError,
)
from runtime.llm.call_metrics import ModelStats
from runtime.llm.client import ModelClient
from runtime.llm.kept_answers import PATIENCE_S, KeptAnswers
from runtime.llm.prompts import PromptRegistry
from runtime.llm.stage_llm import ModelAsked, StageLlm
from runtime.pipeline.config import AgentConfig, ToolAccess
from runtime.pipeline.output_schema import OutputSchema
from runtime.primitives.clock import Clock
from runtime.primitives.ids import StageKey
from runtime.primitives.spans import traced_stage
from runtime.primitives.structured_logs import log_scope
from runtime.processes.stop_watchdog import StopWatchdog
from runtime.run.bounds import Grant
from runtime.run.policy_verdict import PolicyVerdict
from runtime.run.stage_budget import RequestGrant, StageBudget
from runtime.run.stage_view import StageView, decode_view
from runtime.supervision.commands import RunStage
from runtime.supervision.events import (
    Bound,
    BudgetRequested,
    FailureKind,
    StageFailed,
    StageSucceeded,
    StageUsage,
    ToolCalled,
)
from runtime.tools.executor import ToolExecutor
from runtime.tools.result import ToolResult
from runtime.tools.tool_host import ADD_TOOL_USES, ToolHost

log = logging.getLogger(__name__)

# The reasoner that calls a model; all others run only code of the capability.
MODEL_REASONER = "llm"

NO_COUNT = -1
MOST_COUNTED = 2**53
MAX_OUTPUT_BYTES = 4_000_000
MAX_OUTPUT_DEPTH = 100
MAX_ERROR_CHARACTERS = 4_000

ReportProgress = Callable[[Progress], Awaitable[None]]
ShowText = Callable[[str], None]
RequestBudget = Callable[[BudgetRequested], Awaitable[Grant]]

_KIND_OF_ERROR: dict[type[JeevesError], FailureKind] = {
    ToolFailedError: "tool",
    ModelFailedError: "model",
    BudgetExhaustedError: "budget",
}

_BOUNDS: dict[object, Bound] = {"llm_calls": "llm_calls", "tokens": "tokens"}

_REACH: dict[ToolAccess, frozenset[str]] = {
    "none": frozenset(),
    "read": frozenset({"read"}),
    "write": frozenset({"read", "write"}),
    "all": frozenset({"read", "write"}),
}


class Agent:
    """Executes stages of one agent of a pipeline: its configuration, hooks, tools and services."""

    def __init__(
        self,
        config: AgentConfig,
        capability: Capability,
        reasoner: str,
        settings: Mapping[str, Any],
        clock: Clock,
        queries: QueryClient,
        services: Any = None,
        models: ModelClient | None = None,
        prompts: PromptRegistry | None = None,
        watchdog: StopWatchdog | None = None,
    ) -> None:
        """Check the configuration against the hooks. `watchdog` learns of tools that do not stop."""
        hooks = capability.agents.get(config.name)
        if hooks is None:
            known = ", ".join(sorted(capability.agents))
            raise SettingsError(f"capability '{capability.id}' has no agent '{config.name}'; it has {known}")
        if config.has_llm and reasoner not in hooks.reasoners:
            offered = ", ".join(sorted(hooks.reasoners))
            raise SettingsError(f"agent '{config.name}' has no reasoner '{reasoner}'; it has {offered}")
        if config.has_llm and reasoner == MODEL_REASONER and models is None:
            raise SettingsError(
                f"agent '{config.name}' needs a model, and none is set up; name a model file in models.file"
            )
        if not config.has_llm and hooks.process is None:
            raise SettingsError(f"agent '{config.name}' has no model and no `process` hook")
        if config.has_policies and hooks.policy is None:
            raise SettingsError(f"agent '{config.name}' has policies, but no `policy` hook")
        check_hooks(config.name, hooks, capability.id)
        self.config = config
        self._schema = None if config.output_schema is None else OutputSchema(config.name, config.output_schema)
        self._hooks = hooks
        self._profile = profile_of(hooks.profile, config, overrides_of(settings, capability.id, config.name))
        self._model_use = ModelUse.of(config, self._profile)
        self._registry = capability.tools if config.has_tools else NO_TOOLS
        self._reasoner = reasoner
        self._clock = clock
        self._queries = queries
        self._hook_queries = HookQueries(queries, capability.id, capability.queries)
        self._capability_id = capability.id
        self._models = models if config.has_llm and reasoner == MODEL_REASONER else None
        self._prompts = prompts
        self._services = services if services is not None else services_of(capability, settings)
        self._allowed = self._permitted(section_of(settings, capability.id).get("allowed_tools"))
        self._tool_host = ToolHost(clock, watchdog)
        self._journal = QueryJournal(queries, clock) if self._has_effects() else None
        keeps_answers = self._models is not None and settings.get("journal_models", True)
        self._answers = QueryJournal(queries, clock, PATIENCE_S) if keeps_answers else None

    async def may_begin(self, key: StageKey, by: str) -> bool:
        """Return False when another process than `by` has begun the attempt: its effects may still be in progress.

        The journal is asked only for agents with tools that write; the others lose nothing by beginning twice.
        """
        return self._journal is None or await self._journal.begin(key, by)

    async def run(
        self,
        command: RunStage,
        cancelled: asyncio.Event,
        report: ReportProgress | None = None,
        more: RequestBudget | None = None,
        show: ShowText | None = None,
    ) -> StageSucceeded | StageFailed:
        """Execute one stage; `more` requests budget beyond the grant, `show` receives the text being written.

        Raises only asyncio.CancelledError, and errors of `report`.
        """
        with log_scope(command.key.run_id, self.config.name), traced_stage(command.key):
            async with LatencyWatch(command.key, self._profile.latency_budget_ms, self._clock, report):
                ended = await self._ended(command, cancelled, report, more, show)
            await self._store_tool_calls()
            return ended

    async def _ended(
        self,
        command: RunStage,
        cancelled: asyncio.Event,
        report: ReportProgress | None,
        more: RequestBudget | None,
        show: ShowText | None,
    ) -> StageSucceeded | StageFailed:
        started_s = time.perf_counter()
        budget = StageBudget(command.grant, _grant_requester(command.key, more))
        tools = self._tools(command, budget, report)
        kind: FailureKind = "internal"
        bound: Bound | None = None
        recoverable = False
        try:
            view = decode_view(command.input)
            context = StageContext(
                command.key,
                self._clock,
                tools,
                self._hook_queries,
                self._services,
                cancelled,
                budget,
                self._model_use,
                self._llm(command, budget, view.user_id),
                self._prompts,
                show,
                OwnEvents(command.key, report),
                self._profile,
                self._memory("session", view.user_id, view.session_id),
                self._memory("cache", view.user_id, ""),
            )
            result = _wire_result(await self._run_hooks(context, view))
            failure = result if isinstance(result, str) else self._schema_fault(result)
            if isinstance(result, StageResult) and failure is None:
                policy = await self._evaluate_policy(context, view, result)
                usage = _usage(budget, started_s)
                log.debug("stage.succeeded", extra={"key": str(command.key), "duration_ms": usage.duration_ms})
                return StageSucceeded(command.key, result.output, result.goals, result.interrupt, usage, policy)
        except JeevesError as error:
            kind = next((k for cls, k in _KIND_OF_ERROR.items() if isinstance(error, cls)), "internal")
            recoverable = bool(error.values.get("recoverable"))
            bound = next((b for name, b in _BOUNDS.items() if error.values.get("bound") == name), None)
            failure = str(error.message)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            failure = "the hook gave up: something that it awaited was cancelled, though the stage was not"
        except (Exception, SystemExit) as error:
            log.exception("stage.hook_failed", extra={"run_id": command.key.run_id, "stage": self.config.name})
            failure = f"{type(error).__name__}: {error}"
        usage = _usage(budget, started_s)
        log.info("stage.failed", extra={"key": str(command.key), "kind": kind, "reason": failure})
        return StageFailed(command.key, kind, _sanitized(failure or ""), bound, recoverable, usage)

    def model_stats(self) -> ModelStats | None:
        """Return the counts of the agent's model calls; None for an agent without a model."""
        return None if self._models is None else self._models.stats()

    async def close(self) -> None:
        """Kill idle tool processes, and close the connections to models; agents of a process may share them."""
        await self._tool_host.close()
        if self._models is not None:
            await self._models.close()

    async def _store_tool_calls(self) -> None:
        """Let the store count the tool calls made; without one, and if that fails, they are not counted."""
        for scope, calls in self._tool_host.take_counted().items():
            try:
                await self._queries.query(ADD_TOOL_USES, {"scope": scope, "calls": msgspec.to_builtins(calls)})
            except NoHandlerError:
                return
            except JeevesError as error:
                log.warning("tools.not_counted", extra={"stage": self.config.name, "error": error.message})

    async def _evaluate_policy(
        self, context: StageContext, view: StageView, result: StageResult
    ) -> PolicyVerdict | None:
        if not self.config.has_policies or self._hooks.policy is None:
            return None
        verdict: object = await self._hooks.policy(context, view, result)
        if not isinstance(verdict, PolicyVerdict):
            raise StageError(f"the policy returned a {type(verdict).__name__}, not a PolicyVerdict")
        try:
            read = msgspec.convert(msgspec.to_builtins(verdict), PolicyVerdict)
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
            raise StageError(f"the policy's verdict cannot be put on the wire: {error}") from error
        return msgspec.structs.replace(read, reason=_sanitized(read.reason))

    def _schema_fault(self, result: StageResult) -> str | None:
        if self._schema is None or result.interrupt is not None:
            return None
        return self._schema.fault(result.output)

    async def _run_hooks(self, context: StageContext, view: StageView) -> StageResult:
        hooks = self._hooks
        if not self.config.has_llm:
            assert hooks.process is not None
            return await hooks.process(context, view)
        given = await hooks.pre_process(context, view) if hooks.pre_process else StageInput(dict(view.outputs))
        output = await hooks.reasoners[self._reasoner](context, view, given)
        if hooks.post_process is None:
            return StageResult(output)
        return await hooks.post_process(context, view, output)

    def _memory(self, kind: str, user_id: str, session_id: str | None) -> Memory:
        scope = None if session_id is None else [self._capability_id, kind, user_id, session_id]
        return Memory(self._queries, scope)

    def _llm(self, command: RunStage, budget: StageBudget, user_id: str) -> StageLlm | None:
        if self._models is None or self._model_use is None:
            return None
        use = self._model_use
        asked = ModelAsked(use.role, use.temperature, use.max_tokens)
        kept = None if self._answers is None else KeptAnswers(self._answers, command.key, command.retries)
        caller = (str(command.key), user_id)
        return StageLlm(self._models, asked, budget, *caller, self._clock, command.deadline_ms, kept)

    def _tools(self, command: RunStage, budget: StageBudget, report: ReportProgress | None) -> ToolExecutor:
        async def on_call(name: str, result: ToolResult) -> None:
            if report is not None:
                await report(ToolCalled(command.key, name, result.status, result.duration_ms))

        effects = None if self._journal is None else StageEffects(self._journal, command.key)
        return ToolExecutor(self._registry, self._allowed, budget, on_call, effects, self._tool_host)

    def _permitted(self, at_most: Collection[str] | None) -> frozenset[str]:
        """Return the tools that the pipeline allows; `at_most` those of the settings, if these name any."""
        reach = _REACH[self.config.tool_access] if self.config.has_tools else frozenset()
        out_of_reach = {tool.name for tool in self._registry if tool.access not in reach}
        allowed = frozenset(self.config.allowed_tools) - out_of_reach if reach else frozenset()
        return allowed if at_most is None else allowed & frozenset(at_most)

    def _has_effects(self) -> bool:
        return any(tool.access == "write" and tool.name in self._allowed for tool in self._registry)


def _grant_requester(key: StageKey, more: RequestBudget | None) -> RequestGrant | None:
    if more is None:
        return None

    async def ask(asked: Grant) -> Grant:
        return await more(BudgetRequested(key, asked.llm_calls, asked.tool_calls, asked.tokens or 0))

    return ask


def _usage(budget: StageBudget, started_s: float) -> StageUsage:
    return StageUsage(
        llm_calls=_count(budget.llm_calls),
        tool_calls=_count(budget.tool_calls),
        tokens_in=_count(budget.tokens_in),
        tokens_out=_count(budget.tokens_out),
        cost_micro=_count(budget.cost_micro),
        duration_ms=int((time.perf_counter() - started_s) * 1000),
    )


def _count(value: object) -> int:
    """Return a count that any wire takes; NO_COUNT, which the supervisor refuses, for what a hook made of it."""
    return value if type(value) is int and abs(value) <= MOST_COUNTED else NO_COUNT


def _wire_result(result: object) -> StageResult | str:
    """Return a hook's result as the supervisor will decode it, or why it cannot be accepted.

    Going through the wire here makes a run the same in every host and in a replay: tuples become lists, for one.
    """
    if not isinstance(result, StageResult):
        return f"the hook returned a {type(result).__name__}, not a StageResult"
    try:
        data = msgspec.msgpack.encode(result)
        if len(data) > MAX_OUTPUT_BYTES:
            return f"the hook's output takes {len(data)} bytes, limit {MAX_OUTPUT_BYTES}"
        read = _RESULT_DECODER.decode(data)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        return f"the hook's output cannot be put on the wire: {error}"
    if _deeper_than(MAX_OUTPUT_DEPTH, [read.output, read.interrupt.data if read.interrupt else None]):
        return f"the hook's output cannot be put on the wire: nested more than {MAX_OUTPUT_DEPTH} levels deep"
    return read


_RESULT_DECODER = msgspec.msgpack.Decoder(StageResult)


def _deeper_than(levels: int, value: object) -> bool:
    if not isinstance(value, dict | list):
        return False
    parts = value.values() if isinstance(value, dict) else value
    return levels < 0 or any(_deeper_than(levels - 1, part) for part in parts)


def _sanitized(text: str) -> str:
    """Return an error text that any log and wire accepts: cut, and without lone surrogates."""
    return text[:MAX_ERROR_CHARACTERS].encode("utf-8", "backslashreplace").decode("utf-8")
