"""Runs the commands of a project's rules and reads which places they name."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import msgspec

from actors.capabilities.violation_fix.checks.options import ProjectRule
from actors.capabilities.violation_fix.checks.project_rules import applies, chooser, finding
from actors.capabilities.violation_fix.checks.violation import Finding
from runtime.processes.named_commands import MAX_OUTPUT_BYTES, run_named

MAX_FINDINGS = 10_000
# A shell gives 128 and the number of the signal that ended what it ran.
_SHELL_BASE, _LAST_SIGNAL = 128, 64
_BEHIND_PATH = re.compile(r":(?P<line>\d{1,9})(?::(?P<column>\d{1,9}))?:\s*(?P<message>\S.*)")
_TOLD = re.compile(rf"(?P<path>[^:\n]+){_BEHIND_PATH.pattern}")
# Colours and the like, and links, as terminals read them.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")


class Nameable(msgspec.Struct, frozen=True):
    """Holds which files below `root` a command may name: those that are told, and those that were not asked for."""

    root: Path
    files: Collection[str]
    is_asked: Callable[[str], bool] = lambda _path: True
    files_with_colons: Sequence[str] = ()

    def place_of(self, told: str) -> tuple[str, re.Match[str]] | None:
        """Return the path that a command told, relative to the root if below it, and what stands behind it."""
        written = told.removeprefix("./").removeprefix(f"{self.root}/")
        for path in self.files_with_colons:
            if written.startswith(path) and (behind := _BEHIND_PATH.fullmatch(written, len(path))):
                return path, behind
        match = _TOLD.fullmatch(told)
        return (os.path.normpath(match["path"]).removeprefix(f"{self.root}/"), match) if match is not None else None

    def is_passed_over(self, path: str) -> bool:
        """Return whether a path is a file of the repository that was not asked for."""
        if path.startswith(("/", "../")) or self.is_asked(path):
            return False
        try:
            return stat.S_ISREG((self.root / path).lstat().st_mode)
        except (OSError, ValueError):
            return False


def command_findings(rules: Sequence[ProjectRule], nameable: Nameable) -> tuple[list[Finding], list[str]]:
    """Return what the commands of rules name, and notes on commands that failed.

    A command fails when it cannot be run, takes too long, is killed or names more than is read, and when it ends with
    another status than 0 and names no file that could be told, nor one that the rule or the caller leaves out.
    """
    found: list[Finding] = []
    notes: list[str] = []
    for rule in (each for each in rules if each.command):
        end = run_named(rule.command, nameable.root, rule.timeout_s)
        chosen = chooser(rule)
        of_rule: list[Finding] = []
        leaves_out = False
        for line in end.output.splitlines():
            place = nameable.place_of(_ESCAPES.sub("", line).strip())
            if place is None:
                continue
            path, match = place
            if path not in nameable.files:
                leaves_out = leaves_out or nameable.is_passed_over(path)
            elif applies(chosen, path):
                line_and_column = int(match["line"]), int(match["column"] or 1)
                of_rule.append(finding(rule, path, *line_and_column, match["message"]))
            else:
                leaves_out = True
        if end.is_late or _is_killed(end.status) or not (end.passed or of_rule or leaves_out):
            notes.append(f"the command of rule {rule.id} failed: {end.told}")
        elif len(of_rule) > MAX_FINDINGS:
            notes.append(f"the command of rule {rule.id} names {len(of_rule)} places, of which {MAX_FINDINGS} are told")
        elif end.is_cut:
            notes.append(f"the command of rule {rule.id} prints more than {MAX_OUTPUT_BYTES} bytes: the last are read")
        found += of_rule[:MAX_FINDINGS]
    return found, notes


def _is_killed(status: int | None) -> bool:
    """Return whether a signal ended a program, by its status or by what a shell around it makes of that."""
    return status is not None and (status < 0 or _SHELL_BASE < status <= _SHELL_BASE + _LAST_SIGNAL)
