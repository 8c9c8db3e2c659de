"""Lists the conformance violations of a repository, or of some of its files.

Files are parsed and patterns matched here, which a hostile file can make endless: call `LISTING` in a worker process
(`runtime/processes`), which is killed at its time limit; a listing of a few files that an agent works on may run in a
thread that is called off.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from actors.capabilities.violation_fix.checks.command_rules import Nameable, command_findings
from actors.capabilities.violation_fix.checks.linter import run_linter
from actors.capabilities.violation_fix.checks.options import (
    STRUCTURE_CHECKS,
    UNUSED_EXCEPTION,
    CheckOptions,
    checked_options,
)
from actors.capabilities.violation_fix.checks.place_exceptions import PlaceExceptions
from actors.capabilities.violation_fix.checks.project_rules import LineRules
from actors.capabilities.violation_fix.checks.source_files import read_source, source_files
from actors.capabilities.violation_fix.checks.structure_check import (
    NOTHING_MEASURED,
    InnermostSymbols,
    Measured,
    structure_findings,
)
from actors.capabilities.violation_fix.checks.violation import (
    CheckReport,
    Finding,
    Unchecked,
    joined_blanks,
    with_ids,
)
from runtime.codebase.files.source_text import SourceText
from runtime.codebase.index.parsing_processes import FATAL
from runtime.codebase.parsing.parse import parse
from runtime.codebase.parsing.parse_limit import PARSE_LIMIT, UNCHECKED_BYTES
from runtime.codebase.parsing.syntax import CALLABLE_KINDS, CONTAINER_KINDS, Symbol

LISTING = "actors.capabilities.violation_fix.checks.listing:list_in_process"
LINTED = "python"
NOTED_FILES = 25

Note = Callable[[Any], None]


def list_in_process(
    note: Note, root: str, paths: Sequence[str], options: CheckOptions, unparsed: Sequence[str] = ()
) -> dict[str, Any]:
    """Return a CheckReport as plain data, for `report_of`.

    `note` is given (steps done, steps in all) now and then, and the path of each larger file before it is parsed, which
    may end the process. `unparsed`: files that did, which are read as text.
    """
    report = list_violations(
        Path(root),
        paths,
        options,
        on_progress=lambda done, total: note((done, total)),
        on_parsing=note,
        unparsed=unparsed,
    )
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
    on_parsing: Callable[[str], None] = lambda _path: None,
    unparsed: Collection[str] = (),
) -> CheckReport:
    """Return the violations of the files with code below `root`, or among `paths`.

    `on_parsing` is given the path of each larger file before it is parsed; those that are `unparsed` are read as text.
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
    nameable = {*files.languages, *files.others}
    told = Nameable(root, nameable, files.is_asked, [path for path in sorted(nameable) if ":" in path])
    by_commands, failed = command_findings(options.chosen_rules(), told)
    placing = _Placing(root, options, on_parsing, unparsed, has_failed=bool(failed))
    placing.place(readable, [*by_linter.findings, *by_commands], lambda done: on_progress(len(readable) + done, steps))
    unchecked += [*by_linter.unchecked, *placing.unchecked]
    is_whole = files.is_whole and not failed and len(unchecked) == len(files.unchecked)
    return CheckReport(
        with_ids(placing.found),
        len(readable),
        tuple(sorted(set(unchecked))),
        (*files.notes, *by_linter.notes, *failed),
        is_whole,
        placing.excused,
    )


class _Placing:
    """Gives findings their symbols and lines, adds those of our own checks, and leaves out those that are excused.

    `unchecked`: files that changed meanwhile, or whose functions could not be measured. `has_failed`: whether commands
    of rules did, so that what they would have found is not known.
    """

    def __init__(
        self,
        root: Path,
        options: CheckOptions,
        on_parsing: Callable[[str], None],
        unparsed: Collection[str],
        *,
        has_failed: bool,
    ) -> None:
        self.found: list[Finding] = []
        self.unchecked: list[Unchecked] = []
        self.excused = 0
        self._root = root
        self._options = options
        self._on_parsing = on_parsing
        self._unparsed = unparsed
        rules = options.chosen_rules()
        self._lines = LineRules(rules)
        self._structure = {each for each in STRUCTURE_CHECKS if options.has(each)}
        self._own = self._structure | {each.id for each in rules}
        self._ran = self._structure | {each.id for each in rules if each.pattern or not has_failed}

    def place(self, files: Mapping[str, str], given: Iterable[Finding], on_progress: Callable[[int], None]) -> None:
        """Take what was found in files, by path with their language, and in others that commands name."""
        by_path: dict[str, list[Finding]] = {}
        for each in given:
            by_path.setdefault(each.path, []).append(each)
        for number, (path, language) in enumerate(files.items(), 1):
            source, why = read_source(self._root, path)
            if source is None:
                self.unchecked.append(Unchecked(path, why))
            else:
                self._check(path, language, source, by_path.get(path, []))
            if number % NOTED_FILES == 0 or number == len(files):
                on_progress(number)
        for path in sorted(by_path.keys() - files.keys()):
            source, _ = read_source(self._root, path)
            source = source or SourceText("", "")
            self._take(path, source, by_path[path], self._exceptions(source))

    def _check(self, path: str, language: str, source: SourceText, given: Sequence[Finding]) -> None:
        of_file = [*given, *self._lines.findings(path, source)]
        if path in self._unparsed:
            PARSE_LIMIT.refuse(source.text.encode("utf-8", "replace"), FATAL)
        elif len(source.text) > UNCHECKED_BYTES:
            self._on_parsing(path)
        exceptions = self._exceptions(source, language)
        if not (of_file or self._structure or exceptions):
            return
        syntax = parse(source, path, language)
        measured = NOTHING_MEASURED
        if self._structure:
            measured = structure_findings(source, path, language, syntax, self._options)
        if measured.missed:
            checks = " and ".join(sorted(self._structure))
            self.unchecked.append(Unchecked(path, f"{checks} may miss functions: {measured.missed}"))
        self._take(path, source, of_file, exceptions, measured, syntax.symbols)

    def _take(
        self,
        path: str,
        source: SourceText,
        of_file: Sequence[Finding],
        exceptions: PlaceExceptions | None,
        measured: Measured = NOTHING_MEASURED,
        symbols: Sequence[Symbol] = (),
    ) -> None:
        of_functions = measured.findings
        if exceptions:
            of_file = exceptions.without_excused(of_file, self._own)
            of_functions = exceptions.without_excused(of_functions, self._own)
            self.excused += exceptions.excused
            if UNUSED_EXCEPTION not in self._options.ignore:
                ran = self._ran - self._structure if measured.missed else self._ran
                of_file = [*of_file, *exceptions.unused(path, ran)]
        self.found += [*_with_symbols(of_file, symbols, source), *of_functions]

    def _exceptions(self, source: SourceText, language: str | None = None) -> PlaceExceptions | None:
        return PlaceExceptions(source, language) if self._own and not self._options.ignore_noqa else None


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
