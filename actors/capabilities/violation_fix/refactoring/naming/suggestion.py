"""Defines a proposed name, and how one is put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from actors.capabilities.violation_fix.refactoring.block_exits import Form
from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.name_words import words_of

BRANCH_REASON = "the case of the branch"
BY_COMMENT = "the comment above the block"
BY_EXCEPTION = "what an exception says has failed"
BY_FUNCTION_AND_CASE = "the function and the case of the branch"
BY_HANDLER = "what the handler says has failed"
BY_HEADING = "the heading above the block"
BY_LOG = "the message that the block begins with"
BY_LOOP_BODY = "the loop's body"
BY_TYPE_LEFT = "the type that is left"
OUTPUT_REASON = "the output "
MISSING_REASON = " that may be missing"
MESSAGE_REASONS = frozenset({BY_EXCEPTION, BY_HANDLER, BY_LOG})


@dataclass(frozen=True, slots=True)
class SuggestedName:
    """Proposes a name; `quality` is between 0 and 1, and `reason` tells what it was derived from."""

    name: str
    quality: float
    reason: str


def joined_name(*parts: str | Sequence[str]) -> str:
    words: list[str] = []
    for part in parts:
        for word in words_of(part) if isinstance(part, str) else part:
            if not words or words[-1] != word:
                words.append(word)
    return "_" + "_".join(words)


def ends_plainly(context: BlockContext) -> bool:
    """Return whether the call tells nothing but what its name says."""
    return context.extraction.form in (Form.PLAIN, Form.THEN_JUMP)
