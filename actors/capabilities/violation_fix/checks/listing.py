"""Lists the conformance violations of a repository, or of some of its files.

Files are parsed and patterns matched here, which a hostile file can make endless: call `LISTING` in a worker process
(`runtime/processes`), which is killed at its time limit; a listing of a few files that an agent works on may run in a
thread that is called off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from actors.capabilities.violation_fix.checks.linter import run_linter
from actors.capabilities.violation_fix.checks.options import (
    STRUCTURE_CHECKS,
    UNUSED_EXCEPTION,
    CheckOptions,
    checked_options,
)
from actors.capabilities.violation_fix.checks.place_exceptions import PlaceExceptions
from actors.capabilities.violation_fix.checks.project_rules import LineRules, command_findings
from actors.capabilities.violation_fix.checks.source_files import read_source, source_files
from actors.capabilities.violation_fix.checks.structure_check import InnermostSymbols, structure_findings
from actors.capabilities.violation_fix.checks.violation import (
    CheckReport,
    Finding,
    Unchecked,
    joined_blanks,
    with_ids,
)
from runtime.codebase.files.source_text import SourceText
from runtime.codebase.parsing.parse import parse
from runtime.codebase.parsing.syntax import CALLABLE_KINDS, CONTAINER_KINDS, Symbol

LISTING = "actors.capabilities.violation_fix.checks.listing:list_in_process"
LINTED = "python"
NOTED_FILES = 25

Note = Callable[[Any], None]


def list_in_process(note: Note, root: str, paths: Sequence[str], options: CheckOptions) -> dict[str, Any]:
    """Return a CheckReport as plain data, for `report_of`; `note` is given (steps done, steps in all) now and then."""
    report = list_violations(Path(root), paths, options, lambda done, total: note((done, total)))
    plain: dict[str, Any] = msgspec.to_builtins(report)
    return plain


def report_of(plain: Any) -> CheckReport:
    """Return the report that `list_in_process` gave as plain data."""
    return msgspec.convert(plain, CheckReport)


def list_violations(
    root: Path,
    paths: Sequence[str],
    options: CheckOptions,
    on_progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> CheckReport:
    """Return the violations of the files with code below `root`, or among `paths`.

    Raises InputError for options or paths that cannot be used, RepositoryError for a root that cannot be listed, and
    MachineError where the linter is missing.
    """
    checked_options(options)
    files = source_files(root, paths)
    readable: dict[str, str] = {}
    unchecked = list(files.unchecked)
    for path, language in files.languages.items():
        source, why = read_source(root, path)
        if source is None:
            unchecked.append(Unchecked(path, why))
        else:
            readable[path] = language
    steps = 2 * len(readable)
    linted = [path for path, language in readable.items() if language == LINTED]
    by_linter = run_linter(root, linted, options, lambda done: on_progress(done, steps))
    by_commands, failed = command_findings(root, options.chosen_rules(), readable)
    placed = _placed(root, readable, [*by_linter.findings, *by_commands], options, on_progress, has_failed=bool(failed))
    unchecked += [*by_linter.unchecked, *placed.changed]
    is_whole = files.is_whole and not failed and len(unchecked) == len(files.unchecked)
    return CheckReport(
        with_ids(placed.found),
        len(readable),
        tuple(sorted(set(unchecked))),
        (*files.notes, *by_linter.notes, *failed),
        is_whole,
        placed.excused,
    )


class _Placed(NamedTuple):
    """Holds findings, the files that changed meanwhile, and how many findings comments excuse."""

    found: list[Finding]
    changed: list[Unchecked]
    excused: int


def _placed(
    root: Path,
    files: Mapping[str, str],
    given: Iterable[Finding],
    options: CheckOptions,
    on_progress: Callable[[int, int], None],
    *,
    has_failed: bool,
) -> _Placed:
    """Return findings with their symbols and lines, those of our own checks added, without those that are excused.

    `has_failed`: whether commands of rules did, so that what they would have found is not known.
    """
    by_path: dict[str, list[Finding]] = {}
    for each in given:
        by_path.setdefault(each.path, []).append(each)
    lines = LineRules(options.chosen_rules())
    measures = any(options.has(check) for check in STRUCTURE_CHECKS)
    ran = {each for each in STRUCTURE_CHECKS if options.has(each)}
    ran |= {each.id for each in options.chosen_rules() if each.pattern or not has_failed}
    own = ran | {each.id for each in options.chosen_rules()}
    found: list[Finding] = []
    excused = 0
    unchecked = []
    for number, (path, language) in enumerate(files.items(), 1):
        source, why = read_source(root, path)
        if source is None:
            unchecked.append(Unchecked(path, why))
            continue
        of_file = by_path.get(path, []) + lines.findings(path, source)
        exceptions = PlaceExceptions(source) if own and not options.ignore_noqa else None
        if of_file or measures or exceptions:
            symbols = parse(source, path, language).symbols
            measured = structure_findings(source, path, language, symbols, options) if measures else []
            if exceptions:
                of_file = exceptions.without_excused(of_file, own)
                measured = exceptions.without_excused(measured, own)
                excused += exceptions.excused
                of_file += exceptions.unused(path, ran) if UNUSED_EXCEPTION not in options.ignore else []
            found += [*_with_symbols(of_file, symbols, source), *measured]
        if number % NOTED_FILES == 0 or number == len(files):
            on_progress(len(files) + number, 2 * len(files))
    return _Placed(found, unchecked, excused)


def _with_symbols(findings: Sequence[Finding], symbols: Sequence[Symbol], source: SourceText) -> list[Finding]:
    innermost = InnermostSymbols([each for each in symbols if _is_inside_file(each)])
    made = []
    for each in sorted(findings):
        text = source.lines[each.line - 1] if 0 < each.line <= len(source.lines) else ""
        around = innermost.at(each.line)
        symbol = around.qualified_name if around is not None else ""
        made.append(msgspec.structs.replace(each, symbol=symbol, text=joined_blanks(text)))
    return made


def _is_inside_file(symbol: Symbol) -> bool:
    """Return whether a symbol is one inside a file: a Python file itself is listed as a module."""
    is_file = symbol.kind == "module" and symbol.parent is None and symbol.start_line == 1
    return not is_file and symbol.kind in CALLABLE_KINDS | CONTAINER_KINDS
