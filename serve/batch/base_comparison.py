"""Tells old violations of a branch from new ones by the commits that it came from, for `jeeves check`."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from actors.capabilities.violation_fix.checks.linter_config import CONFIG_FILES, MAX_BYTES
from actors.capabilities.violation_fix.checks.new_violations import by_age
from actors.capabilities.violation_fix.checks.options import CheckOptions
from actors.capabilities.violation_fix.checks.source_files import MAX_FILE_BYTES
from actors.capabilities.violation_fix.checks.violation import SYNTAX_ERROR, CheckReport, Violation
from runtime.codebase.files.regular_file import read_below
from runtime.codebase.git.base_files import (
    BaseFile,
    base_commits,
    base_files,
    changed_lines,
    content_of,
    has_content,
)
from runtime.codebase.git.git_process import Git
from runtime.errors import RepositoryError
from runtime.primitives.visible_text import visible_line
from serve.batch.check_listing import listed

_TOLD = 5


class Comparison(msgspec.Struct, frozen=True):
    """Holds the commits that were compared with, the violations that are new since, those that are old, and notes."""

    commits: tuple[str, ...]
    new: tuple[Violation, ...]
    old: tuple[Violation, ...]
    notes: tuple[str, ...] = ()


def compared(
    root: Path,
    report: CheckReport,
    options: CheckOptions,
    revision: str,
    *,
    timeout_s: float,
    on_progress: Callable[[str], None] = lambda _told: None,
) -> Comparison:
    """Return which violations of a report are neither in `revision` nor where the branch of HEAD left it.

    The checks run on the files of these commits with the options of the report. What a command of the project found is
    new where its line was changed. InputError for a revision that cannot be used, RepositoryError where git fails.
    """
    git = Git(root, as_hashed=True)
    commits = base_commits(git, revision)
    ends_at_s = time.monotonic() + timeout_s
    old: set[str] = set()
    problems: dict[str, str] | None = None
    for commit in commits:
        waiting = {each.path for each in report.violations if each.violation_id not in old}
        # All of a file: an old violation answers for one at the base, and that one for no second.
        violations = [each for each in report.violations if each.path in waiting]
        if violations:
            base = _Base(root, git, commit, options)
            old |= base.old_of(violations, max(ends_at_s - time.monotonic(), 1.0), on_progress)
            problems = {
                path: told
                for path, told in (base.problems if problems is None else problems).items()
                if path in base.problems
            }
    new = tuple(each for each in report.violations if each.violation_id not in old)
    paths = {each.path for each in new}
    return Comparison(
        commits,
        new,
        tuple(each for each in report.violations if each.violation_id in old),
        tuple(_shown([told for path, told in sorted((problems or {}).items()) if path in paths])),
    )


class _Base:
    """Compares files with those of one commit; `problems` tells by path which cannot be, or not whole, and why."""

    def __init__(self, root: Path, git: Git, commit: str, options: CheckOptions) -> None:
        self._root = root
        self._git = git
        self._commit = commit
        self._commands = frozenset(rule.id for rule in options.chosen_rules() if rule.command)
        self._options = msgspec.structs.replace(options, ignore=(*options.ignore, *sorted(self._commands)))
        self.problems: dict[str, str] = {}

    def old_of(
        self, violations: Sequence[Violation], timeout_s: float, on_progress: Callable[[str], None]
    ) -> frozenset[str]:
        """Return the ids of the violations that the commit has already, all violations of some files being given."""
        by_path: dict[str, list[Violation]] = {}
        for each in violations:
            by_path.setdefault(each.path, []).append(each)
        found = base_files(self._git, self._commit, sorted(by_path))
        for path, reason in found.problems.items():
            self._note(path, reason)
        old: list[Violation] = []
        asked: list[Violation] = []
        with tempfile.TemporaryDirectory(prefix="jeeves-check-") as name:
            folder = Path(name).resolve()
            written = []
            for path, file in sorted(found.files.items()):
                contents = self._contents(path, file)
                if contents is None:
                    continue
                before, now = contents
                if before == now:
                    old += by_path[path]
                    continue
                old += self._on_unchanged_lines(by_path[path], before, now)
                own = [each for each in by_path[path] if each.check_id not in self._commands]
                if own and self._is_written(folder, path, before):
                    written.append(path)
                    asked += own
            if written:
                old += self._at_base(folder, written, asked, timeout_s, on_progress)
        return frozenset(each.violation_id for each in old)

    def _contents(self, path: str, file: BaseFile) -> tuple[bytes, bytes] | None:
        """Return the contents that a file had and has; None, and a problem, where one cannot be read."""
        try:
            now = read_below(self._root, path, MAX_FILE_BYTES)
            before = now if has_content(file, now) else content_of(file, MAX_FILE_BYTES)
        except RepositoryError as error:
            self._note(path, error.message)
        except OSError as error:
            self._note(path, f"it cannot be read any more: {error.strerror}")
        else:
            if before is not None:
                return before, now
            self._note(path, f"it had more than {MAX_FILE_BYTES} bytes")
        return None

    def _note(self, path: str, reason: str) -> None:
        self.problems[path] = f"not compared, so that all its violations count as new: {path}: {reason}"

    def _on_unchanged_lines(self, violations: Sequence[Violation], before: bytes, now: bytes) -> list[Violation]:
        """Return what commands found on lines that are as they were; a number that no line has is on none."""
        told = [each for each in violations if each.check_id in self._commands]
        changed = changed_lines(self._git, before, now) if told else None
        if changed is None:
            return []
        lines = range(1, now.count(b"\n") + (not now.endswith(b"\n")) + 1)
        return [each for each in told if each.line in lines and not any(each.line in some for some in changed)]

    def _is_written(self, folder: Path, path: str, content: bytes) -> bool:
        try:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        except OSError as error:
            self._note(path, f"it cannot be written: {error.strerror}")
            return False
        return True

    def _at_base(
        self,
        folder: Path,
        paths: Sequence[str],
        violations: Sequence[Violation],
        timeout_s: float,
        on_progress: Callable[[str], None],
    ) -> Sequence[Violation]:
        """Return the violations that files of the commit, written below a folder, have as well."""
        _copy_settings(self._root, folder)
        report = listed(folder, paths, self._options, timeout_s=timeout_s, on_progress=on_progress)
        for left in report.unchecked:
            self._note(left.path, left.reason)
        mended = {each.path for each in report.violations if each.check_id == SYNTAX_ERROR}
        mended -= {each.path for each in violations if each.check_id == SYNTAX_ERROR}
        told = f"did not parse in {self._commit[:12]}, so that what ruff finds there counts as new"
        self.problems |= {path: f"{path} {told}" for path in mended}
        return by_age(violations, report.violations).old


def _copy_settings(root: Path, folder: Path) -> None:
    """Copy the present settings of the linter, so that both listings are made with the same."""
    for name in CONFIG_FILES:
        try:
            (folder / name).write_bytes(read_below(root, name, MAX_BYTES))
        except OSError:
            # The listing of the repository has said what is wrong with it.
            continue


def _shown(notes: Sequence[str]) -> list[str]:
    """Return the first few of the notes on files, and how many there are more."""
    more = len(notes) - _TOLD
    return [*map(visible_line, notes[:_TOLD]), *([f"not compared: {more} further files"] if more > 0 else [])]
