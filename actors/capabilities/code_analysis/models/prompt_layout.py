"""Lays out the prompts of code_analysis for prefix caching and cuts them to the model's token limit.

First comes the constant part (the system prompt shared by all agents), then the part constant within a run (the
question), then the agent's task and the facts of this visit. Facts are included best first, as many as fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from runtime.agents.capability import StageContext
from runtime.errors import ModelFailedError
from runtime.llm.messages import Message
from runtime.llm.tokens import count_messages

# Of the room of a prompt, what a question may take at most.
QUESTION_SHARE = 0.25
NOTHING = "(none)"
# What an agent is asked beside its own task, where its model plans too.
PLAN_FORM = """
In the same object plan the first tool calls: "steps": [one to ten steps, the most promising first; their goals are
named by aspect, the second of an aspect as `aspect:2`], "feasibility": 0 to 100, how likely they are to find what is
asked."""
NEXT_PLAN_FORM = """
In the same object plan the tool calls of the next round: "steps": [steps], empty if no round is needed. Read what is
missing by its name, look for other words than before; what was read already is at hand and need not be read again."""


class Layout(msgspec.Struct, frozen=True):
    """Holds the rendered messages, the label of their prompt, and the number of lines included."""

    messages: tuple[Message, ...]
    prompt: str
    line_count: int


def render_prompt(
    context: StageContext, key: str, question: str, lines: Sequence[str] = (), **variables: str
) -> Layout:
    """Render an agent's prompt, with as many of `lines` as fit after the rest.

    Raise ModelFailedError when the prompt's own text exceeds the limit; the rules then take over.
    """
    assert context.llm is not None
    assert context.prompts is not None
    counter, room = context.llm.counter, context.llm.room_tokens
    if context.model_use is not None and context.model_use.prompt_key is not None:
        key = context.model_use.prompt_key
    asked = counter.cut(question, int(room * QUESTION_SHARE))
    takes_lines = "lines" in context.prompts.get(key).inputs

    def rendered_with(included: Iterable[str]) -> tuple[tuple[Message, ...], str]:
        assert context.prompts is not None
        text = "\n".join(included) or NOTHING
        given = {"question": asked, **variables, **({"lines": text} if takes_lines else {})}
        made = context.prompts.render(key, given)
        return (Message("system", made.system), Message("user", made.user)), made.label

    messages, label = rendered_with(())
    left = room - count_messages(counter, messages)
    if left < 0:
        raise ModelFailedError(f"prompt {label} alone has {room - left} tokens, the model has room for {room}")
    included: list[str] = []
    for line in lines:
        left -= counter.count(line + "\n") + 1
        if left < 0:
            break
        included.append(line)
    messages, label = rendered_with(included)
    return Layout(messages, label, len(included))
