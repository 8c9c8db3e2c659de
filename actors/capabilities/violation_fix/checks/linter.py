"""Runs ruff of our own installation over files of a repository and reads its findings.

It gets no settings but ours (`--isolated`), no cache, no variables of the environment, and files that were listed as
regular ones. A file on which it crashes or hangs is found by halving, and is the only one left unchecked.
"""

from __future__ import annotations

import re
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from actors.capabilities.violation_fix.checks.linter_config import LinterConfig, declared_version, linter_config
from actors.capabilities.violation_fix.checks.options import DEFAULT_SELECTION, CheckOptions
from actors.capabilities.violation_fix.checks.violation import SYNTAX_ERROR, Finding, FixKind, Unchecked
from runtime.errors import InputError, MachineError
from runtime.primitives.text_files import read_bytes_file
from runtime.primitives.visible_text import visible_line
from runtime.processes.programs import program_folders, run_program

FILES_AT_ONCE = 200
MAX_OUTPUT_BYTES = 50_000_000
MAX_TOLD_CHARS = 600
_FOUND = (0, 1)
_USAGE = 2
_NOT_READ = "E902"
# What a program says belongs to its error; run_program itself reads standard output alone.
_BOTH_STREAMS = ("sh", "-c", 'exec "$@" 2>&1', "ruff")
# Rules that ruff has on trial are chosen one by one, with their whole code.
_ON_TRIAL = ("--preview", "--config", "lint.explicit-preview-rules=true")
_MEASURED = re.compile(r"\((\d+) ?> ?(\d+)\)")
_FIXES: dict[str, FixKind] = {"safe": "safe", "unsafe": "unsafe"}

OnProgress = Callable[[int], None]


class _Place(msgspec.Struct):
    row: int
    column: int


class _Fix(msgspec.Struct):
    applicability: str = ""
    message: str | None = None


class _Row(msgspec.Struct):
    filename: str
    location: _Place
    end_location: _Place
    message: str
    code: str | None = None
    fix: _Fix | None = None


class LinterResult(NamedTuple):
    """Holds what ruff found, the files that it could not check, and notes."""

    findings: list[Finding]
    unchecked: list[Unchecked]
    notes: list[str]


def linter_program() -> str:
    """Return the ruff beside the running interpreter, else one on the PATH. Raises MachineError without any."""
    folders = [str(Path(sys.executable).parent), sysconfig.get_path("scripts")]
    found = next((each for folder in folders if (each := shutil.which("ruff", path=folder))), None)
    found = found or shutil.which("ruff", path=program_folders())
    if found is None:
        raise MachineError("no program ruff is installed beside this one; install it with `pip install ruff`")
    return found


def run_linter(root: Path, files: Sequence[str], options: CheckOptions, on_progress: OnProgress) -> LinterResult:
    """Return what ruff finds in files below `root`; `on_progress` is given the number of files done so far.

    Raises InputError for rules or settings that ruff refuses, MachineError where it cannot be run.
    """
    select, ignore = options.linter_rules()
    if not files or not (select or options.uses_project_config):
        return LinterResult([], [], [])
    config = linter_config(root) if options.uses_project_config else LinterConfig("")
    with tempfile.TemporaryDirectory(prefix="jeeves-check-") as folder:
        run = _Linter(root, _command(root, options, config, Path(folder), select, ignore), options.timeout_s)
        run.check_usage()
        for start in range(0, len(files), FILES_AT_ONCE):
            run.check(files[start : start + FILES_AT_ONCE])
            on_progress(min(start + FILES_AT_ONCE, len(files)))
    return LinterResult(run.findings, run.unchecked, list(config.notes))


def _command(
    root: Path,
    options: CheckOptions,
    config: LinterConfig,
    folder: Path,
    select: Sequence[str],
    ignore: Sequence[str],
) -> list[str]:
    command = [linter_program(), "check", "--no-cache", "--no-fix", "--exit-zero", "--output-format", "json"]
    command += ["--quiet", "--no-respect-gitignore"]
    limit = ["--config", f"lint.mccabe.max-complexity={options.max_complexity}"]
    version = options.target_version or ("" if config.has_version else declared_version(root))
    if version:
        command += ["--target-version", version]
    if config.text:
        file = folder / "ruff.toml"
        file.write_text(config.text, encoding="utf-8")
        command += ["--config", str(file)]
        # The project chooses, unless the person did.
        command += limit if options.max_complexity != CheckOptions().max_complexity else []
        command += ["--select", ",".join(select)] if options.select != DEFAULT_SELECTION else []
    else:
        command += ["--isolated", *_ON_TRIAL, *limit, "--select", ",".join(select)]
    if ignore:
        command += ["--ignore", ",".join(ignore)]
    if options.ignore_noqa:
        command.append("--ignore-noqa")
    return command


class _Linter:
    def __init__(self, root: Path, command: Sequence[str], timeout_s: float) -> None:
        self.findings: list[Finding] = []
        self.unchecked: list[Unchecked] = []
        self._root = root
        self._command = command
        self._timeout_s = timeout_s

    def check_usage(self) -> None:
        """Raise InputError if ruff refuses the rules or settings, which it says of no file at all."""
        # With rules on trial ruff only warns of a rule that does not exist.
        on_trial = self._command.index(_ON_TRIAL[0]) if _ON_TRIAL[0] in self._command else len(self._command)
        command = [*self._command[:on_trial], *self._command[on_trial + len(_ON_TRIAL) :]]
        with tempfile.TemporaryDirectory(prefix="jeeves-check-") as empty:
            said, status, _ = self._run([*_BOTH_STREAMS, *command, empty])
        if status in _FOUND:
            return
        told = visible_line(" ".join(said.decode("utf-8", "replace").split()))[-MAX_TOLD_CHARS:]
        if status == _USAGE:
            raise InputError(f"ruff refuses its rules or settings: {told}")
        raise MachineError(f"ruff failed with status {status}: {told}")

    def check(self, files: Sequence[str]) -> None:
        """Check files together, and each half alone where that fails."""
        # Absolute, since ruff takes a name that begins with @ or - for something else.
        said, status, late = self._run([*self._command, *(str(self._root / file) for file in files)])
        if status in _FOUND and not late and len(said) < MAX_OUTPUT_BYTES:
            for row in msgspec.json.decode(said, type=list[_Row]):
                self._take(row)
        elif len(files) == 1:
            why = f"it took ruff longer than {self._timeout_s:g} s" if late else f"ruff failed on it (status {status})"
            self.unchecked.append(Unchecked(files[0], why))
        else:
            middle = len(files) // 2
            self.check(files[:middle])
            self.check(files[middle:])

    def _run(self, command: Sequence[str]) -> tuple[bytes, int, bool]:
        try:
            return run_program(
                command,
                cwd=self._root,
                timeout_s=self._timeout_s,
                max_output_bytes=MAX_OUTPUT_BYTES,
                environment={"PATH": program_folders()},
            )
        except OSError as error:
            raise MachineError(f"{self._command[0]} cannot be run: {error.strerror}") from error

    def _take(self, row: _Row) -> None:
        path = Path(row.filename).relative_to(self._root).as_posix()
        if row.code == _NOT_READ:
            self.unchecked.append(Unchecked(path, row.message))
            return
        self.findings += _findings(row, path)


def _findings(row: _Row, path: str) -> Iterator[Finding]:
    is_syntax = row.code in (None, "invalid-syntax")
    numbers = _MEASURED.search(row.message)
    yield Finding(
        path=path,
        line=row.location.row,
        column=row.location.column,
        check_id=SYNTAX_ERROR if is_syntax else str(row.code),
        message=row.message,
        severity="error" if is_syntax else "warning",
        end_line=row.end_location.row,
        measured=int(numbers.group(1)) if numbers else None,
        allowed=int(numbers.group(2)) if numbers else None,
        fix=_FIXES.get(row.fix.applicability, "") if row.fix is not None else "",
        hint=(row.fix.message or "") if row.fix is not None else "",
    )


def safely_fixed(content: bytes, name: str, rule: str, timeout_s: float) -> bytes | str:
    """Return the content of a file after ruff's safe fixes of one rule, or why there is none.

    It works on a copy in a folder of its own, without any settings of the repository.
    """
    with tempfile.TemporaryDirectory(prefix="jeeves-fix-") as folder:
        copy = Path(folder) / Path(name).name
        copy.write_bytes(content)
        command = [linter_program(), "check", "--isolated", "--no-cache", "--quiet", "--fix-only", "--exit-zero"]
        _, status, late = run_program(
            [*command, "--select", rule, str(copy)],
            cwd=Path(folder),
            timeout_s=timeout_s,
            max_output_bytes=MAX_OUTPUT_BYTES,
            environment={"PATH": program_folders()},
        )
        if late or status != 0:
            return f"ruff took longer than {timeout_s:g} s" if late else f"ruff ended with status {status}"
        return read_bytes_file(copy, MAX_OUTPUT_BYTES)
