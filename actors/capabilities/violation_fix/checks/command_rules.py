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
_TOLD = re.compile(r"(?P<path>[^:\n]+):(?P<line>\d{1,9})(?::(?P<column>\d{1,9}))?:\s*(?P<message>\S.*)")
# Colours and the like, and links, as terminals read them.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")


class Nameable(msgspec.Struct, frozen=True):
    """Holds which files below `root` a command may name: those that are told, and those that were not asked for."""

    root: Path
    files: Collection[str]
    is_asked: Callable[[str], bool] = lambda _path: True

    def path_of(self, told: str) -> str:
        """Return a path as a command told it, relative to the root where it lies below."""
        path = os.path.normpath(told)
        return path.removeprefix(f"{self.root}/")

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

    A command fails when it cannot be run, takes too long or names more than is read, and when it ends with another
    status than 0 and names no file that could be told, nor one that the rule or the caller leaves out.
    """
    found: list[Finding] = []
    notes: list[str] = []
    for rule in (each for each in rules if each.command):
        end = run_named(rule.command, nameable.root, rule.timeout_s)
        chosen = chooser(rule)
        of_rule: list[Finding] = []
        leaves_out = False
        for line in end.output.splitlines():
            match = _TOLD.fullmatch(_ESCAPES.sub("", line).strip())
            if match is None:
                continue
            path = nameable.path_of(match["path"])
            if path not in nameable.files:
                leaves_out = leaves_out or nameable.is_passed_over(path)
            elif applies(chosen, path):
                place = int(match["line"]), int(match["column"] or 1)
                of_rule.append(finding(rule, path, *place, match["message"]))
            else:
                leaves_out = True
        if end.is_late or not (end.passed or of_rule or leaves_out):
            notes.append(f"the command of rule {rule.id} failed: {end.told}")
        elif len(of_rule) > MAX_FINDINGS:
            notes.append(f"the command of rule {rule.id} names {len(of_rule)} places, of which {MAX_FINDINGS} are told")
        elif end.is_cut:
            notes.append(f"the command of rule {rule.id} prints more than {MAX_OUTPUT_BYTES} bytes: the last are read")
        found += of_rule[:MAX_FINDINGS]
    return found, notes
