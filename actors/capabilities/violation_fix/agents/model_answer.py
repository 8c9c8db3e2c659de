"""Defines the bounded form of a model's answer, and reads it as an AgentResponse.

The parameters of all actions are listed, and those that an action does not take are null: schemas that depend on the
chosen action are refused by some endpoints.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from actors.capabilities.violation_fix.agents.action_menu import ACTIONS
from runtime.context.models import AgentResponse

MAX_LINE = 10_000_000
MAX_TEXT_CHARS = 200_000
MAX_NAME_CHARS = 1_000
MAX_REASONING_CHARS = 1_000
_LONG = frozenset({"text", "old", "new"})
_STRICT = ConfigDict(extra="forbid", frozen=True)


def _type_of(name: str, kind: str) -> Any:
    if kind == "integer":
        return Annotated[int, Field(ge=1, le=MAX_LINE)]
    text = Annotated[str, Field(max_length=MAX_TEXT_CHARS if name in _LONG else MAX_NAME_CHARS)]
    return Annotated[list[text], Field(max_length=100)] if kind == "list" else text


_KINDS = {name: kind.removesuffix("?") for action in ACTIONS for name, kind in action.parameters.items()}
_FIELDS: dict[str, Any] = {name: (_type_of(name, kind) | None, None) for name, kind in sorted(_KINDS.items())}
_Parameters: type[BaseModel] = create_model("Parameters", __config__=_STRICT, **_FIELDS)


class ModelAnswer(BaseModel):
    """Holds the action that a model chose, as it writes it."""

    model_config = _STRICT

    action: Annotated[str, Field(min_length=1, max_length=MAX_NAME_CHARS)]
    parameters: _Parameters = Field(default_factory=_Parameters)
    reasoning: Annotated[str, Field(max_length=MAX_REASONING_CHARS)] | None = None

    def response(self) -> AgentResponse:
        """Return the response, with the parameters that were given."""
        given = self.parameters.model_dump(exclude_none=True)
        return AgentResponse(action=self.action, parameters=given, reasoning=self.reasoning)
