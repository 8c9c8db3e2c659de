"""Defines a capability: agents' hooks, tools, pipelines and services, in one record.

An agent is one class driven by its configuration plus these hooks. Agents with a reasoner (has_llm) run `pre_process` →
reasoner → `post_process`; the others run `process`. A hook changes the run only through the `StageResult` that it
returns.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import msgspec
from pydantic import BaseModel, ValidationError

from runtime.agents.memory import Memory
from runtime.agents.own_events import OwnEvents
from runtime.agents.profile import AgentProfile, profile_of, section_of
from runtime.bus.queries import QueryClient
from runtime.errors import CapabilityError, JeevesError, SettingsError
from runtime.llm.prompts import PromptRegistry
from runtime.llm.stage_llm import StageLlm
from runtime.pipeline.config import AgentConfig
from runtime.primitives.clock import Clock
from runtime.primitives.declared import declared
from runtime.primitives.ids import StageKey
from runtime.run.bounds import Grant
from runtime.run.envelope import InterruptRequest
from runtime.run.goals import GoalsPatch
from runtime.run.policy_verdict import PolicyVerdict
from runtime.run.stage_budget import StageBudget
from runtime.run.stage_view import StageView
from runtime.supervision.commands import EVENT_FAMILIES
from runtime.tools.executor import ToolExecutor
from runtime.tools.registry import ToolRegistry

T = TypeVar("T")

NO_TOOLS = ToolRegistry(())


class StageInput(msgspec.Struct, frozen=True):
    """Holds a reasoner's input: the facts that it may use, already cut to their budget."""

    facts: dict[str, Any]


class StageResult(msgspec.Struct, frozen=True):
    """Holds a hook's result, the only way in which an agent changes a run."""

    output: dict[str, Any]
    goals: GoalsPatch | None = None
    interrupt: InterruptRequest | None = None


class ModelUse(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds an agent's configured model parameters; None leaves a value to the model's own settings.

    `temperature` is from 0 to 2; `max_tokens` bounds one answer.
    """

    role: str
    prompt_key: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None

    @classmethod
    def of(cls, config: AgentConfig, profile: AgentProfile | None = None) -> ModelUse | None:
        """Return an agent's use of its model, by its profile or its pipeline alone; None for an agent without one."""
        if not config.has_llm:
            return None
        profile = profile or profile_of(AgentProfile(), config, {})
        return cls(profile.role or "", config.prompt_key, profile.temperature, profile.max_tokens)


class StageContext:
    """Gives a hook access to clock, tools, queries and services while its stage runs.

    `llm` and `prompts` are present where a model reasons. `session` and `cache` keep values beyond the run, in this
    capability's share of the user's session and of the user's cache.
    """

    def __init__(
        self,
        key: StageKey,
        clock: Clock,
        tools: ToolExecutor,
        queries: QueryClient,
        services: Any,
        cancelled: asyncio.Event,
        budget: StageBudget | None = None,
        model_use: ModelUse | None = None,
        llm: StageLlm | None = None,
        prompts: PromptRegistry | None = None,
        show: Callable[[str], None] | None = None,
        own_events: OwnEvents | None = None,
        profile: AgentProfile | None = None,
        session: Memory | None = None,
        cache: Memory | None = None,
    ) -> None:
        self.key = key
        self.clock = clock
        self.tools = tools
        self.queries = queries
        self.services = services
        self.cancelled = cancelled
        self.budget = budget or StageBudget(Grant())
        self.model_use = model_use
        self.llm = llm
        self.prompts = prompts
        self._show = show
        self.session = session or Memory(queries, None)
        self.cache = cache or Memory(queries, None)
        self.profile = profile or AgentProfile()
        self._own_events = own_events or OwnEvents(key, None)

    def show(self, text: str) -> None:
        """Show `text` to the watchers of the run as all that this stage has written so far.

        It is provisional: nothing of it is checked, recorded or resent. May be called as often as it changes.
        """
        if self._show is not None:
            self._show(text)

    async def emit(self, name: str, data: Mapping[str, Any] | None = None) -> None:
        """Emit an event to the callers of the run, under the type `<id of the capability>.<name>`.

        It is numbered, recorded and streamed like the kernel's own events. A visit of a stage may have 32, each with at
        most 4 KiB of JSON in `data`. The n-th event of a visit is shown once: a stage that runs again, because it is
        retried or its process died, does not repeat it. Raises StageError for any other event.
        """
        await self._own_events.emit(name, data or {})

    async def run_blocking(self, function: Callable[..., T], *arguments: Any) -> T:
        """Run CPU-heavy or blocking work in a thread, so that this agent still receives a cancellation."""
        return await asyncio.to_thread(function, *arguments)


PreProcess = Callable[[StageContext, StageView], Awaitable[StageInput]]
Process = Callable[[StageContext, StageView], Awaitable[StageResult]]
PostProcess = Callable[[StageContext, StageView, dict[str, Any]], Awaitable[StageResult]]
Policy = Callable[[StageContext, StageView, StageResult], Awaitable[PolicyVerdict]]
Reasoner = Callable[[StageContext, StageView, StageInput], Awaitable[dict[str, Any]]]


class AgentHooks(msgspec.Struct, frozen=True):
    """Holds the code of one agent. `reasoners`: name of a reasoner (`rules`, …) → its implementation.

    `profile`: its defaults; `context.profile` has them together with the values of the pipeline and of the settings.
    `policy` judges the result before it takes effect; the pipeline enables it with has_policies.
    """

    process: Process | None = None
    pre_process: PreProcess | None = None
    reasoners: Mapping[str, Reasoner] = {}
    post_process: PostProcess | None = None
    policy: Policy | None = None
    profile: AgentProfile = AgentProfile()


def no_services(_settings: Mapping[str, Any]) -> None:
    """Open nothing, for capabilities whose hooks share no objects."""


def check_hooks(agent: str, hooks: AgentHooks, capability_id: str) -> None:
    """Check that every hook of an agent is a coroutine function. Raises SettingsError that names the one that is not.

    A hook that blocked would keep its process from being cancelled and from answering heartbeats. Functions that return
    an awaitable are recognised by the annotation of their result.
    """
    named = {name: getattr(hooks, name) for name in ("process", "pre_process", "post_process", "policy")}
    named |= {f"reasoners['{name}']": reasoner for name, reasoner in hooks.reasoners.items()}
    for name, hook in named.items():
        if hook is not None and not _is_awaited(hook):
            where = getattr(hook, "__qualname__", type(hook).__name__)
            raise SettingsError(
                f"hook {name} of agent '{agent}' in capability '{capability_id}' is no coroutine function: declare"
                f" {where} with `async def`, and give blocking work to `await context.run_blocking(function, …)`",
                agent=agent,
                hook=name,
                capability=capability_id,
            )


def _is_awaited(hook: Callable[..., object]) -> bool:
    function: Any = hook
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function):
        function = getattr(type(function), "__call__", function)  # noqa: B004 - an object that is called
    if inspect.iscoroutinefunction(inspect.unwrap(function)):
        return True
    declared_result = str(getattr(function, "__annotations__", {}).get("return", ""))
    return "Awaitable" in declared_result or "Coroutine" in declared_result


class Capability(msgspec.Struct, frozen=True):
    """Describes one job of Jeeves: the code of its agents, by stage name, and what they use.

    `pipelines`: the names of its pipelines; empty means those in `configs/pipelines` of its package.
    `open_services(settings)` creates what the hooks of one process share; they find it in `context.services`.
    `settings`: the model of the capability's own settings (`domain` in its section of jeeves.yaml); `open_services`
    gets an instance as `settings["domain"]`. `queries`: the first words of queries to the store that its hooks make
    themselves, such as `session.`; without them, hooks reach what they keep by `context.session` and `context.cache`.
    """

    id: str
    pipelines: tuple[str, ...] = ()
    agents: Mapping[str, AgentHooks] = {}
    tools: ToolRegistry = NO_TOOLS
    open_services: Callable[[Mapping[str, Any]], Any] = no_services
    settings: type[BaseModel] | None = None
    queries: tuple[str, ...] = ()


def services_of(capability: Capability, settings: Mapping[str, Any]) -> Any:
    """Open the services of one process; `settings` is what agents are given.

    Raises SettingsError and CapabilityError.
    """
    if capability.settings is None:
        return _opened(capability, settings)
    given = section_of(settings, capability.id).get("domain", {})
    try:
        domain = capability.settings.model_validate(given)
    except ValidationError as error:
        raise SettingsError(f"settings of capability '{capability.id}': {error}") from error
    return _opened(capability, {**settings, "domain": domain})


def _opened(capability: Capability, settings: Mapping[str, Any]) -> Any:
    try:
        return capability.open_services(settings)
    except JeevesError:
        raise
    except Exception as error:
        module = getattr(capability.open_services, "__module__", "its package")
        problem = (
            f"capability '{capability.id}' cannot open its services: {module} raised {type(error).__name__}: {error}"
        )
        raise CapabilityError(
            f"{problem}; mend that package, or leave it out of `capabilities`", capability=capability.id, module=module
        ) from error


def load_capability(spec: str, name: str | None = None) -> Capability:
    """Load the capability that `"module:NAME"` names, and that calls itself `name` if one is given.

    Raises SettingsError when there is none, or one with another or a reserved id: memory and events go by it.
    """
    found = declared(spec, Capability, "capability")
    if name is not None and found.id != name:
        raise SettingsError(
            f"'{spec}' is declared as capability '{name}', but its id is '{found.id}'; use one name for both", spec=spec
        )
    if found.id in EVENT_FAMILIES:
        reserved = ", ".join(sorted(EVENT_FAMILIES))
        raise SettingsError(f"the id '{found.id}' of '{spec}' is reserved; reserved are {reserved}", spec=spec)
    return found
