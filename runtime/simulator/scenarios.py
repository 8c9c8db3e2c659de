"""What a seed decides before faults: a pipeline, what its stages do, who asks for runs and how they answer."""

from __future__ import annotations

import random
from typing import Any

import msgspec

from runtime.effects.journal import Declaration
from runtime.hosting.admission import Quotas
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
    """How somebody answers: `answers` by kind (yes, no, never), so long after the question; and what else they do.

    `twice`: from two devices; `stranger`: somebody else tries first; `pauses_ms`, `cancels_ms`: after the request.
    """

    answers: dict[str, str]
    delay_ms: int = 1_000
    twice: bool = False
    stranger: bool = False
    pauses_ms: int | None = None
    cancels_ms: int | None = None


class PlannedRun(msgspec.Struct, frozen=True):
    """A request, when it is made, and who stands behind it."""

    run_id: RunId
    at_ms: int
    request: Request
    person: Person


class Scenario(msgspec.Struct, frozen=True):
    """All that a seed decides before faults: `racers` are output keys that depend on who wins an any-join.

    `depends_on_time`: so does what is asked, and how a run ends.
    """

    config: PipelineConfig
    scripts: dict[str, StageScript]
    runs: tuple[PlannedRun, ...]
    quotas: Quotas = Quotas()
    racers: frozenset[str] = frozenset()
    depends_on_time: bool = False


class Draft:
    """A scenario in the making."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.agents: list[Json] = []
        self.scripts: dict[str, StageScript] = {}
        self.limits: dict[tuple[str, str], int] = {}
        self.settings: Json = {"name": "simulated", "default_timeout_s": TIMEOUT_S, **ROOMY}
        self.racers: frozenset[str] = frozenset()
        self.depends_on_time = False

    def chance(self, probability: float) -> bool:
        """True that often."""
        return self.rng.random() < probability

    def stage(self, name: str, script: StageScript, **settings: Any) -> Json:
        """Add a stage."""
        agent: Json = {"name": name, "stage_order": 10 * len(self.agents), **settings}
        if script.llm_calls:
            agent |= {"has_llm": True, "model_role": "simulated"}
        if script.tools:
            agent |= {"has_tools": True, "tool_access": "all"}
        self.agents.append(agent)
        self.scripts[name] = script
        return agent

    def work(self, **fields: Any) -> StageScript:
        """What a stage does when nothing special happens."""
        rng = self.rng
        return StageScript(
            work_ms=rng.choice((1, 20, 200, 1_500)),
            llm_calls=rng.choice((0, 0, 1, 1, 2)),
            tokens_per_call=10,
            tools=tuple(rng.choice(DECLARATIONS) for _ in range(rng.choice((0, 0, 1, 2)))),
            **fields,
        )

    def pipeline(self) -> PipelineConfig:
        """The pipeline that was drafted."""
        limits = [{"from": a, "to": b, "max_count": count} for (a, b), count in self.limits.items()]
        return PipelineConfig.model_validate({**self.settings, "agents": self.agents, "edge_limits": limits})
