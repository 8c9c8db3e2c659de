"""Tests that import a file, and the folders that its package is imported from."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.capabilities.violation_fix.verification.affected_tests import affected_tests, import_roots

TESTS = ("tests/test_a.py::test_x", "tests/test_b.py::test_y", "test_c.T.test_z")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("src/pkg/inner/__init__.py", "src/pkg/__init__.py", "tests/test_b.py", "src/pkg/inner/mod.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "import pkg.inner.mod",
        "import pkg.inner.mod as other",
        "import pkg",
        "from pkg.inner.mod import f",
        "from pkg.inner import mod",
        "from pkg.inner import f",
        "def g():\n    from pkg.inner.mod import f",
    ],
)
def test_a_test_file_that_imports_a_module_is_affected(tree: Path, line: str) -> None:
    (tree / "tests" / "test_a.py").write_text(line)
    assert affected_tests(tree, "src/pkg/inner/mod.py", TESTS) == TESTS[:1]
    (tree / "tests" / "test_c.py").write_text(line)
    assert affected_tests(tree, "src/pkg/inner/mod.py", TESTS) == (TESTS[0], TESTS[2])


@pytest.mark.parametrize(
    "line",
    [
        "import pkgs",
        "from pkg.innermost.mod import f",
        "import other.pkg.inner.mod",
        "(",
        "",
        "import pkg.inner.mod\nx = a" + ".b" * 5_000,
        "import pkg.inner.mod\nx = " + "-" * 20_000 + "1",
    ],
    ids=lambda line: line[-30:],
)
def test_another_test_file_is_not(tree: Path, line: str) -> None:
    (tree / "tests" / "test_a.py").write_text(line)
    assert affected_tests(tree, "src/pkg/inner/mod.py", TESTS) == ()


def test_packages_are_imported_from_above_the_outermost_then_from_where_projects_have_them(tree: Path) -> None:
    assert import_roots(tree, ["src/pkg/inner/mod.py"]) == ("src", ".")
    (tree / "parts" / "one").mkdir(parents=True)
    (tree / "parts" / "one" / "x.py").touch()
    assert import_roots(tree, ["parts/one/x.py", "tests/test_b.py"]) == ("parts/one", "tests", "src", ".")
