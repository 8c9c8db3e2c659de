"""Prompts of code_analysis, laid out for prefix caching and cut to the room that the model has.

First what never changes (the system part that all agents share), then what is the same for all of a run (the question),
then the agent's task and the facts of this visit. Facts are shown best first, as many as fit.
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


class Layout(msgspec.Struct, frozen=True):
    """What is sent, by which prompt, and how many of the lines are in it."""

    messages: tuple[Message, ...]
    prompt: str
    shown: int


def render_prompt(
    context: StageContext, key: str, question: str, lines: Sequence[str] = (), **variables: str
) -> Layout:
    """The messages for an agent's prompt, with as many of `lines` as fit behind the rest.

    A prompt whose own text leaves no room raises ModelFailedError: the rules do without one.
    """
    assert context.llm is not None
    assert context.prompts is not None
    counter, room = context.llm.counter, context.llm.room_tokens
    if context.model_use is not None and context.model_use.prompt_key is not None:
        key = context.model_use.prompt_key
    asked = counter.cut(question, int(room * QUESTION_SHARE))
    takes_lines = "lines" in context.prompts.get(key).inputs

    def rendered_with(shown: Iterable[str]) -> tuple[tuple[Message, ...], str]:
        assert context.prompts is not None
        text = "\n".join(shown) or NOTHING
        given = {"question": asked, **variables, **({"lines": text} if takes_lines else {})}
        made = context.prompts.render(key, given)
        return (Message("system", made.system), Message("user", made.user)), made.label

    messages, label = rendered_with(())
    left = room - count_messages(counter, messages)
    if left < 0:
        raise ModelFailedError(f"prompt {label} alone has {room - left} tokens, the model has room for {room}")
    shown: list[str] = []
    for line in lines:
        left -= counter.count(line + "\n") + 1
        if left < 0:
            break
        shown.append(line)
    messages, label = rendered_with(shown)
    return Layout(messages, label, len(shown))
