"""Plans one `jeeves fix`: which violations are tried, in which order, and how tests are run."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from actors.capabilities.violation_fix.checks.line_length import line_length_of
from actors.capabilities.violation_fix.checks.options import CheckOptions, checked_options
from actors.capabilities.violation_fix.checks.project_rules import project_checks
from actors.capabilities.violation_fix.checks.violation import CheckReport, Violation
from actors.capabilities.violation_fix.policies.fix_rules import GOALS
from actors.capabilities.violation_fix.verification.comparison import with_fault_checks
from actors.capabilities.violation_fix.verification.test_runs import TestLimits
from actors.capabilities.violation_fix.verification.test_setup import test_setup
from runtime.codebase.files.consent import Consent
from runtime.codebase.git.git_folder import find_git_folder
from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.git.linked_trees import COLLECTED_PREFIX
from runtime.codebase.git.side_branches import close_side_tree, open_side_tree
from runtime.codebase.git.tree_places import FIX_TREES, FIXES_FOLDER
from runtime.codebase.git.writable import writable
from runtime.errors import GitWriteError, InputError
from runtime.primitives.clock import SystemClock
from runtime.settings import Settings
from serve.batch.check_listing import listed
from serve.batch.fix_record import FixPlan, FixRecord
from serve.batch.generated_files import is_generated

MAX_NAMED = 20


class FixChoices(msgspec.Struct, frozen=True):
    """Holds what the person chose. `ids`: of violations; none: all that are selected."""

    paths: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    max_complexity: int = 10
    limit: int | None = None
    concurrency: int = 1
    python: str | None = None
    test_command: str | None = None
    includes_untested: bool = False
    is_dry_run: bool = False
    confirm: bool = False
    review: bool = False
    line_length: int | None = None


def planned(settings: Settings, root: Path, choices: FixChoices, fix_id: str) -> tuple[FixPlan, FixRecord]:
    """Return the plan, and its record, which is written. Raises InputError and GitWriteError."""
    top = _top(root) if choices.is_dry_run else writable(root).top
    with GitWriter(root) as git:
        base = git.commit_of("HEAD")
    if base is None:
        raise InputError(f"{root} has no commit yet; make a first one, so that there is something to go back to")
    project = project_checks(root, Consent(settings.state_dir))
    options = checked_options(
        CheckOptions(select=choices.select, max_complexity=choices.max_complexity, rules=project.rules), project.notes
    )
    setup = test_setup(
        root,
        python=choices.python,
        command=_command(choices.test_command, root),
        allowed_command=project.test_command,
    )
    branch = f"{COLLECTED_PREFIX}{fix_id}"
    # What is committed is mended, whatever the folder of the person holds beside it.
    tree = open_side_tree(root, branch, settings.state_dir / FIX_TREES / fix_id, base)
    try:
        report = listed(Path(tree.folder), [_below(root, path) for path in choices.paths], options)
        tried, left = _split(Path(tree.folder), _chosen(report.violations, choices.ids), choices, settings.reasoner)
        record = FixRecord(settings.state_dir / FIXES_FOLDER, fix_id)
        shared = _shared(settings, choices, fix_id) | {
            "repository": top,
            "base_commit": base,
            "baseline_file": str(record.baseline_file),
            "setup": msgspec.to_builtins(setup),
            "options": msgspec.to_builtins(with_fault_checks(options)),
        }
        plan = FixPlan(
            fix_id=fix_id,
            repository=top,
            base_commit=base,
            branch=branch,
            created_at_ms=SystemClock().now_ms(),
            requests=tuple(
                {
                    **shared,
                    "name": f"{fix_id}-{number}",
                    "violation": msgspec.to_builtins(each),
                    "line_length": choices.line_length or line_length_of(Path(tree.folder), each.path),
                }
                for number, each in enumerate(tried, 1)
            ),
            left=tuple(left),
            told=(*project.notes, *report.notes, *_unchecked(report), *setup.told),
            concurrency=choices.concurrency,
            is_dry_run=choices.is_dry_run,
            reasoner=settings.reasoner,
        )
        record.begin(plan)
    except BaseException:
        close_side_tree(root, tree)
        raise
    if not tried:
        close_side_tree(root, tree)
    return plan, record


def _shared(settings: Settings, choices: FixChoices, fix_id: str) -> dict[str, Any]:
    """Return what the requests of a plan have in common by the person's choice."""
    return {
        "branch": f"{COLLECTED_PREFIX}{fix_id}",
        "collected": str(settings.state_dir / FIX_TREES / fix_id),
        "test_limits": msgspec.to_builtins(TestLimits()),
        "includes_untested": choices.includes_untested,
        "confirm": choices.confirm,
        "review": choices.review,
        "dry_run": choices.is_dry_run,
        "asks_model": settings.reasoner != "rules",
    }


def _command(given: str | None, root: Path) -> list[str] | None:
    try:
        parts = shlex.split(given) if given is not None else None
    except ValueError as error:
        raise InputError(f"--test-command {given} cannot be split into words: {error}") from error
    if parts == []:
        raise InputError("--test-command is empty; name the program that runs the tests")
    if parts is not None and shutil.which(parts[0]) is None and shutil.which(root / parts[0]) is None:
        raise InputError(f"--test-command {given}: {parts[0]} is no program that can be run, here or in {root}")
    return parts


def _below(root: Path, path: str) -> str:
    """Return a path of the person's folder as one below the repository, where it is one."""
    if "\0" in path:
        return path  # refused where it is looked up
    place = Path(os.path.abspath(path))  # noqa: PTH100 - a link is refused later, and so must not be followed here
    is_there = place.exists() or place.is_symlink()
    return place.relative_to(root).as_posix() if is_there and place.is_relative_to(root) else path


def _unchecked(report: CheckReport) -> list[str]:
    told = [f"not checked: {each.path}: {each.reason}" for each in report.unchecked[:MAX_NAMED]]
    more = len(report.unchecked) - MAX_NAMED
    return [*told, f"not checked: {more} further files; `jeeves check` names them"] if more > 0 else told


def _top(root: Path) -> str:
    """Return the folder of a repository of which nothing is committed. Raises GitWriteError."""
    folder = find_git_folder(root)
    if folder is None or folder.top != root:
        raise GitWriteError(f"{root} is not the folder of a git repository; `git init` and a first commit make it one")
    return str(folder.top)


def _chosen(found: Sequence[Violation], ids: Sequence[str]) -> list[Violation]:
    if not ids:
        return list(found)
    unknown = sorted(set(ids) - {each.violation_id for each in found})
    if unknown:
        raise InputError(f"no violation has the id {', '.join(unknown)}; `jeeves check --json` lists them")
    return [each for each in found if each.violation_id in ids]


def _split(
    root: Path, wanted: Sequence[Violation], choices: FixChoices, reasoner: str
) -> tuple[list[Violation], list[dict[str, Any]]]:
    """Return the violations that can be tried, smallest excess first in each file, and the others with the reason."""
    tried, left = [], []
    made = {path for path in {each.path for each in wanted} if not choices.ids and is_generated(root, path)}
    for each in wanted:
        is_known = each.check_id in GOALS or each.fix == "safe"
        if each.check_id == "syntax-error":
            left.append(_left(each, "the file does not parse"))
        elif each.path in made:
            left.append(_left(each, "a program makes the file; --violation with its id mends it all the same"))
        elif reasoner == "rules" and not is_known:
            left.append(_left(each, f"no rule mends {each.check_id}; a model may (--reasoner llm)"))
        elif each.check_id in GOALS and not each.path.endswith(".py"):
            left.append(_left(each, "only Python is refactored"))
        else:
            tried.append(each)
    tried.sort(key=lambda each: (each.path, each.measured or 0, each.line))
    if choices.limit is not None:
        left += [_left(each, f"--limit is {choices.limit}") for each in tried[choices.limit :]]
        tried = tried[: choices.limit]
    return tried, left


def _left(violation: Violation, reason: str) -> dict[str, Any]:
    told = {"violation_id": violation.violation_id, "check_id": violation.check_id, "path": violation.path}
    return {**told, "line": violation.line, "symbol": violation.symbol, "reason": reason}
