"""Defines what is checked, and with which limits."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from runtime.errors import InputError

LONG_FUNCTION = "long-function"
DEEP_NESTING = "deep-nesting"
PROJECT_RULES = "project"
UNUSED_EXCEPTION = "unused-exception"
STRUCTURE_CHECKS = (LONG_FUNCTION, DEEP_NESTING)
LINTER_RULES = ("C901", "PLR0911", "PLR0912", "PLR0913", "PLR0914", "PLR0915", "E4", "E7", "E9", "F")
DEFAULT_SELECTION = (*LINTER_RULES, *STRUCTURE_CHECKS, PROJECT_RULES)

_LINTER_RULE = re.compile(r"ALL|[A-Z]{1,10}[0-9]{0,5}")
_OWN_RULE = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
MAX_LIMIT = 100_000


class ProjectRule(msgspec.Struct, frozen=True):
    """Declares a rule of the project: a `pattern` that no line may match, or a `command` that names what is wrong.

    A command prints a line `PATH:LINE: MESSAGE` or `PATH:LINE:COLUMN: MESSAGE` for each violation. `paths`: patterns in
    the form of `.gitignore` that choose the files; none: all files with code.
    """

    id: str
    message: str = ""
    pattern: str = ""
    command: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    severity: str = "warning"
    timeout_s: float = 60.0


class CheckOptions(msgspec.Struct, frozen=True):
    """Configures one listing. `select`: rules of the linter by code or prefix, and own checks by name.

    `target_version`: the oldest Python that the code is for, such as `py310`; empty: as `pyproject.toml` says, else the
    newest. `ignore_noqa`: whether comments excuse nothing. `uses_project_config`: whether the linter's settings in the
    repository count. `timeout_s`: for one program.
    """

    select: tuple[str, ...] = DEFAULT_SELECTION
    ignore: tuple[str, ...] = ()
    max_complexity: int = 10
    max_function_lines: int = 100
    max_nesting: int = 5
    ignore_noqa: bool = False
    uses_project_config: bool = False
    target_version: str = ""
    rules: tuple[ProjectRule, ...] = ()
    timeout_s: float = 60.0

    def has(self, check: str) -> bool:
        """Return whether an own check is selected."""
        return check in self.select and check not in self.ignore

    def linter_rules(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the rules of the linter that are selected, and those left out again."""
        return tuple(filter(_is_linter_rule, self.select)), tuple(filter(_is_linter_rule, self.ignore))

    def chosen_rules(self) -> tuple[ProjectRule, ...]:
        """Return the project's rules that are selected, all of them or by their names."""
        chosen = self.rules if self.has(PROJECT_RULES) else tuple(each for each in self.rules if each.id in self.select)
        return tuple(each for each in chosen if each.id not in self.ignore)


def checked_options(options: CheckOptions, notes: Sequence[str] = ()) -> CheckOptions:
    """Return options that can be used. Raises InputError for a rule that cannot exist, or a limit out of range.

    `notes`: why rules of the project are not in force, told where one of them may be meant.
    """
    own = {*STRUCTURE_CHECKS, PROJECT_RULES, UNUSED_EXCEPTION, *(rule.id for rule in options.rules)}
    unknown = [each for each in (*options.select, *options.ignore) if not _is_linter_rule(each) and each not in own]
    if unknown:
        meant = notes if any(is_rule_name(each) for each in unknown) else ()
        raise InputError(
            f"no check is named {', '.join(repr(each) for each in unknown)}; {''.join(f'{note}; ' for note in meant)}"
            f"name rules of ruff (C901, PLR, F401, ALL) or {', '.join(sorted(own))}",
            unknown=unknown,
        )
    if not options.select:
        raise InputError("no check is selected; name at least one with --select")
    for name in ("max_complexity", "max_function_lines", "max_nesting"):
        limit = getattr(options, name)
        if not 1 <= limit <= MAX_LIMIT:
            raise InputError(f"{name} is {limit}; it is a number from 1 to {MAX_LIMIT}", actual=limit)
    return options


def is_rule_name(text: str) -> bool:
    """Return whether a text can name a rule of a project: lower-case words joined by hyphens, 60 characters at most."""
    return len(text) <= 60 and _OWN_RULE.fullmatch(text) is not None


def _is_linter_rule(name: str) -> bool:
    return _LINTER_RULE.fullmatch(name) is not None
