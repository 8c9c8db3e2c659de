"""Finds bodies that do no more than to write to a log, or to print a literal text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import tree_sitter

from runtime.codebase.language_parts.idle_statements import PRINTS_BY_NAME
from runtime.codebase.parsing.tree_walk import BLOCK, body_of

# A longer body than this is taken to do more than logging; bodies can be nested as deep as a file is long.
MAX_LOGGING_BODY_BYTES = 4_000

# What loggers are called to tell something by; what sets them up does some work.
_TELLING = (
    r"(?:trace|debug|info|information|notice|warn|warning|warn_explicit|err|error|exception|critical|crit|fatal|panic|log"
    r"|print|write|verbose|dir|table|group|groupEnd|groupCollapsed|time|timeEnd|timeLog|count|assert|fine|finer|finest"
    r"|severe|config|success|emerg|alert|log_?(?:trace|debug|info|information|warn|warning|error|critical))"
    r"(?:f|ln|w|Line|Async|Context|Ctx|Format|_once)?"
)
# Statements that only tell: a body of nothing else does no work. Calls in what is told may do some.
_LOGS = re.compile(
    rf"""(?:[\w$@]+(?:\.|::|->))*[_@$]?(?:log|logger|logging|slog|console|warnings)(?:\.|::|->)
        (?:{_TELLING})!?\s*(?:\((.*)\)|\s(.*))
        | error_log\((.*)\) | (?:trace|debug|info|warn|error)!\((.*)\)""",
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
# Statements that only print literal texts; one that prints what it was given may be all that a function is for.
_PRINTS = re.compile(
    r"""(?:(?:print|println|puts|echo|console\.log)|(?:System\.(?:out|err)|fmt|process\.stdout|sys\.stdout)
        \.(?:print(?:ln|f)?|Print(?:ln|f)?|write)|e?print(?:ln)?!)\s*\(?\s*
        (?:(?:"[^"{}%$]*"|'[^'{}%$]*'|`[^`$]*`)\s*,?\s*)*\)?""",
    re.VERBOSE,
)
# Parameters that a body need not use.
_UNUSED = re.compile(r"\b(?:self|cls|this|mut|_\w*)\b")
_WARNS = b"warnings."
# Calls that tell something of a value and do no more.
_SIZES = re.compile(r"\b(?:len|str|repr|type)\s*\(")
_CALL = re.compile(r"\w\s*\(")


def only_logged(
    definitions: Sequence[tree_sitter.Node], shown: bytes, says_nothing: Callable[[str], bool], imports: str
) -> Iterator[tuple[int, int]]:
    """Yield the bytes of logging in bodies that do nothing else.

    `shown` is the text without what is no work anyhow, `imports` the pattern of what may stand beside that.
    """
    for node in definitions:
        body = body_of(node)
        if body is None or body.end_byte - body.start_byte > MAX_LOGGING_BODY_BYTES:
            continue
        while body.named_child_count == 1 and BLOCK.search(body.named_children[0].type):
            body = body.named_children[0]
        ignores = _takes_something(node) or not _may_print(node)
        logged = [each for each in body.named_children if _is_logging(each) or (ignores and _is_printing(each))]
        rest = [each for each in body.named_children if each not in logged]
        texts = (shown[each.start_byte : each.end_byte].decode("utf-8", "replace") for each in rest)
        if logged and all(says_nothing(text) or re.fullmatch(imports, text.strip()) for text in texts):
            yield from ((each.start_byte, each.end_byte) for each in logged)


def logging_in(functions: Sequence[tree_sitter.Node]) -> Iterator[tuple[int, int]]:
    """Yield the bytes of statements of short functions that only write to a log; a warning may be what one is for."""
    for node in functions:
        body = body_of(node)
        if body is None or body.end_byte - body.start_byte > MAX_LOGGING_BODY_BYTES:
            continue
        logged = (
            each for each in body.named_children if _is_logging(each) and not (each.text or b"").startswith(_WARNS)
        )
        yield from ((each.start_byte, each.end_byte) for each in logged)


def _is_logging(node: tree_sitter.Node) -> bool:
    text = (node.text or b"").decode("utf-8", "replace").strip().rstrip(";")
    found = _LOGS.fullmatch(text)
    return found is not None and not any(_CALL.search(_SIZES.sub("(", told)) for told in found.groups() if told)


def _takes_something(node: tree_sitter.Node) -> bool:
    """Return whether a definition has parameters that its body ought to use."""
    taken = node.child_by_field_name("parameters")
    text = (taken.text or b"").decode("utf-8", "replace") if taken is not None else ""
    return re.search(r"\w", _UNUSED.sub("", text)) is not None


def _may_print(node: tree_sitter.Node) -> bool:
    """Return whether to print a text that is always the same may be what a function is for, by its name."""
    named = node.child_by_field_name("name") or node.child_by_field_name("declarator")
    return named is None or PRINTS_BY_NAME.search((named.text or b"").decode("utf-8", "replace")) is not None


def _is_printing(node: tree_sitter.Node) -> bool:
    text = (node.text or b"").decode("utf-8", "replace").strip().rstrip(";")
    return _PRINTS.fullmatch(text) is not None
