"""Reads lines of the work tree, and finds definitions of symbols."""

from __future__ import annotations

import ast
import os
from pathlib import Path, PurePosixPath
from typing import Annotated

import msgspec
from msgspec import Meta

from actors.capabilities.violation_fix.actions.edit_tools import FixWorkspace, LineNumber
from actors.capabilities.violation_fix.actions.text_edits import EditRefused, decoded, syntax_problem
from runtime.codebase.files.paths import readable_path
from runtime.codebase.files.regular_file import read_below
from runtime.errors import RepositoryError
from runtime.tools.result import ToolResult

MAX_LINES = 200
MAX_FILE_BYTES = 1_000_000
MAX_FILES_SEARCHED = 400
MAX_DEFINITIONS = 5
_PASSED_OVER = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", "venv", ".tox", "build"})


class ReadFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Reads lines of a file of the work tree, at most 200 at once."""

    path: Annotated[str, Meta(min_length=1, max_length=1_000)]
    start_line: LineNumber = 1
    end_line: LineNumber | None = None


class LoadContext(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Finds the definition of a function or class by its name, in the violation's file first."""

    symbol: Annotated[str, Meta(pattern=r"^[^\W\d][\w.]*\Z", max_length=200)]


def read_file_tool(place: FixWorkspace, asked: ReadFile) -> ToolResult:
    """Return numbered lines of a file."""
    text = _text(place, asked.path)
    if isinstance(text, EditRefused):
        return ToolResult("not_found", {"category": text.category}, error=text.reason, at_fault="request")
    lines = text.splitlines()
    first = asked.start_line
    last = min(asked.end_line or first + MAX_LINES - 1, first + MAX_LINES - 1, len(lines))
    if first > len(lines) or last < first:
        problem = f"lines {first}-{asked.end_line or last} are not in {asked.path}, which has {len(lines)} lines"
        return ToolResult("not_found", {"category": "not_found"}, error=problem, at_fault="request")
    shown = [f"{number:>5}  {lines[number - 1]}" for number in range(first, last + 1)]
    told = f"{asked.path} lines {first}-{last} of {len(lines)}\n" + "\n".join(shown)
    return ToolResult("ok", {"output": told, "read": f"{asked.path}:{first}-{last}"}, truncated=last < len(lines))


def load_context_tool(place: FixWorkspace, asked: LoadContext) -> ToolResult:
    """Return the definitions of a name with their lines."""
    name = asked.symbol.rsplit(".", 1)[-1]
    found: list[str] = []
    for path in _candidates(place):
        text = _text(place, path)
        if isinstance(text, EditRefused) or name not in text or syntax_problem(text) is not None:
            continue
        found += [f"{path}:{node.lineno}-{node.end_lineno} {head}" for node, head in _definitions(text, name)]
        if len(found) >= MAX_DEFINITIONS:
            break
    if not found:
        problem = f"no definition of {asked.symbol} was found in {place.file} and beside it"
        return ToolResult("not_found", {"category": "not_found"}, error=problem, at_fault="request")
    told = "\n".join(f"definition of {asked.symbol}: {each}" for each in found[:MAX_DEFINITIONS])
    return ToolResult("ok", {"output": told, "read": found[0].split(" ", 1)[0]}, truncated=len(found) > MAX_DEFINITIONS)


def _text(place: FixWorkspace, path: str) -> str | EditRefused:
    try:
        relative = readable_path(Path(place.root).resolve(), path)
        content = read_below(Path(place.root), relative, MAX_FILE_BYTES)
    except (RepositoryError, OSError) as error:
        return EditRefused("not_found", str(error))
    read = decoded(content, is_python=PurePosixPath(path).suffix in {".py", ".pyi"})
    return read if isinstance(read, EditRefused) else read.text.removeprefix("\ufeff")


def _candidates(place: FixWorkspace) -> list[str]:
    """Return Python files: that of the violation, those of its package, then others, up to the bound."""
    root, home = Path(place.root), PurePosixPath(place.file).parent
    others: list[str] = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _PASSED_OVER)
        below = Path(folder).relative_to(root).as_posix()
        others += [str(PurePosixPath(below) / name) for name in sorted(files) if name.endswith(".py")]
        if len(others) > MAX_FILES_SEARCHED * 4:
            break
    others.sort(key=lambda path: (path != place.file, PurePosixPath(path).parent != home, path))
    return others[:MAX_FILES_SEARCHED]


def _definitions(text: str, name: str) -> list[tuple[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, str]]:
    lines = text.splitlines()
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds) and node.name == name]
    return [(node, lines[node.lineno - 1].strip()) for node in nodes]
