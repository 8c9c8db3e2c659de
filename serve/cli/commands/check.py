"""Runs `jeeves check`: lists conformance violations of a repository."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from runtime.errors import InputError, MachineError
from runtime.settings import Settings
from serve.cli.command_settings import load_command_settings
from serve.cli.inputs import checked_repository
from serve.cli.output.display import display_for
from serve.cli.output.terminal import counted, say_json, say_line, warn_line

if TYPE_CHECKING:
    from actors.capabilities.violation_fix.checks.options import CheckOptions
    from actors.capabilities.violation_fix.checks.violation import CheckReport, Violation
    from serve.batch.base_comparison import Comparison

FOUND_SOME = 1
FAILED = 2
MAX_NAMED = 20


def check(
    paths: Annotated[
        list[str] | None, typer.Argument(help="Files and folders below the repository; none: all.")
    ] = None,
    repo: Annotated[Path, typer.Option(readable=False, help="Folder of the repository.")] = Path(),
    select: Annotated[
        str, typer.Option(help="Checks, with commas: rules of ruff, long-function, deep-nesting, project.")
    ] = "",
    ignore: Annotated[str, typer.Option(help="Checks to leave out, with commas.")] = "",
    max_complexity: Annotated[int, typer.Option(help="Highest cyclomatic complexity of a function.")] = 10,
    max_function_lines: Annotated[int, typer.Option(help="Most lines of a function.")] = 100,
    max_nesting: Annotated[int, typer.Option(help="Deepest nesting of blocks in a function.")] = 5,
    ignore_noqa: Annotated[bool, typer.Option("--ignore-noqa", help="Report what comments excuse, too.")] = False,
    project_config: Annotated[
        bool, typer.Option("--project-config", help="Choose rules as the repository's settings of ruff do.")
    ] = False,
    new_since: Annotated[
        str | None,
        typer.Option(
            help="Branch or commit: what it has, or had where HEAD left it, is told as old and fails nothing."
        ),
    ] = None,
    counts: Annotated[
        bool, typer.Option("--counts", help="Print how many violations of each check there are.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit status 2 if a rule did not run or a file was not checked.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    timeout_s: Annotated[float, typer.Option(help="Seconds that the whole listing may take.")] = 900.0,
    config: Annotated[Path | None, typer.Option(readable=False, help="Settings file.")] = None,
) -> None:
    """List conformance violations; exit status 0: none, 1: some, 2: not listed, or with --strict not all."""
    from actors.capabilities.violation_fix.checks.options import DEFAULT_SELECTION, CheckOptions

    settings = load_command_settings(config)
    root = Path(checked_repository(repo))
    if not timeout_s > 0:
        raise InputError(f"--timeout-s is {timeout_s:g}; it is more than 0")
    options = CheckOptions(
        select=_names(select) or DEFAULT_SELECTION,
        ignore=_names(ignore),
        max_complexity=max_complexity,
        max_function_lines=max_function_lines,
        max_nesting=max_nesting,
        ignore_noqa=ignore_noqa,
        uses_project_config=project_config,
    )
    if new_since is not None and not new_since.strip():
        raise InputError("--new-since is empty; name a branch or commit, or leave it out")
    try:
        report, comparison = _listed(settings, root, paths or [], options, new_since, timeout_s)
    except MachineError as error:
        warn_line(f"jeeves: {error.message}")
        raise typer.Exit(FAILED) from None
    if as_json:
        say_json(_document(root, report, comparison))
    else:
        _tell(report, comparison, only_counts=counts)
    _exit(report, strict=strict)


def _exit(report: CheckReport, *, strict: bool) -> None:
    if strict and not report.is_whole:
        warn_line("jeeves: not everything was checked, which --strict does not allow")
        raise typer.Exit(FAILED)
    if report.violations:
        raise typer.Exit(FOUND_SOME)


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def _listed(
    settings: Settings, root: Path, paths: list[str], options: CheckOptions, new_since: str | None, timeout_s: float
) -> tuple[CheckReport, Comparison | None]:
    """Return what is found, without what is old where a base commit is named."""
    from actors.capabilities.violation_fix.checks.options import PROJECT_RULES, checked_options
    from actors.capabilities.violation_fix.checks.project_rules import project_checks
    from runtime.codebase.files.consent import Consent
    from serve.batch.base_comparison import compared
    from serve.batch.check_listing import listed

    project = project_checks(root, Consent(settings.state_dir))
    options = checked_options(msgspec.structs.replace(options, rules=project.rules), project.notes)
    comparison = None
    ends_at_s = time.monotonic() + timeout_s
    with display_for(sys.stderr.isatty()) as display:
        report = listed(root, paths, options, timeout_s=timeout_s, on_progress=display.status)
        if new_since is not None:
            comparison = compared(
                root,
                report,
                options,
                new_since,
                timeout_s=max(ends_at_s - time.monotonic(), 1.0),
                on_progress=display.status,
            )
    is_whole = report.is_whole and not (project.notes and options.has(PROJECT_RULES))
    notes = (*project.notes, *report.notes, *(comparison.notes if comparison is not None else ()))
    violations = comparison.new if comparison is not None else report.violations
    return msgspec.structs.replace(report, violations=violations, notes=notes, is_whole=is_whole), comparison


def _document(root: Path, report: CheckReport, comparison: Comparison | None) -> dict[str, Any]:
    told: dict[str, Any] = {"root": str(root), "counts": _counts(report), **msgspec.to_builtins(report)}
    if comparison is not None:
        told |= {
            "base_commit": comparison.commits[0],
            "base_commits": comparison.commits,
            "old": msgspec.to_builtins(comparison.old),
        }
    return told


def _counts(report: CheckReport) -> dict[str, int]:
    return dict(sorted(Counter(each.check_id for each in report.violations).items()))


def _tell(report: CheckReport, comparison: Comparison | None, *, only_counts: bool) -> None:
    for note in report.notes:
        warn_line(f"jeeves: {note}")
    for left in report.unchecked[:MAX_NAMED]:
        warn_line(f"not checked: {left.path}: {left.reason}")
    if len(report.unchecked) > MAX_NAMED:
        warn_line(f"not checked: {len(report.unchecked) - MAX_NAMED} further files; --json names them")
    if only_counts:
        for name, count in _counts(report).items():
            say_line(f"{count:6}  {name}")
    else:
        _table(report.violations) if sys.stdout.isatty() else _lines(report.violations)
    in_files = len({each.path for each in report.violations})
    checked = counted(report.checked, "file")
    kind = "violation" if comparison is None else "new violation"
    if report.violations:
        say_line(f"{counted(len(report.violations), kind)} in {in_files} of {checked}")
    else:
        say_line(f"no {kind}s in {checked}")
    if report.excused:
        say_line(f"{counted(report.excused, 'violation')} excused by a comment; --ignore-noqa lists all")
    if comparison is not None and comparison.old:
        commits = " or ".join(each[:12] for each in comparison.commits)
        say_line(f"{counted(len(comparison.old), 'old violation')}, there already in {commits}")


def _lines(violations: tuple[Violation, ...]) -> None:
    for each in violations:
        say_line(f"{each.path}:{each.line}:{each.column}: {each.check_id} {each.message} [{each.violation_id}]")


def _table(violations: tuple[Violation, ...]) -> None:
    """Print one block for each file, its rows in columns."""
    rows = [(f"{each.line}:{each.column}", each.violation_id, each.message) for each in violations]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    path = ""
    for each, row in zip(violations, rows, strict=True):
        if each.path != path:
            path = each.path
            say_line(path)
        say_line(f"  {row[0]:>{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}")
