"""Measures how many tokens a step's context takes as YAML, against the frozen prose of the same content.

from tests.runtime.context.token_savings import savings_of
savings_of(contexts, count)   # contexts: the AgentContext of each recorded step, as it was built
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import runtime.codebase.semantics
from runtime.context.context_builder import ContextBuilder
from runtime.context.models import AgentContext
from runtime.context.yaml_context import to_yaml
from tests.runtime.context.prose_context import prose_of

TOKENIZER = Path(runtime.codebase.semantics.__path__[0]) / "minilm" / "tokenizer.json"


class Savings(NamedTuple):
    """Holds mean tokens per step, and the shares that YAML saves as it is sent, within the budgets.

    `saved` is against all that prose prompts carry, `saved_of_same_fields` against prose with the fields of the YAML
    alone, `saved_complete` with YAML that leaves out neither code nor what exceeds a budget (the saving of the notation
    alone), and `least_saved` is the smallest share of a single step.
    """

    steps: int
    yaml_tokens: float
    prose_tokens: float
    same_fields_tokens: float
    saved: float
    saved_of_same_fields: float
    saved_complete: float
    least_saved: float


def savings_of(contexts: Sequence[AgentContext], count: Callable[[str], int]) -> Savings:
    """Return what YAML saves over the contexts of steps, of their sums; there is at least one."""
    builder = ContextBuilder(count=count)
    yaml = [count(builder.write(context).text) for context in contexts]
    complete = [count(to_yaml(context, is_complete=True)) for context in contexts]
    prose = [count(prose_of(context)) for context in contexts]
    same = [count(prose_of(context, same_fields=True)) for context in contexts]
    steps = len(contexts)
    return Savings(
        steps=steps,
        yaml_tokens=sum(yaml) / steps,
        prose_tokens=sum(prose) / steps,
        same_fields_tokens=sum(same) / steps,
        saved=1 - sum(yaml) / sum(prose),
        saved_of_same_fields=1 - sum(yaml) / sum(same),
        saved_complete=1 - sum(complete) / sum(prose),
        least_saved=min(1 - short / long for short, long in zip(yaml, prose, strict=True)),
    )


def tokenizer_count(path: Path = TOKENIZER) -> Callable[[str], int]:
    """Return a counter that uses the tokenizer in a file, by default the one that Jeeves ships."""
    from tokenizers import Tokenizer

    tokenizer: Any = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
