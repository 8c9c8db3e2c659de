"""Names what is tried after what its handler says has failed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from actors.capabilities.violation_fix.refactoring.block_exits import Form
from actors.capabilities.violation_fix.refactoring.complexity import Try
from actors.capabilities.violation_fix.refactoring.naming.block_context import BlockContext
from actors.capabilities.violation_fix.refactoring.naming.name_words import (
    plural,
    singular,
    words_of_comment,
)
from actors.capabilities.violation_fix.refactoring.naming.suggestion import (
    BY_EXCEPTION,
    BY_HANDLER,
    SuggestedName,
    joined_name,
)

_FAILED = re.compile(
    r"^\W*(?:(?:error|warning)\W+)?"
    r"(?:(?:could|can|was|were) ?not(?: be able to| able to)?|couldn't|can't|(?:was )?unable to|failed to|failure to|"
    r"(?:(?:an? )?(?:error|exception|failure|problem)|failed)(?: occurred)?(?: while| when| during| in)?(?= \w+ing\b))"
    r"\s+(?P<tried>\w.*)$",
    re.I | re.S,
)
# What a message says of a value ends what it says of the work.
_VALUE = re.compile(r"[%{'\"`:(\[]|\.(?:\s|$)|\n")
_FORMS = (Form.PLAIN, Form.THEN_JUMP, Form.RETURN)


def from_failure_message(context: BlockContext) -> Iterator[SuggestedName]:
    """Name a `try`, or all that is tried in it, after the work that a message of its handlers speaks of."""
    attempt = _attempt_of(context)
    if attempt is None or context.has_blank_lines or context.extraction.form not in _FORMS:
        return
    told = [words_tried(text) for handler in attempt.handlers for text in _texts_in(handler.body)]
    found = {tuple(words) for words in told if words}
    if len(found) == 1:
        yield SuggestedName(joined_name(found.pop()), 0.7, BY_HANDLER)


def from_raised_message(context: BlockContext) -> Iterator[SuggestedName]:
    """Name a block after the one work that its own exceptions say has failed."""
    raised = [node for node in context.nodes if isinstance(node, ast.Raise)]
    if not raised or context.only_raises or context.has_blank_lines or context.extraction.form is Form.IF_JUMP:
        return
    found = {tuple(words) for text in _texts_in(raised) if (words := words_tried(text))}
    told = found.pop() if len(found) == 1 else ()
    # What fails is all that the block does only where it speaks of that elsewhere, too.
    if any({word, singular(word), plural(word)} & context.words_used for word in told[1:]):
        yield SuggestedName(joined_name(told), 0.66, BY_EXCEPTION)


def _attempt_of(context: BlockContext) -> ast.Try | ast.TryStar | None:
    """Return the `try` that a block consists of, what it needs left out, or whose body it is."""
    *before, last = context.statements
    if isinstance(last, Try) and all(isinstance(each, ast.Assign | ast.AnnAssign) for each in before):
        return last
    parent = context.parents[-1] if context.parents else None
    return parent if isinstance(parent, Try) and parent.body == list(context.statements) else None


def _texts_in(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield how the texts begin that calls and exceptions of a handler are given."""
    calls = (part for statement in body for part in ast.walk(statement) if isinstance(part, ast.Call))
    for call in calls:
        for given in call.args:
            text = _beginning_of(given)
            if text:
                yield text


def _beginning_of(node: ast.expr) -> str:
    if isinstance(node, ast.BinOp):
        return _beginning_of(node.left)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _beginning_of(node.func.value) if node.func.attr == "format" else ""
    if isinstance(node, ast.JoinedStr):
        return _beginning_of(node.values[0]) if node.values else ""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def words_tried(text: str) -> list[str]:
    """Return verb and object of «Could not read the header: …»; nothing where it is not said what of."""
    found = _FAILED.match(text)
    if found is None:
        return []
    words, _ = words_of_comment("# " + _VALUE.split(found["tried"], maxsplit=1)[0].strip(), is_command=True)
    return words
