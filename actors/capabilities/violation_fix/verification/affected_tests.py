"""Finds the tests whose files import a module, and the folders that packages are imported from."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

from actors.capabilities.violation_fix.verification.test_runs import WHOLE
from runtime.codebase.files.regular_file import read_below

MAX_TEST_FILE_BYTES = 2_000_000
_STARTS = ("", "tests/", "test/")


def import_roots(tree: Path, files: Sequence[str]) -> tuple[str, ...]:
    """Return the folders that packages are imported from, relative to a work tree: those of some files first.

    A file's folder is the one above its outermost package; then `src` and the top, where the project has them so.
    """
    found = [_above_package(tree, file) for file in files]
    standard = ["src"] if (tree / "src").is_dir() and not (tree / "src" / "__init__.py").is_file() else []
    return tuple(dict.fromkeys([*found, *standard, "."]))


def affected_tests(tree: Path, path: str, tests: Sequence[str]) -> tuple[str, ...]:
    """Return the tests whose files import the module of a file; none where no file does.

    A test without a file in its id, as of unittest, is taken by its module; a command that is one test is affected.
    """
    module = _module_of(tree, path)
    files = {test: _file_of(tree, test) for test in tests if test != WHOLE}
    chosen = {file for file in sorted(set(files.values())) if _imports(tree, file, module)}
    return tuple(test for test in tests if test == WHOLE or files[test] in chosen)


def _above_package(tree: Path, file: str) -> str:
    folder = Path(file).parent
    while folder != Path() and (tree / folder / "__init__.py").is_file():
        folder = folder.parent
    return folder.as_posix()


def _module_of(tree: Path, path: str) -> str:
    below = Path(path).relative_to(_above_package(tree, path))
    parts = below.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _file_of(tree: Path, test: str) -> str:
    file = test.partition("::")[0]
    if file.endswith(".py"):
        return file
    # unittest: package.module.Class.method, and below a folder that is no package module.Class.method
    named = "/".join(test.split(".")[:-2]) + ".py"
    return next((place for start in _STARTS if (tree / (place := start + named)).is_file()), named)


def _imports(tree: Path, file: str, module: str) -> bool:
    try:
        parsed = ast.parse(read_below(tree, file, MAX_TEST_FILE_BYTES))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False  # what cannot be read or parsed, as what is nested too deep, imports nothing
    package = module.rpartition(".")[0]
    last = module.rpartition(".")[2]
    for node in ast.walk(parsed):
        if isinstance(node, ast.Import):
            names = {alias.name for alias in node.names}
            if any(_is_same(name, module, package) for name in names):
                return True
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            names = {alias.name for alias in node.names}
            if node.module == module or (node.module == package and (last in names or names)):
                return True
    return False


def _is_same(name: str, module: str, package: str) -> bool:
    """Return whether an import of a name loads a module: itself, or the package above, which may offer its names."""
    return name == module or (bool(package) and name == package) or module.startswith(f"{name}.")
