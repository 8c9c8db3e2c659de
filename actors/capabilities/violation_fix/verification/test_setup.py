"""Detects how the tests of a repository are run, and with which interpreter.

Running tests runs the repository's code, which the operator wants when asking for a fix. Commands that a repository
names are another thing: they run only where the operator allowed them (`checks/project_rules.py`).
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from runtime.errors import InputError
from runtime.processes.named_commands import run_named

Runner = Literal["pytest", "unittest", "command", "none"]
MAX_LISTED = 200_000
PROBE_TIMEOUT_S = 60.0
_ENVIRONMENTS = (".venv", "venv", "env", ".env")
_PROBE = "import {module}, sys; print(sys.executable)"
_OWN_WAYS = ("tox.ini", "noxfile.py", "Makefile")


class TestSetup(msgspec.Struct, frozen=True):
    """Says how tests are run: `python` and `runner`, or the `command` of the operator. `told`: for a person to read."""

    __test__ = False

    python: str
    runner: Runner
    command: tuple[str, ...] = ()
    told: tuple[str, ...] = ()

    @property
    def has_tests(self) -> bool:
        """True if there is anything to run."""
        return self.runner != "none"


def test_setup(
    root: Path,
    *,
    python: str | None = None,
    command: Sequence[str] | None = None,
    allowed_command: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> TestSetup:
    """Return how the tests of the repository at `root`, the operator's own folder, are run.

    `python` and `command` override what is detected; `allowed_command` is the repository's own, where the operator
    allowed it. Raises InputError for a program that cannot be run.
    """
    chosen, from_where = _interpreter(root, python, os.environ if environment is None else environment)
    told = [f"interpreter: {chosen} ({from_where})"]
    given = tuple(command) if command else tuple(allowed_command)
    if given:
        whose = "--test-command" if command else "allowed of the repository"
        return TestSetup(chosen, "command", given, (*told, f"tests: {shlex.join(given)} ({whose})"))
    runner, why = _runner(root, chosen)
    told.append(f"tests: {why}")
    if runner != "none" and (own := [name for name in _OWN_WAYS if (root / name).is_file()]):
        told.append(f"{', '.join(own)} may run them in another way; name that with --test-command")
    return TestSetup(chosen, runner, (), tuple(told))


test_setup.__test__ = False  # type: ignore[attr-defined]


def _interpreter(root: Path, python: str | None, environment: Mapping[str, str]) -> tuple[str, str]:
    if python is not None:
        # Absolute, since tests run in another folder; a link into an environment stays one.
        given = str(Path(shutil.which(python) or python).absolute())
        end = run_named([given, "-c", "print(6 * 7)"], root, PROBE_TIMEOUT_S)
        if end.output.strip() != "42":
            raise InputError(f"--python {python} cannot run Python: {end.told}", python=python)
        return given, "--python"
    for name in _ENVIRONMENTS:
        found = root / name / "bin" / "python"
        if (root / name / "pyvenv.cfg").is_file() and _leads_out(found, root):
            return str(found), f"the repository's {name}"
    active = environment.get("VIRTUAL_ENV")
    if active and (Path(active) / "bin" / "python").exists():
        return str(Path(active) / "bin" / "python"), "the active environment"
    return sys.executable, "this program's own; name the project's with --python"


def _leads_out(program: Path, root: Path) -> bool:
    """Return whether an interpreter is one of the machine: one that came with the repository is not run."""
    try:
        return not program.resolve(strict=True).is_relative_to(root.resolve())
    except (OSError, RuntimeError):
        return False


def _runner(root: Path, python: str) -> tuple[Runner, str]:
    files = _test_files(root)
    count = f"{len(files)} test files"
    if not files:
        return "none", "none found (no file test*.py, *_test.py or *_tests.py)"
    if all(name.endswith("_tests.py") for name in files):
        return "unittest", f"unittest ({count})"
    end = run_named([python, "-c", _PROBE.format(module="pytest")], root, PROBE_TIMEOUT_S)
    return ("pytest", f"pytest ({count})") if end.passed else ("unittest", f"unittest, without pytest ({count})")


def _test_files(root: Path) -> list[str]:
    found = []
    for number, (folder, folders, names) in enumerate(os.walk(root)):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in {"node_modules", "venv"}]
        found += [f"{folder}/{name}" for name in names if _is_test_file(name)]
        if number > MAX_LISTED:
            break
    return found


def _is_test_file(name: str) -> bool:
    return name.endswith(".py") and (name.startswith("test") or name.endswith(("_test.py", "_tests.py")))
