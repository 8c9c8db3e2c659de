"""Tells old violations of a branch from new ones by those of its base commit, for `jeeves check`."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from actors.capabilities.violation_fix.checks.linter_config import CONFIG_FILES, MAX_BYTES
from actors.capabilities.violation_fix.checks.new_violations import by_age
from actors.capabilities.violation_fix.checks.options import CheckOptions
from actors.capabilities.violation_fix.checks.source_files import MAX_FILE_BYTES
from actors.capabilities.violation_fix.checks.violation import CheckReport, Violation
from runtime.codebase.files.regular_file import read_below
from runtime.codebase.git.base_files import BaseFile, base_files, branch_start, changed_lines, content_of
from runtime.codebase.git.git_process import Git
from runtime.errors import RepositoryError
from runtime.primitives.visible_text import visible_line
from serve.batch.check_listing import listed

_TOLD = 5


class Comparison(msgspec.Struct, frozen=True):
    """Holds the commit that a branch began at, the violations that are new since, those that are old, and notes."""

    commit: str
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
    """Return which violations of a report are new since the branch of HEAD left `revision`.

    The checks run on the base commit's files with the options of the report. What a command of the project found is new
    where its line was changed. Raises InputError for a revision that cannot be used, RepositoryError where git fails.
    """
    git = Git(root)
    commit = branch_start(git, revision)
    files = base_files(git, commit, sorted({each.path for each in report.violations}))
    commands = frozenset(rule.id for rule in options.chosen_rules() if rule.command)
    told = [each for each in report.violations if each.check_id in commands and each.path in files.changed]
    asked = [each for each in report.violations if each.check_id not in commands and each.path in files.changed]
    unchanged = [each for each in report.violations if each.path in files.unchanged]
    with tempfile.TemporaryDirectory(prefix="jeeves-check-") as name:
        folder = Path(name).resolve()
        wanted = {path: files.changed[path] for path in sorted({each.path for each in asked})}
        written, notes = _written(git, wanted, folder)
        _copy_settings(root, folder)
        options = msgspec.structs.replace(options, ignore=(*options.ignore, *sorted(commands)))
        base = listed(folder, written, options, timeout_s=timeout_s, on_progress=on_progress) if written else None
    if base is not None:
        notes += [f"{each.path}: {each.reason}" for each in base.unchecked]
    old = {
        each.violation_id
        for each in (
            *unchanged,
            *by_age(asked, base.violations if base is not None else ()).old,
            *_on_unchanged_lines(git, commit, told, files.changed),
        )
    }
    return Comparison(
        commit,
        tuple(each for each in report.violations if each.violation_id not in old),
        tuple(each for each in report.violations if each.violation_id in old),
        tuple(_shown(notes)),
    )


def _written(git: Git, files: Mapping[str, BaseFile], folder: Path) -> tuple[list[str], list[str]]:
    """Write files of the base commit below a folder by their present paths; return these, and notes on the others."""
    written = []
    notes = []
    for path, file in files.items():
        try:
            content = content_of(git, file, MAX_FILE_BYTES)
            if content is None:
                notes.append(f"{path}: it had more than {MAX_FILE_BYTES} bytes")
                continue
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        except RepositoryError as error:
            notes.append(f"{path}: {error.message}")
        except OSError as error:
            notes.append(f"{path}: it cannot be written: {error.strerror}")
        else:
            written.append(path)
    return written, notes


def _copy_settings(root: Path, folder: Path) -> None:
    """Copy the present settings of the linter, so that both listings are made with the same."""
    for name in CONFIG_FILES:
        try:
            (folder / name).write_bytes(read_below(root, name, MAX_BYTES))
        except OSError:
            # The listing of the repository has said what is wrong with it.
            continue


def _on_unchanged_lines(
    git: Git, commit: str, violations: Sequence[Violation], files: Mapping[str, BaseFile]
) -> list[Violation]:
    by_path = {
        path: changed_lines(git, commit, path, files[path]) for path in sorted({each.path for each in violations})
    }
    return [
        each
        for each in violations
        if (lines := by_path[each.path]) is not None and not any(each.line in some for some in lines)
    ]


def _shown(places: Sequence[str]) -> list[str]:
    """Return a note for each file that was not compared, the first few by name."""
    told = [f"not compared, so that all its violations count as new: {visible_line(each)}" for each in places[:_TOLD]]
    more = len(places) - _TOLD
    return [*told, f"not compared: {more} further files"] if more > 0 else told
