"""Builds the context of a step from typed parts, validates it, and writes it within the budgets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from pydantic import BaseModel, ValidationError

from runtime.context.models import ActionsSpec, AgentContext, Analysis, StateSpec, TaskSpec
from runtime.context.section_budgets import Count, FittedText, SectionBudgets, fit_to_budgets, token_breakdown
from runtime.context.token_estimate import estimated_code_tokens
from runtime.errors import ContextError


class ContextBuilder(msgspec.Struct, frozen=True):
    """Builds and writes contexts; `count` counts tokens, by the model's own tokenizer where there is one."""

    budgets: SectionBudgets = SectionBudgets()
    count: Count = estimated_code_tokens

    def build(
        self,
        task: TaskSpec,
        state: StateSpec,
        actions: ActionsSpec,
        domain_context: Mapping[str, Any] | None = None,
        precomputed: Analysis | None = None,
    ) -> AgentContext:
        """Return the context of a step. Raises ContextError if it does not validate."""
        parts = {
            "task": task,
            "state": state,
            "actions": actions,
            "domain_context": dict(domain_context or {}),
            "precomputed": precomputed or Analysis(),
        }
        return validated(parts)

    def write(self, context: AgentContext, system_prompt: str = "") -> FittedText:
        """Return the context as YAML within the budgets. Raises ContextError if it does not validate."""
        return fit_to_budgets(validated(context), self.budgets, self.count, system_prompt)

    def token_breakdown(self, context: AgentContext) -> dict[str, int]:
        """Return the tokens of each section, uncut, and of the whole text as `total`."""
        return token_breakdown(context, self.count)


def validated(context: AgentContext | Mapping[str, Any]) -> AgentContext:
    """Return the context, validated throughout: parts that were made without validation count as well.

    Raises ContextError with every fault, since a context that does not validate is a fault of our own.
    """
    given = context if isinstance(context, Mapping) else dict(context)
    plain = {name: _plain(part) for name, part in given.items()}
    try:
        return AgentContext.model_validate(plain)
    except ValidationError as error:
        faults = [
            f"{'.'.join(map(str, each['loc'])) or 'context'}: {each['msg']}"
            for each in error.errors(include_url=False, include_context=False, include_input=False)
        ]
        task_id = str(getattr(given.get("task"), "task_id", None) or "without an id")
        raise ContextError(
            f"the context of task {task_id} does not validate, so no model is asked: {'; '.join(faults[:10])}",
            task_id=task_id,
            faults=faults,
        ) from error


def _plain(part: Any) -> Any:
    """Return a part as plain values; pydantic takes instances of its models unseen."""
    return part.model_dump(warnings=False) if isinstance(part, BaseModel) else part
