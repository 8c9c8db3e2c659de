"""Defines rules for edits, refactorings, reads and plans, and for errors that any tool may meet."""

from __future__ import annotations

from runtime.context.actions import ActionResult
from runtime.context.check_rules import CHECK_PASSED_AFTER
from runtime.context.fact_rules import FactRule
from runtime.context.output_readers import definitions_read
from runtime.context.understanding import FactCategory

BLOCKED_CONFIDENCE = 0.95

PLAN_KIND = "plan"
EDIT_KIND = "edit"
FILE_KIND = "file"

_STRUCTURE, _ERROR = FactCategory.CODE_STRUCTURE, FactCategory.ERROR
_DONE = frozenset({ActionResult.SUCCESS, ActionResult.PARTIAL})
_NOT_DONE = frozenset(ActionResult) - {ActionResult.SUCCESS}

_LINES = r"(?P<first>\d{1,7})(?: ?(?:-|–|to) ?(?P<last>\d{1,7}))?"
_FUNCTION = r"[`'\"](?P<function>[^`'\"\n]{1,200})[`'\"]"
_CONTROL_FLOW = r"control[ -]flow|\b(?:return|yield|break|continue|await|raise)s?\b|cannot (?:be )?extract|refused"
_NOT_SIMPLER = r"cannot|refused|not (?:be )?(?:simplif|convert|invert)|\bno (?:if|guard|else|conditional)\b"


def _error(name: str, pattern: str, statement: str) -> FactRule:
    return FactRule(name, pattern, _ERROR, statement, kind=name, results=_NOT_DONE)


COMMON_ERRORS = (
    _error(
        "syntax_error",
        r"(?i)\b(?:syntax ?error|invalid syntax)\b(?:[^\n]{0,200}?\bline (?P<line>\d{1,7}))?",
        "Syntax error[ at line {line}]",
    ),
    _error(
        "reverted",
        r"(?i)\b(?:reverted|taken back|undone|broke (?:the )?tests?)\b",
        "The edit was reverted, because tests that passed failed after it",
    ),
    _error(
        "timed_out",
        r"(?i)\btimed[ -]?out\b(?: after (?P<time>[\d.]{1,9} ?s(?:econds)?)\b)?",
        "Timed out[ after {time}]",
    ),
    _error(
        "file_missing",
        r"(?i)(?:no such file(?: or directory)?|file not found)\b(?:: ?[`'\"]?(?P<path>[^\s'\"`]{1,300}))?",
        "File not found[: {path}]",
    ),
)

EDIT_RULES = (
    FactRule(
        "modified",
        r"^\W{0,3}(?:Edited|Modified|Updated|Wrote|Created|Rewrote"
        r"|Replaced(?: lines?)?(?: \d{1,7}(?: ?(?:-|–|to) ?\d{1,7})?)?(?: (?:of|in))?)(?: file)?:? "
        r"(?:[`'\"](?P<path>[^`'\"\n]{1,300})[`'\"][.,]?|(?P<path>[^\s:`'\"]{1,300}?)[.,]?)(?=[\s:]|$)",
        _STRUCTURE,
        "File modified: {path}",
        kind=EDIT_KIND,
        subject="{path}",
        results=_DONE,
    ),
    FactRule(
        "text_not_found",
        r"(?i)\b(?:old[_ ]text|text|string)\b[^\n]{0,80}?\b(?:not found|does not occur)\b",
        _ERROR,
        "Edit failed: the text to replace was not found",
        kind="edit_refused",
        results=_NOT_DONE,
    ),
    FactRule(
        "text_ambiguous",
        r"(?i)\b(?:occurs|found|matches)(?: in| at)? (?P<n>\d{1,6}) (?:times|places|occurrences)",
        _ERROR,
        "Edit failed: the text to replace occurs {n} times",
        kind="edit_refused",
        results=_NOT_DONE,
    ),
)


def _extracted(name: str, pattern: str) -> FactRule:
    return FactRule(
        name,
        pattern,
        _STRUCTURE,
        "Extracted '{function}' from lines {first}-{last}",
        kind="extraction",
        subject="{function}",
        results=_DONE,
        is_rest=True,
    )


def _blocked(name: str, reason: str, statement: str) -> FactRule:
    return FactRule(
        name,
        rf"^(?P<reason>[^\n]{{0,300}}?(?i:{reason})[^\n]{{0,200}})",
        _ERROR,
        statement,
        confidence=BLOCKED_CONFIDENCE,
        kind=name,
        results=_NOT_DONE,
    )


EXTRACTION_RULES = (
    _extracted("extracted", rf"(?i:\bextracted)\b[^\n]{{0,200}}?{_FUNCTION}[^\n]{{0,200}}?\blines? ?{_LINES}"),
    _extracted("extracted_lines", rf"(?i:\bextracted)\b[^\n]{{0,60}}?\blines? ?{_LINES}[^\n]{{0,200}}?{_FUNCTION}"),
    _blocked("extraction_blocked", _CONTROL_FLOW, "Extraction blocked: {reason}"),
    CHECK_PASSED_AFTER,
)

CONDITIONAL_RULES = (
    FactRule(
        "simplified",
        r"(?i)\b(?:simplified|converted|inverted|flattened|merged)\b[^\n]{0,200}?\bline (?P<line>\d{1,7})"
        rf"(?:[^\n]{{0,80}}?{_FUNCTION})?",
        _STRUCTURE,
        "Conditional simplified at line {line}[ of '{function}']",
        kind="conditional",
        subject="{line}[ {function}]",
        results=_DONE,
    ),
    _blocked("conditional_blocked", _NOT_SIMPLER, "Conditional not simplified: {reason}"),
    CHECK_PASSED_AFTER,
)

READ_RULES = (
    FactRule("read", definitions_read, _STRUCTURE, "{statement}", kind=FILE_KIND, subject="{path}", results=_DONE),
)

PLAN_RULES = (
    FactRule(
        "plan",
        r"\A\s{0,100}(?:(?i:plan(?: recorded)?):?\s{1,100})?(?P<plan>\S[\s\S]{0,600})",
        FactCategory.INFERENCE,
        "Plan: {plan}",
        kind=PLAN_KIND,
        subject=PLAN_KIND,
        results=_DONE,
    ),
)
