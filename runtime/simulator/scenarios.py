"""Defines scenarios, which a seed decides before its faults: pipeline, scripts, requests and answers."""

from __future__ import annotations

import random
from typing import Any

import msgspec

from runtime.effects.journal import Declaration
from runtime.hosting.limits.admission import Quotas
from runtime.pipeline.config import PipelineConfig
from runtime.pipeline.interrupt_kinds import InterruptKind
from runtime.primitives.ids import RunId
from runtime.run.envelope import Request
from runtime.simulator.scripts import StageScript
from runtime.supervision.events import FailureKind

TIMEOUT_S = 240
ROOMY = {"max_llm_calls": 200, "max_tool_calls": 400}
DECLARATIONS: tuple[Declaration, ...] = ("repeatable", "check_first", "check_first", "ask")
ASKED_KINDS: tuple[InterruptKind, ...] = ("clarification", "confirmation", "agent_review")
FAILURES: tuple[FailureKind, ...] = ("tool", "model", "internal")

Json = dict[str, Any]


class Person(msgspec.Struct, frozen=True):
    """Describes a user's behaviour: `answers` by kind of interrupt (yes, no, never), `delay_ms` after the interrupt.

    `twice`: answers from two devices; `stranger`: another user tries first; `pauses_ms`, `cancels_ms`: after the
    request was accepted.
    """

    answers: dict[str, str]
    delay_ms: int = 1_000
    twice: bool = False
    stranger: bool = False
    pauses_ms: int | None = None
    cancels_ms: int | None = None


class PlannedRun(msgspec.Struct, frozen=True):
    """Plans one run: its request, the time of the request, and the behaviour of its user."""

    run_id: RunId
    at_ms: int
    request: Request
    person: Person


class Scenario(msgspec.Struct, frozen=True):
    """Holds all that a seed decides before faults. `racers`: output keys that depend on which branch wins a join `any`.

    `depends_on_time`: so do the interrupts and the ends of runs. `names_mode`: the pipeline is installed in its other
    run mode, and every request names the mode of `config`.
    """

    config: PipelineConfig
    scripts: dict[str, StageScript]
    runs: tuple[PlannedRun, ...]
    quotas: Quotas = Quotas()
    racers: frozenset[str] = frozenset()
    depends_on_time: bool = False
    names_mode: bool = False

    @property
    def installed(self) -> PipelineConfig:
        """The pipeline as a system has it."""
        if not self.names_mode:
            return self.config
        return self.config.in_run_mode("sequential" if self.config.is_parallel else "parallel")


class Draft:
    """Collects the parts of a scenario while it is drawn."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.agents: list[Json] = []
        self.scripts: dict[str, StageScript] = {}
        self.limits: dict[tuple[str, str], int] = {}
        self.settings: Json = {"name": "simulated", "default_timeout_s": TIMEOUT_S, **ROOMY}
        self.racers: frozenset[str] = frozenset()
        self.depends_on_time = False

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self.rng.random() < probability

    def stage(self, name: str, script: StageScript, **settings: Any) -> Json:
        """Add a stage."""
        agent: Json = {"name": name, "stage_order": 10 * len(self.agents), **settings}
        if script.llm_calls:
            agent |= {"has_llm": True, "model_role": "simulated"}
        if script.tools:
            agent |= {"has_tools": True, "tool_access": "all", "allowed_tools": ["scripted"]}
        self.agents.append(agent)
        self.scripts[name] = script
        return agent

    def work(self, **fields: Any) -> StageScript:
        """Draw the script of a stage with ordinary work; `fields` add to it."""
        rng = self.rng
        return StageScript(
            work_ms=rng.choice((1, 20, 200, 1_500)),
            llm_calls=rng.choice((0, 0, 1, 1, 2)),
            tokens_per_call=10,
            tools=tuple(rng.choice(DECLARATIONS) for _ in range(rng.choice((0, 0, 1, 2)))),
            **fields,
        )

    def pipeline(self) -> PipelineConfig:
        """Build the pipeline that was drafted."""
        limits = [{"from": a, "to": b, "max_count": count} for (a, b), count in self.limits.items()]
        return PipelineConfig.model_validate({**self.settings, "agents": self.agents, "edge_limits": limits})
