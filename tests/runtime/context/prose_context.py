"""Writes the context of a step as prose, the usual prompt of an agent: the yardstick of the YAML that replaces it.

FROZEN: written before the YAML builder and not to be changed with it, or savings measured against it mean nothing. A
hash in test_prose_context.py holds it. It carries what an `AgentContext` holds, once, in the manner of common agent
prompts: headings, sentences, a source listing with line numbers, and a manual entry for each action. It carries no raw
tool output, which such prompts usually do, so savings are understated there.

`same_fields` leaves out what the YAML is not specified to carry (manual entries and parameters of actions, actions
before the last three): the difference between both figures is what leaving out saves, the rest is the notation's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from runtime.context.actions import ActionDef, ActionRecord
from runtime.context.models import AgentContext
from runtime.context.understanding import Fact

_CATEGORY_TITLES = {
    "code_structure": "the structure of the code",
    "inference": "conclusions that were inferred",
    "pattern": "patterns that were recognised",
    "verification": "the results of checks and tests",
    "error": "errors that occurred",
}
_RESULTS = {
    "success": "It succeeded.",
    "failure": "It failed.",
    "partial": "It succeeded in part.",
    "skipped": "It was skipped.",
    "fatal": "It failed for good.",
}


def prose_of(context: AgentContext, same_fields: bool = False) -> str:
    """Return the context as a prompt in prose."""
    parts = [
        *_task(context),
        *_domain(context.domain_context),
        *_analysis(context),
        *_facts(context.state.understanding.active),
        *_verification(context),
        *_recent(context.state.recent_actions, same_fields),
        *_actions(context, same_fields),
        "What is your next action? Choose exactly one of the actions above.",
    ]
    return "\n".join(parts) + "\n"


def _task(context: AgentContext) -> Iterator[str]:
    task, state = context.task, context.state
    yield f"# Task {task.task_id}"
    yield ""
    yield f"Your goal is the following: {task.goal}"
    yield ""
    yield "The task is complete when all of the following criteria are met:"
    yield from (f"- {criterion}" for criterion in task.success_criteria)
    if task.constraints:
        yield ""
        yield "While you work on the task, you must respect the following constraints:"
        yield from (f"- {constraint}" for constraint in task.constraints)
    yield ""
    yield f'You are at step {state.current_step}, in the phase "{state.phase.current_phase}" of the task.'
    yield ""


def _domain(domain: dict[str, Any]) -> Iterator[str]:
    if not domain:
        return
    yield "# Context of the task"
    yield ""
    yield from _entries(domain, 0)
    yield ""


def _entries(value: dict[str, Any], depth: int) -> Iterator[str]:
    for key, item in value.items():
        title = f"{'  ' * depth}- **{key.replace('_', ' ').capitalize()}:**"
        if isinstance(item, dict):
            yield title
            yield from _entries(item, depth + 1)
        elif isinstance(item, list):
            yield title
            yield from (f"{'  ' * (depth + 1)}- {each}" for each in item)
        elif item not in (None, ""):
            yield f"{title} {item}"


def _analysis(context: AgentContext) -> Iterator[str]:
    found = context.precomputed
    if found.violating_function is not None:
        yield "# Analysis of the code"
        yield ""
        place = (
            f" It spans lines {found.function_lines[0]} to {found.function_lines[1]}." if found.function_lines else ""
        )
        yield f"The function that violates the rule is `{found.violating_function}`.{place}"
        yield ""
    if found.function_source:
        first = found.function_lines[0] if found.function_lines else 1
        yield "Its source code, with line numbers, is:"
        yield ""
        yield "```python"
        yield from (f"{number:>5} | {line}" for number, line in enumerate(found.function_source.splitlines(), first))
        yield "```"
        yield ""
    if found.extraction_suggestions:
        yield "The analysis suggests that the following lines could be extracted to functions of their own:"
        for number, each in enumerate(found.extraction_suggestions, 1):
            yield (
                f"{number}. Lines {each.start_line} to {each.end_line} could become a function named"
                f" `{each.suggested_name}`. The reason is: {each.reason}"
            )
        yield ""


def _facts(facts: Sequence[Fact]) -> Iterator[str]:
    if not facts:
        return
    yield "# What is known so far"
    yield ""
    for category, title in _CATEGORY_TITLES.items():
        own = [fact for fact in facts if fact.category.value == category]
        if own:
            yield f"The following is known about {title}:"
            yield from (f"- {fact.statement} (confidence: {fact.confidence:.0%})" for fact in own)
            yield ""


def _verification(context: AgentContext) -> Iterator[str]:
    state = context.state.verification
    yield "# Verification status"
    yield ""
    yield f"At the moment {state.checks_passing} checks are passing and {state.checks_failing} checks are failing."
    yield f"The tests are currently {'passing' if state.tests_passing else 'not passing'}."
    yield f"The task is {'ready' if state.ready_for_completion else 'not yet ready'} to be completed."
    yield ""


def _recent(records: Sequence[ActionRecord], same_fields: bool) -> Iterator[str]:
    if not records:
        return
    yield "# Recent actions"
    yield ""
    for record in records[-3:] if same_fields else records:
        target = f" on `{record.target}`" if record.target and not same_fields else ""
        yield f"In step {record.step} you took the action `{record.action}`{target}. {_RESULTS[record.result.value]}"
        if record.parameters and not same_fields:
            yield "The parameters were:"
            yield from (f"- {name}: {value}" for name, value in record.parameters.items())
        if record.summary:
            yield f"Summary: {record.summary}"
        if record.error and not same_fields:
            yield f"Error: {record.error}"
        yield ""


def _actions(context: AgentContext, same_fields: bool) -> Iterator[str]:
    actions = context.actions
    yield "# Available actions"
    yield ""
    yield "You can choose one of the following actions:"
    yield ""
    for action in actions.available:
        if same_fields:
            use = "; ".join(action.preconditions) or action.description
            yield f"- `{action.name}`: use this action when the following holds: {use}"
        else:
            yield from _manual(action)
    if same_fields:
        yield ""
    if actions.recommended is not None:
        yield f"The recommended next action is `{actions.recommended}`."
        yield ""
    if actions.blocked:
        yield "The following actions cannot be used at the moment:"
        yield from (f"- `{each.action}` is blocked, because {each.reason}" for each in actions.blocked)
        yield ""


def _manual(action: ActionDef) -> Iterator[str]:
    yield f"## {action.name}"
    yield ""
    yield action.description
    if action.parameters:
        yield "Parameters:"
        for name, kind in action.parameters.items():
            hint = action.value_hints.get(name)
            yield f"- `{name}` ({kind})" + (f": {hint}" if hint else "")
    if action.preconditions:
        yield f"Use it when: {'; '.join(action.preconditions)}"
    if action.postconditions:
        yield f"Afterwards: {'; '.join(action.postconditions)}"
    yield ""
