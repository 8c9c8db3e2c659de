"""Falls back to rules when a model call fails, for that agent and visit, and records it.

Each agent's output carries who reasoned (`reasoned_by`) and every fallback so far (`rules_took_over`): outputs are
dropped between rounds, and the record must outlive them.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from types import FunctionType
from typing import Any

import msgspec

from actors.capabilities.code_analysis.answers.reasoned_by import REASONED_BY, TOOK_OVER, taken_over
from actors.capabilities.code_analysis.handover.critique import CritiqueOutput
from actors.capabilities.code_analysis.handover.intent import IntentOutput
from actors.capabilities.code_analysis.handover.plan import PlanOutput
from actors.capabilities.code_analysis.handover.reading import written
from actors.capabilities.code_analysis.handover.synthesis import SynthesisOutput
from runtime.agents.capability import Reasoner, StageContext, StageInput
from runtime.errors import ModelFailedError
from runtime.primitives.declared import declared
from runtime.run.stage_view import StageView

log = logging.getLogger(__name__)

MAX_WHY_CHARS = 400


class ModelOutput(msgspec.Struct, frozen=True):
    """Holds the output that an agent derived from its model's answer, the prompt label and the number of calls."""

    output: IntentOutput | PlanOutput | SynthesisOutput | CritiqueOutput
    prompt: str
    calls: int


ByModel = Callable[[StageContext, StageView, StageInput], Awaitable[ModelOutput]]


def model_or_rules(agent: str, by_model: str, by_rules: Reasoner) -> Reasoner:
    """Build a reasoner that asks the model, with the rules as fallback. A reached bound still ends the run.

    `by_model` names a `ByModel` as "module:NAME", imported with the first call: without a model, it never is.
    """

    async def reason(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
        before = taken_over({**view.outputs, **{f"round {r.number}": r.synthesis for r in view.goals.finished_rounds}})
        try:
            ask: ByModel = declared(by_model, FunctionType, "reasoner")
            made = await ask(context, view, given)
        except ModelFailedError as error:
            why = error.message[:MAX_WHY_CHARS]
            log.warning("model.rules_took_over", extra={"run_id": context.key.run_id, "stage": agent, "reason": why})
            record = {"agent": agent, "hop": context.key.hop, "why": why}
            output = await by_rules(context, view, given)
            return {**output, REASONED_BY: {"reasoner": "rules", "why": why}, TOOK_OVER: [*before, record]}
        reasoned_by = {"reasoner": "llm", "prompt": made.prompt, "calls": made.calls}
        return written(msgspec.structs.replace(made.output, reasoned_by=reasoned_by, rules_took_over=before))

    return reason
