"""The runs that faults strike: of a few kinds, each with an outcome that no fault may change, and effects that count.

Every stage notes its attempt in a file of effects. Stage b then waits until a gate is open, so that a fault strikes
while runs are in flight, and not when chance will have it.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, Request
from runtime.testing import PipelineBuilder

TOOLS = {"has_tools": True, "tool_access": "all", "allowed_tools": ["note"], "timeout_s": 600}
JOURNALED = TOOLS | {"allowed_tools": ["note", "record"]}
RECORDING_STAGES = ("b", "c")
MAX_TOOL_CALLS = 500
RESUMED_AT_A = {"clarification_resume_stage": "a"}
HELD_STAGE = "b"
ISSUED_AGAIN = "; the stage is issued again"


def steps_pipeline(held_on: str | None = None) -> PipelineConfig:
    """a → b → c, and round again or with a question as the script has it; `held_on`: the resource that b claims."""
    claim: dict[str, Any] = {"resources": {"custom": {held_on: 1}}} if held_on else {}
    return (
        PipelineBuilder("steps", capability="sample", max_tool_calls=MAX_TOOL_CALLS, max_iterations=2, **RESUMED_AT_A)
        .stage("a", default_next="b", **TOOLS)
        .stage("b", default_next="c", **JOURNALED, **claim)
        .stage("c", **JOURNALED)
        .rule("again", True, "a")
        .rule("unclear", True, "clarification")
        .build()
    )


def fan_pipeline() -> PipelineConfig:
    """a → b for each of two items → c."""
    return (
        PipelineBuilder(
            "fan", capability="sample", default_run_mode="parallel", max_tool_calls=MAX_TOOL_CALLS, max_agent_hops=3
        )
        .stage("a", **TOOLS)
        .stage("b", requires=["a"], foreach="outputs.a.items", **TOOLS)
        .stage("c", requires=["b"], **TOOLS)
        .build()
    )


class Kind(NamedTuple):
    """A kind of run: its pipeline, and what its stages give, visit by visit. `asks`: it puts a question on the way."""

    pipeline: str
    gives: dict[str, list[dict[str, Any]]]
    asks: bool = False


KINDS: dict[str, Kind] = {
    "line": Kind("steps", {"a": [{"n": 1}], "b": [{"n": 2}], "c": [{"n": 3}]}),
    "loop": Kind("steps", {"a": [{"n": 1}, {"n": 4}], "b": [{"n": 2}], "c": [{"again": True}, {"n": 3}]}),
    "bounded": Kind("steps", {"a": [{"n": 1}], "b": [{"n": 2}], "c": [{"again": True}]}),
    "fan": Kind("fan", {"a": [{"items": [1, 2]}], "b": [{"n": 2}], "c": [{"n": 3}]}),
    "crowd": Kind("fan", {"a": [{"items": [1]}], "b": [{"n": 2}], "c": [{"n": 3}]}),
    "asking": Kind("steps", {"a": [{"n": 1}], "b": [{"n": 2}], "c": [{"unclear": True}, {"n": 3}]}, asks=True),
}


class Place(NamedTuple):
    """Where the runs of one round leave their effects, and the gate that they wait for."""

    notes: Path
    records: Path
    gate: Path

    def open_gate(self) -> None:
        """Let every run of the round go on."""
        self.gate.touch()

    def effects(self) -> Counter[Effect]:
        """How often each attempt left a note."""
        return _counted(self.notes)

    def recorded(self) -> Counter[Effect]:
        """How often each visit made its record; the attempt is always 1."""
        return _counted(self.records)


class Effect(NamedTuple):
    """What an attempt leaves: whose it is."""

    run_id: RunId
    hop: int
    item: int
    attempt: int

    @classmethod
    def read(cls, line: str) -> Effect:
        """The effect that a line of the file tells of."""
        run_id, hop, item, attempt = line.split()
        return cls(RunId(run_id), int(hop), int(item), int(attempt))


def _counted(file: Path) -> Counter[Effect]:
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return Counter(Effect.read(line) for line in lines)


def request(kind: str, place: Place) -> Request:
    """A run of that kind, which waits in stage b until the gate of `place` is open."""
    played = KINDS[kind]
    script: dict[str, list[Any]] = {}
    for stage, gives in played.gives.items():
        gate = {"gate": str(place.gate)} if stage == HELD_STAGE else {}
        records = {"records": str(place.records)} if is_recorded(kind, stage) else {}
        script[stage] = [{"work": {"notes": str(place.notes), "give": give, **gate, **records}} for give in gives]
    return Request(played.pipeline, kind, metadata={"script": script}, wait=played.asks)


def is_recorded(kind: str, stage: str) -> bool:
    """True when each visit of that stage makes a record, which must be made once."""
    return KINDS[kind].pipeline == "steps" and stage in RECORDING_STAGES


class Outcome(msgspec.Struct, frozen=True):
    """What no fault may change about a run: how it ended, with what, and along which edges.

    Tool calls are not among it: an attempt that died counts all that it was granted. Nor is the note that a stage was
    issued again.
    """

    reason: str | None
    outputs: dict[str, Any]
    visits: list[tuple[str, int]]
    hops: int
    iterations: int
    edges: dict[str, int]
    errors: tuple[str, ...]


def outcome_of(envelope: Envelope) -> Outcome:
    """What is compared of a run that is over."""
    usage = envelope.usage
    return Outcome(
        envelope.terminal_reason,
        envelope.outputs,
        sorted((str(record.stage), record.hop) for record in envelope.history if record.status == "success"),
        usage.agent_hops,
        usage.iterations,
        usage.edges,
        tuple(error for error in envelope.errors if not error.endswith(ISSUED_AGAIN)),
    )
