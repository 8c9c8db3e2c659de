"""Defines a pipeline as data: agents, routing between them, and bounds.

`runtime.pipeline.loading` reads one from YAML and lists every fault; `runtime.pipeline.pipeline_validation` holds the
checks that concern a pipeline as a whole. The guide is docs/semantics.md.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from runtime.loops.records import LoopKind
from runtime.pipeline.run_terms import Priority, RunMode

END = "end"
INTERRUPT_TARGETS: tuple[str, ...] = ("clarification", "confirmation", "agent_review")
ToolAccess = Literal["none", "read", "write", "all"]
JoinStrategy = Literal["all", "any"]
OnTrouble = Literal["end", "wait"]
OnExpiry = Literal["proceed", "end"]
RetryKind = Literal["reintent", "replan"]
LOOP_KINDS: frozenset[str] = frozenset(get_args(LoopKind))
# What `loop_detection: true` stands for. No identical_action: a stage may honestly give one verdict in every round.
DEFAULT_LOOP_DETECTION = {"error_cycle": 2, "semantic_loop": 4, "oscillation": 2, "no_progress": 2}

MAX_SPAN_S = 31_536_000
MAX_REPLICAS = 64
_Name = Field(min_length=1, max_length=64, pattern=r"^[a-z][a-z0-9_]*$")


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, protected_namespaces=())


class RoutingRule(_Frozen):
    """Routes to `target`, dropping the outputs `clear`, when field `condition` of the stage's output equals `value`."""

    condition: str = Field(min_length=1)
    value: JsonValue
    target: str = Field(min_length=1)
    clear: tuple[str, ...] = Field(default=(), strict=False)


class EdgeLimit(_Frozen):
    """Limits the edge from → to to `max_count` traversals in a run; 0 closes it."""

    source: str = Field(alias="from")
    target: str = Field(alias="to")
    max_count: int = Field(ge=0)


class AgentResources(_Frozen):
    """Declares the cluster resources that each actor of an agent claims; `custom`: name of a resource → amount.

    Actors without a claim run anywhere. Amounts above one must be whole numbers, as the cluster requires.
    """

    num_cpus: float = Field(default=0, ge=0, allow_inf_nan=False)
    num_gpus: float = Field(default=0, ge=0, allow_inf_nan=False)
    custom: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = {}


class RetryMeasure(_Frozen):
    """Names the text field of an output that may call for repeated work; `kinds`: its value → kind of the retry.

    `reason`: the text field with the reason.
    """

    field: str = Field(min_length=1)
    kinds: dict[str, RetryKind] = Field(min_length=1)
    reason: str | None = Field(default=None, min_length=1)


class StageMeasures(_Frozen):
    """Names the fields of a stage's output that metrics count; a field without such a value counts nothing.

    `verdict`: a text, the decision of a critic; `confidence`: its number from 0 to 1. `issues`: what a check of
    evidence removed, reason → count. `step_attempts`: step → its attempts, each an object with `status`; one that
    follows an attempt with the status `ok` or `partial` repeats nothing.
    """

    verdict: str | None = Field(default=None, min_length=1)
    confidence: str | None = Field(default=None, min_length=1)
    issues: str | None = Field(default=None, min_length=1)
    step_attempts: str | None = Field(default=None, min_length=1)
    retries: RetryMeasure | None = None


class AgentConfig(_Frozen):
    """Configures one stage: its agent's model and tools, its dependencies, and its routes."""

    name: str = _Name
    stage_order: int = Field(ge=0)
    requires: tuple[str, ...] = Field(default=(), strict=False)
    after: tuple[str, ...] = Field(default=(), strict=False)
    join_strategy: JoinStrategy = "all"
    foreach: str | None = Field(default=None, pattern=r"^outputs(\.[A-Za-z_][A-Za-z0-9_]*)+$")
    foreach_concurrency: int = Field(default=4, ge=1, le=64)
    has_policies: bool = False
    has_llm: bool = False
    model_role: str | None = None
    prompt_key: str | None = None
    has_tools: bool = False
    tool_access: ToolAccess = "none"
    allowed_tools: tuple[str, ...] = Field(default=(), strict=False)
    output_key: str | None = None
    required_output_fields: tuple[str, ...] = Field(default=(), strict=False)
    routing_rules: tuple[RoutingRule, ...] = Field(default=(), strict=False)
    default_next: str | None = None
    error_next: str | None = None
    timeout_s: float | None = Field(default=None, gt=0, le=MAX_SPAN_S, strict=False)
    max_retries: int = Field(default=0, ge=0, le=10)
    temperature: float | None = Field(default=None, ge=0, le=2, allow_inf_nan=False)
    max_tokens: int | None = Field(default=None, ge=1)
    replicas: int = Field(default=1, ge=1, le=MAX_REPLICAS)
    resources: AgentResources = AgentResources()
    output_schema: dict[str, JsonValue] | None = None
    measures: StageMeasures | None = None

    @property
    def key(self) -> str:
        """The name under which this stage's output is kept."""
        return self.output_key or self.name


class PipelineConfig(_Frozen):
    """Configures a whole pipeline. Counts are exact: N permits N, the next attempt ends the run."""

    name: str = _Name
    description: str = ""
    capability: str | None = None
    agents: tuple[AgentConfig, ...] = Field(min_length=1, strict=False)
    max_iterations: int = Field(default=3, ge=0)
    max_llm_calls: int = Field(default=10, ge=0)
    max_agent_hops: int = Field(default=21, ge=0)
    max_tool_calls: int = Field(default=50, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    deadline_s: float | None = Field(default=None, gt=0, le=MAX_SPAN_S, strict=False)
    default_timeout_s: float = Field(default=300, gt=0, le=MAX_SPAN_S, strict=False)
    edge_limits: tuple[EdgeLimit, ...] = Field(default=(), strict=False)
    final_stage: str | None = None
    default_run_mode: RunMode = "sequential"
    clarification_resume_stage: str | None = None
    confirmation_resume_stage: str | None = None
    agent_review_resume_stage: str | None = None
    interrupt_expiry: dict[str, OnExpiry] = {}
    on_timeout: OnTrouble = "end"
    on_system_error: OnTrouble = "end"
    loop_detection: dict[str, int] = {}
    priority: Priority = "normal"
    context_bounds: dict[str, int] = {}

    @field_validator("loop_detection", mode="before")
    @classmethod
    def _switched(cls, value: object) -> object:
        return (DEFAULT_LOOP_DETECTION if value else {}) if isinstance(value, bool) else value

    @property
    def capability_id(self) -> str:
        """The capability whose agents work here; a pipeline that names none is named after it."""
        return self.capability or self.name

    @cached_property
    def stages(self) -> dict[str, AgentConfig]:
        """Stage name → its configuration."""
        return {agent.name: agent for agent in self.agents}

    @cached_property
    def measured_stages(self) -> dict[str, StageMeasures]:
        """Stage name → the fields of its output that are counted; other stages are absent."""
        return {agent.name: agent.measures for agent in self.agents if agent.measures is not None}

    @cached_property
    def edge_limit_of(self) -> dict[str, int]:
        """Edge as "from->to" → how often it may be taken; edges without a limit are absent."""
        return {edge_name(limit.source, limit.target): limit.max_count for limit in self.edge_limits}

    @cached_property
    def first_stage(self) -> AgentConfig:
        """The stage at which a run begins: the lowest stage_order."""
        return min(self.agents, key=lambda agent: agent.stage_order)

    @cached_property
    def config_hash(self) -> str:
        """The hash of this exact pipeline version; it is pinned to every run that starts under it.

        Default values do not count: a release may add fields without changing the hash.
        """
        settings = self.model_dump_json(by_alias=True, exclude_defaults=True)
        return hashlib.sha256(settings.encode()).hexdigest()[:16]

    @cached_property
    def scheduled(self) -> tuple[AgentConfig, ...]:
        """The stages that belong to every parallel run without being routed to, in stage order.

        They are those that require something, and those that no earlier stage routes to; routes back do not count. The
        final stage and pure resume stages are excluded, unless they require something.
        """
        forward = {
            target
            for agent in self.agents
            for target in self.targets_of(agent)
            if target in self.stages and self.stages[target].stage_order > agent.stage_order
        }
        in_order = sorted(self.agents, key=lambda agent: agent.stage_order)
        reached_by_routing = forward | self._resumed_only | {self.final_stage}
        found = [a for a in in_order if a.requires or a.name not in reached_by_routing]
        return tuple(found) if any(not a.requires for a in found) else (self.first_stage, *found)

    @property
    def _resumed_only(self) -> set[str | None]:
        """The resume stages that no run begins with: not the first one, and none that another one requires."""
        resumed = {self.resume_stage(kind) for kind in INTERRUPT_TARGETS}
        return resumed - {name for agent in self.agents for name in agent.requires} - {self.first_stage.name}

    @cached_property
    def scheduled_names(self) -> frozenset[str]:
        """The names of the `scheduled` stages."""
        return frozenset(agent.name for agent in self.scheduled)

    @cached_property
    def output_order(self) -> dict[str, int]:
        """Output key → rank, so that the order of outputs does not depend on which stage ended first."""
        return {agent.key: rank for rank, agent in enumerate(self.agents)}

    @property
    def is_parallel(self) -> bool:
        """True when stages start as soon as their requirements allow."""
        return self.default_run_mode == "parallel"

    def in_run_mode(self, mode: RunMode | None) -> PipelineConfig:
        """Return the pipeline as it runs in `mode`; None: as configured."""
        return self if mode in (None, self.default_run_mode) else self._in_other_mode

    @cached_property
    def _in_other_mode(self) -> PipelineConfig:
        other = "sequential" if self.is_parallel else "parallel"
        given = self.model_dump(by_alias=True, exclude_unset=True)
        return PipelineConfig.model_validate({**given, "default_run_mode": other})

    def resume_stage(self, kind: str) -> str | None:
        """Return the stage at which a run continues after an interrupt of `kind`; None: the stage that raised it."""
        stage: str | None = getattr(self, f"{kind}_resume_stage", None)
        return stage

    def targets_of(self, agent: AgentConfig) -> tuple[str, ...]:
        """Return every target that a run may go to after `agent`, in the order in which routing considers them."""
        declared = [rule.target for rule in agent.routing_rules]
        declared.append(agent.default_next or END)
        if agent.error_next:
            declared.append(agent.error_next)
        return tuple(dict.fromkeys(declared))


def edge_name(source: str, target: str) -> str:
    """Return the name of an edge, the same everywhere: "from->to"."""
    return f"{source}->{target}"


def as_wire(config: PipelineConfig) -> dict[str, Any]:
    """Return the JSON-like form of a pipeline, for the wire; `PipelineConfig.model_validate` reads it back."""
    return config.model_dump(mode="json", by_alias=True, exclude_defaults=True)
