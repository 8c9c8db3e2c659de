"""How tests are run: detected, shown, and overridden."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from actors.capabilities.violation_fix.verification import test_setup as setups
from actors.capabilities.violation_fix.verification.test_setup import TestSetup
from runtime.errors import InputError


def detected(root: Path, **given: object) -> TestSetup:
    return setups.test_setup(root, environment={}, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["test_a.py", "tests/test_a.py", "pkg/a_test.py", "deep/down/tests.py"])
def test_pytest_is_used_where_there_are_test_files(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("")
    found = detected(tmp_path)
    assert (found.python, found.runner, found.has_tests) == (sys.executable, "pytest", True)
    assert found.told[1] == "tests: pytest (1 test files)"


def test_files_that_pytest_does_not_collect_are_run_by_unittest(tmp_path: Path) -> None:
    (tmp_path / "pkg" / "tests").mkdir(parents=True)
    (tmp_path / "pkg" / "tests" / "base_tests.py").write_text("")
    assert detected(tmp_path).runner == "unittest"


def test_a_folder_without_tests_has_none(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "test_a.py").write_text("")
    found = detected(tmp_path)
    assert (found.runner, found.has_tests) == ("none", False)


def test_an_interpreter_without_pytest_runs_unittest(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    bare.chmod(0o755)
    (tmp_path / "test_a.py").write_text("")
    found = detected(tmp_path, python=str(bare))
    assert (found.python, found.runner) == (str(bare), "unittest")
    assert "(--python)" in found.told[0]


def test_a_program_that_is_no_python_is_refused(tmp_path: Path) -> None:
    for program in ("true", "/no/such/python"):
        with pytest.raises(InputError, match=f"--python {program} cannot run Python"):
            detected(tmp_path, python=program)


def test_a_command_of_the_operator_comes_before_one_that_was_allowed_and_both_before_detection(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("")
    allowed = detected(tmp_path, allowed_command=["make", "test"])
    assert (allowed.runner, allowed.command) == ("command", ("make", "test"))
    own = detected(tmp_path, command=["make", "it"], allowed_command=["make", "test"])
    assert (own.command, own.told[1]) == (("make", "it"), "tests: make it (--test-command)")


def test_an_environment_of_the_repository_is_used_where_its_interpreter_is_the_machines(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("")
    binaries = tmp_path / ".venv" / "bin"
    binaries.mkdir(parents=True)
    (binaries / "python").write_text("#!/bin/sh\necho hostile > /dev/null\n")
    (binaries / "python").chmod(0o755)
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("")
    assert detected(tmp_path).python == sys.executable
    (binaries / "python").unlink()
    (binaries / "python").symlink_to(sys.executable)
    assert detected(tmp_path).python == str(binaries / "python")


def test_the_active_environment_comes_next(tmp_path: Path) -> None:
    binaries = tmp_path / "active" / "bin"
    binaries.mkdir(parents=True)
    (binaries / "python").symlink_to(sys.executable)
    (tmp_path / "root").mkdir()
    found = setups.test_setup(tmp_path / "root", environment={"VIRTUAL_ENV": str(tmp_path / "active")})
    assert found.python == str(binaries / "python")


def test_other_ways_of_the_project_are_named_and_not_run(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("")
    (tmp_path / "tox.ini").write_text("[testenv]\ncommands = touch ran\n")
    assert "tox.ini may run them in another way; name that with --test-command" in detected(tmp_path).told[2]
    assert not (tmp_path / "ran").exists()
