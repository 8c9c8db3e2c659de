"""Chooses one action from the typed context: by rules, or by a model that falls back on them.

The context is built and validated anew for each step, from the state and the file as it is now. What is chosen is
checked against the actions of the phase; anything else is handed on as refused, with the reason.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any, NamedTuple

from actors.capabilities.violation_fix.actions.text_edits import EditRefused, decoded
from actors.capabilities.violation_fix.agents.action_menu import BY_NAME, menu
from actors.capabilities.violation_fix.agents.analysis import analysed, first_of_plan, led_by, limits_of
from actors.capabilities.violation_fix.agents.fix_state import ChosenAction, FixState, FixTask, plain, state_of, task_of
from actors.capabilities.violation_fix.agents.model_answer import ModelAnswer
from actors.capabilities.violation_fix.checks.typing_config import typing_rules
from actors.capabilities.violation_fix.policies.fix_rules import Situation, choose
from runtime.agents.capability import StageContext, StageInput, StageResult
from runtime.context.context_builder import ContextBuilder
from runtime.context.fact_store import FactStore
from runtime.context.loop_records import parameters_digest
from runtime.context.models import (
    MAX_RECENT_ACTIONS,
    AgentContext,
    AgentResponse,
    Analysis,
    StateSpec,
    Understanding,
)
from runtime.context.section_budgets import FittedText
from runtime.context.token_estimate import estimated_code_tokens
from runtime.errors import ModelFailedError
from runtime.llm.messages import Message
from runtime.run.stage_view import StageView

log = logging.getLogger(__name__)

MAX_WHY_CHARS = 400
# What is kept of each step beside the choice: who chose, and the context as it was shown.
_KEPT = ("reasoner", "prompt", "why_rules", "context", "tokens", "seen")


class Seen(NamedTuple):
    """Holds what a decision is made from."""

    task: FixTask
    state: FixState
    context: AgentContext
    source: str


async def gather(context: StageContext, view: StageView) -> StageInput:
    """Build the context of the step."""
    task, state = task_of(view), state_of(view)
    seen = await context.run_blocking(seen_at, task, state)
    counter = context.llm.counter.count if context.llm is not None else estimated_code_tokens
    return StageInput({"seen": seen, "fitted": ContextBuilder(count=counter).write(seen.context)})


def seen_at(task: FixTask, state: FixState) -> Seen:
    """Read the file of the violation and build the context. Raises ContextError for one that is not valid."""
    place = task.workspace
    read = decoded(place.journal.read(task.file), is_python=place.is_python)
    source = "" if isinstance(read, EditRefused) else read.text
    analysis = analysed(task, source, state.step).analysis
    warning = state.budget.warning
    domain: dict[str, Any] = {"file": task.file, "violation": f"{task.violation.check_id}: {task.violation.message}"}
    if warning is not None and warning.is_blocking:
        domain["loop"] = {"what": warning.description, "instead": list(warning.suggestions)}
    if state.plan is not None:
        domain["plan"] = state.plan
    if task.request.asks_model and state.phase.current_phase == "implement":
        step = first_of_plan(task, source, state.tried)
        if step is not None:
            domain["suggested"] = step
            analysis = led_by(analysis, step)
    agent = ContextBuilder().build(
        task.task,
        StateSpec(
            current_step=state.step,
            phase=state.phase,
            verification=state.verification,
            understanding=Understanding(facts=FactStore(understanding=state.understanding).for_context()),
            recent_actions=state.actions[-MAX_RECENT_ACTIONS:],
            files_modified=state.files_modified,
        ),
        menu(state, analysis),
        domain,
        analysis,
    )
    return Seen(task, state, agent, source)


async def by_rules(context: StageContext, _view: StageView, given: StageInput) -> dict[str, Any]:
    """Choose by rules."""
    seen: Seen = given.facts["seen"]
    response = await context.run_blocking(choose, situation_of(seen))
    return {"response": response.model_dump(mode="json"), "reasoner": "rules", **_told(given)}


def situation_of(seen: Seen) -> Situation:
    """Return what the rules look at."""
    task, state = seen.task, seen.state
    verification = state.verification
    return Situation(
        phase=state.phase.current_phase,
        check_id=task.violation.check_id,
        symbol=task.symbol,
        source=seen.source,
        limits=limits_of(task),
        line_length=task.request.line_length,
        has_safe_fix=task.found.fix == "safe",
        is_ready=verification.ready_for_completion,
        checks_known=verification.checks_passing + verification.checks_failing > 0,
        checks_failing=verification.checks_failing,
        plan=state.plan,
        allowed=seen.context.actions.allowed,
        tried=state.tried,
        typing=typing_rules(Path(task.work_tree.folder), task.file),
        file=task.file,
        function_lines=seen.context.precomputed.function_lines,
    )


async def by_model(context: StageContext, view: StageView, given: StageInput) -> dict[str, Any]:
    """Ask the model for one action; without an answer the rules choose, and the output says so."""
    assert context.llm is not None
    assert context.prompts is not None
    told = _told(given)
    inputs = {"actions": _actions_told(), "context": told["context"]}
    key = "decide"
    if context.model_use is not None and context.model_use.prompt_key is not None:
        key = context.model_use.prompt_key
    prompt = context.prompts.render(key, inputs)
    messages = (Message("system", prompt.system), Message("user", prompt.user))
    try:
        answered = await context.llm.generate_object(messages, ModelAnswer)
    except ModelFailedError as error:
        why = error.message[:MAX_WHY_CHARS]
        log.warning("model.rules_took_over", extra={"run_id": context.key.run_id, "stage": "decide", "reason": why})
        return {**await by_rules(context, view, given), "why_rules": why}
    response = answered.object.response()
    return {"response": response.model_dump(mode="json"), "reasoner": "llm", "prompt": prompt.label, **told}


def _told(given: StageInput) -> dict[str, Any]:
    """Return the context as it was shown, for the record of the step."""
    shown: FittedText = given.facts["fitted"]
    seen: Seen = given.facts["seen"]
    whole = seen.context.model_dump(mode="json", exclude_defaults=True)
    return {"context": shown.text, "tokens": shown.tokens, "seen": whole}


def _actions_told() -> str:
    rows = []
    for action in BY_NAME.values():
        parameters = ", ".join(f"{name}: {kind}" for name, kind in action.parameters.items())
        rows.append(f"- {action.name} {{{parameters}}}: {action.description}")
    return "\n".join(rows)


async def settle(_context: StageContext, view: StageView, output: dict[str, Any]) -> StageResult:
    """Check the response against what is allowed now, and hand it on."""
    task, state = task_of(view), state_of(view)
    response = AgentResponse.model_validate(output["response"])
    chosen = ChosenAction(
        action=response.action,
        parameters=response.parameters,
        reasoning=response.reasoning,
        refused=refusal(task, state, response),
    )
    told: dict[str, Any] = {name: output[name] for name in _KEPT if name in output}
    return StageResult({"action": response.action, "chosen": plain(chosen), **told})


def refusal(task: FixTask, state: FixState, response: AgentResponse) -> str | None:
    """Return why a response is not carried out; None if it is."""
    known = BY_NAME.get(response.action)
    if known is None:
        return f"there is no action '{response.action}'; there are {', '.join(BY_NAME)}"
    actions = menu(state, Analysis())
    if response.action not in {action.name for action in actions.available}:
        phase = state.phase.current_phase
        return f"'{response.action}' is not available in phase {phase}; available: {', '.join(actions.allowed)}"
    blocked = {each.action: each.reason for each in actions.blocked}
    parameters = parameters_digest(task.file, response.parameters)
    why = blocked.get(response.action) or state.budget.block_of(response.action, parameters)
    if why is not None:
        return f"'{response.action}' is blocked: {why}"
    return malformed(response)


_TYPES: dict[str, type] = {"integer": int, "string": str, "list": list}
OPTIONAL = "?"


def malformed(response: AgentResponse) -> str | None:
    """Return what is wrong with the parameters of a known action; None if nothing."""
    wanted, given = BY_NAME[response.action].parameters, response.parameters
    missing = [name for name, kind in wanted.items() if name not in given and not kind.endswith(OPTIONAL)]
    if missing:
        return f"the parameters {', '.join(missing)} are missing; it takes {json.dumps(wanted)}"
    kinds = {name: _TYPES[kind.removesuffix(OPTIONAL)] for name, kind in wanted.items() if name in given}
    wrong = [name for name, kind in kinds.items() if not _is(given[name], kind)]
    if wrong:
        return f"the parameters {', '.join(wrong)} have another type; it takes {json.dumps(wanted)}"
    return None


def _is(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)
