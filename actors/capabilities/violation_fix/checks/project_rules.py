"""Reads the rules of a project, `.jeeves/checks.yaml`, and finds the lines that their patterns forbid.

    rules:
      - id: no-print
        pattern: '\\bprint\\('
        message: log instead of printing
        paths: ["src/"]
      - id: headers
        command: [python, tools/headers.py]
    test_command: [python, -m, pytest, -q]

The file is inert until the operator allowed its exact content: its patterns may take for ever, and its commands run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pydantic

from actors.capabilities.violation_fix.checks.options import (
    PROJECT_RULES,
    STRUCTURE_CHECKS,
    UNUSED_EXCEPTION,
    ProjectRule,
    is_rule_name,
)
from actors.capabilities.violation_fix.checks.violation import SYNTAX_ERROR, Finding
from runtime.codebase.files.consent import Consent
from runtime.codebase.files.ignore_rules import IgnoreRules, parse_pattern
from runtime.codebase.files.source_text import SourceText
from runtime.codebase.git.git_folder import main_tree_of
from runtime.errors import DocumentFaults
from runtime.primitives.yaml_documents import model_faults, parse_yaml, raise_faults
from runtime.processes.call_scope import check_called_off

RULES_FILE = ".jeeves/checks.yaml"
_OF_JEEVES = frozenset({*STRUCTURE_CHECKS, PROJECT_RULES, UNUSED_EXCEPTION, SYNTAX_ERROR})
NOT_ALLOWED = f"{RULES_FILE} is not in force until you run `jeeves allow`"


def _named(text: str) -> str:
    if not is_rule_name(text):
        raise ValueError("a rule is named by lower-case words joined by hyphens, 60 characters at most")
    if text in _OF_JEEVES:
        raise ValueError(f"{text} is the name of a check that is there without rules; choose another one")
    return text


def _argument(text: str) -> str:
    if "\0" in text:
        raise ValueError("it holds the character U+0000, which no argument of a program can")
    return text


_Argument = Annotated[str, pydantic.AfterValidator(_argument)]


def _pattern(text: str) -> str:
    try:
        return re.compile(text).pattern
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"no regular expression: {error}") from error


class _Rule(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    id: Annotated[str, pydantic.AfterValidator(_named)]
    message: str = pydantic.Field("", max_length=500)
    pattern: Annotated[str, pydantic.AfterValidator(_pattern)] = ""
    command: list[_Argument] = []
    paths: list[str] = []
    severity: Literal["error", "warning"] = "warning"
    timeout_s: float = pydantic.Field(60.0, gt=0, le=3600)

    @pydantic.model_validator(mode="after")
    def _one_way(self) -> _Rule:
        if bool(self.pattern) == bool(self.command):
            raise ValueError("give a pattern or a command, and not both")
        return self


class _Rules(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    rules: list[_Rule] = []
    test_command: list[_Argument] = []


class ProjectChecks(msgspec.Struct, frozen=True):
    """Holds a project's own rules and its test command, and notes on a file that is not in force."""

    rules: tuple[ProjectRule, ...] = ()
    test_command: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def project_checks(root: Path, consent: Consent) -> ProjectChecks:
    """Return the project's own checks, if they are there and were allowed. Raises DocumentFaults for a broken file.

    In a linked work tree what was allowed of its repository is allowed as well.
    """
    if not consent.found(root, [RULES_FILE]):
        return ProjectChecks()
    text = consent.allowed_text(root, RULES_FILE)
    if text is None and (main := main_tree_of(root)) is not None:
        text = consent.allowed_text(root, RULES_FILE, of=main)
    return ProjectChecks(notes=(NOT_ALLOWED,)) if text is None else parse_checks(text)


def parse_checks(text: str) -> ProjectChecks:
    """Return what the text of `.jeeves/checks.yaml` declares. Raises DocumentFaults with every fault."""
    document = parse_yaml(text, RULES_FILE)
    try:
        read = _Rules.model_validate(document.data if document.data is not None else {})
    except pydantic.ValidationError as error:
        raise_faults(model_faults(document, error))
        raise
    names = [rule.id for rule in read.rules]
    if len(names) != len(set(names)):
        twice = next(name for name in names if names.count(name) > 1)
        raise DocumentFaults(f"{RULES_FILE}: two rules are named {twice}", faults=[f"two rules are named {twice}"])
    rules = (
        ProjectRule(
            id=rule.id,
            message=rule.message,
            pattern=rule.pattern,
            command=tuple(rule.command),
            paths=tuple(rule.paths),
            severity=rule.severity,
            timeout_s=rule.timeout_s,
        )
        for rule in read.rules
    )
    return ProjectChecks(tuple(rules), tuple(read.test_command))


class LineRules:
    """Finds the lines of files that the patterns of rules match."""

    def __init__(self, rules: Sequence[ProjectRule]) -> None:
        self._rules = [(rule, re.compile(rule.pattern), chooser(rule)) for rule in rules if rule.pattern]

    def findings(self, path: str, source: SourceText) -> list[Finding]:
        """Return one finding for each line of a file and rule that matches it."""
        return list(self._found(path, source))

    def _found(self, path: str, source: SourceText) -> Iterator[Finding]:
        for rule, pattern, chosen in self._rules:
            if not applies(chosen, path):
                continue
            for number, line in enumerate(source.lines, 1):
                check_called_off()
                if match := pattern.search(line):
                    yield finding(rule, path, number, match.start() + 1, rule.message or f"matches {rule.pattern}")


def chooser(rule: ProjectRule) -> IgnoreRules | None:
    """Return the patterns that choose the files of a rule; None if it is for all."""
    patterns = (parse_pattern(path.encode("utf-8", "surrogatepass")) for path in rule.paths)
    return IgnoreRules(pattern for pattern in patterns if pattern is not None) if rule.paths else None


def applies(chosen: IgnoreRules | None, path: str) -> bool:
    """Return whether patterns choose a file by its path or by a folder above it."""
    if chosen is None:
        return True
    parts = path.split("/")
    folders = ("/".join(parts[:count]) for count in range(1, len(parts)))
    return bool(chosen.verdict(path.encode(), False)) or any(chosen.verdict(each.encode(), True) for each in folders)


def finding(rule: ProjectRule, path: str, line: int, column: int, message: str) -> Finding:
    """Return what a rule found at a place."""
    severity: Literal["error", "warning"] = "error" if rule.severity == "error" else "warning"
    return Finding(path, line, column, rule.id, message, severity)
