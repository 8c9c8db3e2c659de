"""Plans one `jeeves fix`: which violations are tried, in which order, and how tests are run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from actors.capabilities.violation_fix.checks.listing import LISTING, report_of
from actors.capabilities.violation_fix.checks.options import CheckOptions, checked_options
from actors.capabilities.violation_fix.checks.project_rules import project_checks
from actors.capabilities.violation_fix.checks.violation import CheckReport, Violation
from actors.capabilities.violation_fix.policies.fix_rules import GOALS
from actors.capabilities.violation_fix.verification.test_runs import TestLimits
from actors.capabilities.violation_fix.verification.test_setup import test_setup
from runtime.codebase.files.consent import Consent
from runtime.codebase.git.git_folder import find_git_folder
from runtime.codebase.git.git_writer import GitWriter
from runtime.codebase.git.linked_trees import COLLECTED_PREFIX
from runtime.codebase.git.side_branches import close_side_tree, open_side_tree
from runtime.codebase.git.writable import writable
from runtime.errors import GitWriteError, InputError
from runtime.primitives.clock import SystemClock
from runtime.processes.worker_pool import WorkerPool
from runtime.settings import Settings
from serve.batch.fix_record import FixPlan, FixRecord

LISTING_TIMEOUT_S = 900.0
MAX_MEMORY_BYTES = 4 * 1024**3
DEFAULT_LINE_LENGTH = 88


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
        CheckOptions(select=choices.select, max_complexity=choices.max_complexity, rules=project.rules)
    )
    branch = f"{COLLECTED_PREFIX}{fix_id}"
    # What is committed is mended, whatever the folder of the person holds beside it.
    tree = open_side_tree(root, branch, settings.state_dir / "fixes" / "trees" / fix_id, base)
    try:
        report = _listed(Path(tree.folder), choices.paths, options)
        wanted = _chosen(report.violations, choices.ids)
    except BaseException:
        close_side_tree(root, tree)
        raise
    tried, left = _split(wanted, settings.reasoner == "rules")
    if choices.limit is not None:
        left += [_left(each, f"--limit is {choices.limit}") for each in tried[choices.limit :]]
        tried = tried[: choices.limit]
    setup = test_setup(
        root,
        python=choices.python,
        command=shlex.split(choices.test_command) if choices.test_command else None,
        allowed_command=project.test_command,
    )
    if not tried:
        close_side_tree(root, tree)
    record = FixRecord(settings.state_dir / "fixes", fix_id)
    shared: dict[str, Any] = {
        "repository": top,
        "branch": branch,
        "collected": str(settings.state_dir / "fixes" / "trees" / fix_id),
        "base_commit": base,
        "baseline_file": str(record.baseline_file),
        "setup": msgspec.to_builtins(setup),
        "options": msgspec.to_builtins(options),
        "test_limits": msgspec.to_builtins(TestLimits()),
        "line_length": choices.line_length or _line_length(root),
        "includes_untested": choices.includes_untested,
        "confirm": choices.confirm,
        "review": choices.review,
        "dry_run": choices.is_dry_run,
    }
    requests = tuple(
        {**shared, "name": f"{fix_id}-{number}", "violation": msgspec.to_builtins(each)}
        for number, each in enumerate(tried, 1)
    )
    notes = (*project.notes, *report.notes, *setup.told)
    plan = FixPlan(
        fix_id=fix_id,
        repository=top,
        base_commit=base,
        branch=branch,
        created_at_ms=SystemClock().now_ms(),
        requests=requests,
        left=tuple(left),
        told=notes,
        concurrency=choices.concurrency,
        is_dry_run=choices.is_dry_run,
        reasoner=settings.reasoner,
    )
    record.begin(plan)
    return plan, record


def _top(root: Path) -> str:
    """Return the folder of a repository of which nothing is committed. Raises GitWriteError."""
    folder = find_git_folder(root)
    if folder is None or folder.top != root:
        raise GitWriteError(f"{root} is not the folder of a git repository; `git init` and a first commit make it one")
    return str(folder.top)


def _listed(root: Path, paths: Sequence[str], options: CheckOptions) -> CheckReport:
    pool = WorkerPool(size=1, kept=0, memory_bytes=MAX_MEMORY_BYTES)
    try:
        given = {"root": str(root), "paths": list(paths), "options": options}
        return report_of(pool.call_blocking(LISTING, given, timeout_s=LISTING_TIMEOUT_S))
    finally:
        pool.close()


def _chosen(found: Sequence[Violation], ids: Sequence[str]) -> list[Violation]:
    if not ids:
        return list(found)
    unknown = sorted(set(ids) - {each.violation_id for each in found})
    if unknown:
        raise InputError(f"no violation has the id {', '.join(unknown)}; `jeeves check --json` lists them")
    return [each for each in found if each.violation_id in ids]


def _split(wanted: Sequence[Violation], by_rules: bool) -> tuple[list[Violation], list[dict[str, Any]]]:
    """Return the violations that can be tried, smallest excess first in each file, and the others with the reason."""
    tried, left = [], []
    for each in wanted:
        is_known = each.check_id in GOALS or each.fix == "safe"
        if each.check_id == "syntax-error":
            left.append(_left(each, "the file does not parse"))
        elif by_rules and not is_known:
            left.append(_left(each, f"no rule mends {each.check_id}; a model may (--reasoner llm)"))
        elif each.check_id in GOALS and not each.path.endswith(".py"):
            left.append(_left(each, "only Python is refactored"))
        else:
            tried.append(each)
    return sorted(tried, key=lambda each: (each.path, each.measured or 0, each.line)), left


def _left(violation: Violation, reason: str) -> dict[str, Any]:
    told = {"violation_id": violation.violation_id, "check_id": violation.check_id, "path": violation.path}
    return {**told, "line": violation.line, "symbol": violation.symbol, "reason": reason}


def _line_length(root: Path) -> int:
    """Return the longest line that the project's settings of its formatter or linter allow."""
    import tomllib

    from runtime.codebase.files.regular_file import read_below

    for name, keys in (("ruff.toml", ((),)), ("pyproject.toml", (("tool", "ruff"), ("tool", "black")))):
        try:
            document = tomllib.loads(read_below(root, name, 1_000_000).decode("utf-8"))
        except (OSError, ValueError):
            continue  # not there, or not to be read: the default stands
        for path in keys:
            table: Any = document
            for key in path:
                table = table.get(key, {}) if isinstance(table, dict) else {}
            length = table.get("line-length") if isinstance(table, dict) else None
            if isinstance(length, int) and 40 <= length <= 1_000:
                return length
    return DEFAULT_LINE_LENGTH
