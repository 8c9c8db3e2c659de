"""Scripts simulated stages as generators of steps, the same for the same stage, visit and view.

A stage waits, calls its model and its tools, and ends with an output, a failure or an interrupt. Its output follows
from the stage, the visit and the outputs that it saw; nothing in it depends on the attempt, on time or on chance. In
parallel pipelines the number of a hop does depend on time, so there a stage counts its own visits.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any
from zlib import crc32

import msgspec

from runtime.effects.journal import Declaration
from runtime.pipeline.interrupt_kinds import InterruptKind
from runtime.run.envelope import InterruptRequest
from runtime.run.policy_verdict import PolicyVerdict
from runtime.run.stage_view import StageView, decode_view
from runtime.supervision.commands import RunStage
from runtime.supervision.events import Bound, FailureKind

ALWAYS = 1_000


class StageScript(msgspec.Struct, frozen=True):
    """Describes a stage. `fails`, `hangs`: the number of attempts of each visit that do; `routes`: by visit, cyclic.

    `tools`: one call of a tool per declaration; `listed`: number of items that the output lists for a fan-out;
    `reads`: output keys that its own output follows from (None: all that it sees); `exaggerates`: how much more than
    it spent its agent reports.
    """

    work_ms: int = 20
    llm_calls: int = 0
    tokens_per_call: int = 0
    tools: tuple[Declaration, ...] = ()
    fails: int = 0
    failure: FailureKind = "tool"
    hangs: int = 0
    listed: int = 0
    routes: tuple[int, ...] = (0,)
    asks: InterruptKind | None = None
    verdict: PolicyVerdict | None = None
    reads: tuple[str, ...] | None = None
    exaggerates: int = 0


class Wait(msgspec.Struct, frozen=True):
    """Takes `span_ms` of time."""

    span_ms: int


class CallModel(msgspec.Struct, frozen=True):
    """Makes a model call of so many tokens; the answer is the bound that forbids it, or None."""

    tokens: int


class CallTool(msgspec.Struct, frozen=True):
    """Makes tool call `number` of the visit; the answer is its result, or None if no call is left."""

    number: int
    declaration: Declaration
    request: bytes


class Hang(msgspec.Struct, frozen=True):
    """Blocks for ever."""


class Succeeded(msgspec.Struct, frozen=True):
    """Ends a stage with an output."""

    output: dict[str, Any]
    interrupt: InterruptRequest | None = None
    policy: PolicyVerdict | None = None


class Failed(msgspec.Struct, frozen=True):
    """Ends a stage with a failure."""

    kind: FailureKind
    error: str
    bound: Bound | None = None


Step = Wait | CallModel | CallTool | Hang
Steps = Generator[Step, Any, Succeeded | Failed]


def play(script: StageScript, command: RunStage, is_parallel: bool) -> Steps:
    """Yield the steps of one attempt of a stage, and return how it ends."""
    view, key = decode_view(command.input), command.key
    own = view.outputs.get(command.stage, {})
    visit = (own.get("visit", 0) + 1) if is_parallel else key.hop
    digest = _digest(script, command.stage, visit, view)
    yield Wait(script.work_ms + digest % 40)
    for _ in range(script.llm_calls):
        refused: Bound | None = yield CallModel(script.tokens_per_call)
        if refused is not None:
            return Failed("budget", f"no {refused} left", refused)
    lacking = 0
    for number, declaration in enumerate(script.tools, start=1):
        result = yield CallTool(number, declaration, digest.to_bytes(4, "big"))
        lacking += result is None
    if key.attempt <= script.hangs:
        yield Hang()
    if key.attempt <= script.fails:
        return Failed(script.failure, "as scripted")
    output: dict[str, Any] = {"visit": visit, "digest": digest, "route": script.routes[visit % len(script.routes)]}
    if script.listed:
        output["list"] = list(range(script.listed))
    if lacking:
        output["lacking"] = lacking
    asked = InterruptRequest(script.asks, f"{command.stage}?") if script.asks and not own else None
    return Succeeded(output, asked, script.verdict)


def _digest(script: StageScript, stage: str, visit: int, view: StageView) -> int:
    keys = sorted(view.outputs) if script.reads is None else script.reads
    seen = [(key, _sum_of(view.outputs[key])) for key in keys if key in view.outputs]
    return crc32(f"{stage}/{visit}/{view.item_index}/{seen}".encode())


def _sum_of(output: dict[str, Any]) -> Any:
    if "digest" in output:
        return output["digest"]
    return [item["digest"] for item in output.get("items", ())]
