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
        r"(?i)\b(?:syntax ?error|invalid syntax|(?:would|does) not parse)\b"
        r"(?:[^\n]{0,200}?\bline (?P<line>\d{1,7}))?[^\n]*",
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
    _error(
        "lines_missing",
        r"(?i)\blines? (?P<lines>\d{1,7}(?: ?(?:-|–|to) ?\d{1,7})?) (?:is|are) not in (?P<path>[^\n]{1,300}?),"
        r" which has (?P<n>\d{1,7}) lines?",
        "Lines {lines} are not in {path}, which has {n} lines",
    ),
)

_MODIFIED = FactRule(
    "modified",
    r"^[^\w\n]{0,3}(?i:edited|modified|updated|wrote|created|rewrote"
    r"|replaced(?: lines?)?(?: \d{1,7}(?: ?(?:-|–|to) ?\d{1,7})?)?(?: (?:of|in))?)(?: file)?:? "
    r"(?:[`'\"](?P<path>[^`'\"\n]{1,300})[`'\"][.,]?|(?P<path>[^:`'\"\n]{1,300}?)(?=: )"
    r"|(?P<path>[^\s:`'\"]{1,300}?)[.,]?)(?=[\s:]|$)",
    _STRUCTURE,
    "File modified: {path}",
    kind=EDIT_KIND,
    subject="{path}",
    results=_DONE,
    is_rest=True,
)


def _edit_refused(name: str, pattern: str, statement: str) -> FactRule:
    return FactRule(name, rf"(?i){pattern}", _ERROR, statement, kind="edit_refused", results=_NOT_DONE)


EDIT_RULES = (
    _MODIFIED,
    FactRule(
        "taken_back",
        r"^edit (?:\d{1,7} )?of (?P<path>[^\n]{1,300}?) was reverted",
        _ERROR,
        "The edit was reverted: {path}",
        kind="reverted",
        results=_DONE,
    ),
    _edit_refused(
        "text_not_found",
        r"\b(?:old[_ ]text|text|string)\b[^\n]{0,80}?\b(?:not found|does not occur|is not in)\b",
        "Edit failed: the text to replace was not found",
    ),
    _edit_refused(
        "text_ambiguous",
        r"\b(?:occurs|found|matches)(?: in| at)? (?P<n>\d{1,6}) (?:times|places|occurrences)",
        "Edit failed: the text to replace occurs {n} times",
    ),
    _edit_refused("no_change", r"\bwould change nothing\b", "Edit failed: it would change nothing"),
    _edit_refused(
        "other_file",
        r"\bonly (?P<path>[^\n]{1,300}?) belongs to this\b",
        "Edit refused: only {path} may be changed",
    ),
    _edit_refused(
        "no_safe_fix",
        r"\bno safe fix of (?P<code>[^\s,]{1,40})",
        "The linter has no safe fix of {code} here",
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
    _MODIFIED,
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
    _MODIFIED,
    CHECK_PASSED_AFTER,
)

READ_RULES = (
    FactRule(
        "definition",
        r"^definition of (?P<name>[^\s:]{1,200}): (?P<place>[^\s:][^:\n]{0,300}:\d{1,7}(?:-\d{1,7})?)",
        _STRUCTURE,
        "{name} is defined at {place}",
        kind="definition",
        subject="{name} {place}",
        results=_DONE,
    ),
    FactRule(
        "no_definition",
        r"(?i)\bno definition of (?P<name>[^\s]{1,200}) (?:was|is|could be) found",
        _ERROR,
        "No definition of {name} was found",
        kind="definition_missing",
        subject="{name}",
        results=_NOT_DONE,
    ),
    FactRule(
        "read",
        definitions_read,
        _STRUCTURE,
        "{statement}",
        kind=FILE_KIND,
        subject="{path}",
        results=_DONE,
        is_rest=True,
    ),
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
