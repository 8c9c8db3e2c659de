"""Tells where a name means something else than the dependency that a file imports, or a crate.

A parameter, or what is assigned in the same definition ahead of a use, hides an import of its name.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from runtime.codebase.codebase import Codebase
from runtime.codebase.dependencies.bound_names import bound_names
from runtime.codebase.dependencies.dependency_imports import lines_of
from runtime.codebase.dependencies.import_names import fit
from runtime.codebase.dependencies.requirement import Requirement
from runtime.codebase.index.records import ReferenceRecord, SymbolRecord
from runtime.codebase.parsing.syntax import CALLABLE_KINDS

MAX_LINE_CHARS = 400
MAX_SIGNATURE_CHARS = 2_000
# What stands ahead of `=` where a name is bound, `let mut x: T`, `a, err :`, and no call with a named argument.
_TARGETS = re.compile(
    r"\s*+(?:for\s|let\s|mut\s|const\s|var\s|val\s|final\s)*+(?P<names>[\w\s,*$()]{1,120})(?::[^=]{0,80})?$"
)
_WORD = re.compile(r"[A-Za-z_$][\w$]*+")
_LOOP = re.compile(r"\s*+(?:async\s+)?for\b\s*+\(?(?P<names>[\w\s,$()]{1,120}?)\s(?:in|of)\b")
_COMMENT = re.compile(r"\s*+(?:#(?!\[)|//|/\*|\*(?:\s|/|$)|--)")


class Shadows:
    """Tells which uses in a file are of a parameter or a local variable, not of what the file imports."""

    def __init__(self, codebase: Codebase, file: str, imports: Collection[int]) -> None:
        self._lines = lines_of(codebase, file)
        self._imports = imports
        symbols = codebase.symbols_in(file)
        self._callables = {one.id: one for one in symbols if one.kind in CALLABLE_KINDS}
        self._bound: dict[int, dict[str, int]] = {}

    def hide(self, use: ReferenceRecord, name: str) -> bool:
        """Return whether a name is bound by the definition around a use, ahead of it."""
        around = self._callables.get(use.enclosing_id or 0)
        if around is None:
            return False
        bound = self._bound.get(around.id)
        if bound is None:
            bound = self._bound[around.id] = self._names_of(around)
        return bound.get(name, use.line) < use.line

    def _names_of(self, around: SymbolRecord) -> dict[str, int]:
        """Map what a definition binds to the first line that does, which is 0 for parameters."""
        bound = dict.fromkeys(_parameters(around.file, around.signature), 0)
        for number in range(around.start_line, min(around.end_line, len(self._lines)) + 1):
            line = self._lines[number - 1][:MAX_LINE_CHARS]
            if number not in self._imports:
                for name in _assigned(line):
                    bound.setdefault(name, number)
        return bound


def _assigned(line: str) -> list[str]:
    """Return the names that a line assigns, or that a loop has."""
    loop = _LOOP.match(line)
    if loop is not None:
        return _WORD.findall(loop["names"])
    before, mark, behind = line.partition("=")
    # `f(url=url)` binds nothing; ahead of an assignment stands a blank, or the colon of `:=`.
    if not mark or behind[:1] in ("=", "~", ">") or before[-1:] not in (" ", ":"):
        return []
    targets = _TARGETS.match(before.rstrip().removesuffix(":"))
    return _WORD.findall(targets["names"]) if targets is not None else []


_PARAMETER = re.compile(r"[(,]\s*+(?:[*&$]|mut\s|\.\.\.)*+([A-Za-z_$][\w$]*+)\s*+(?=[:,=)?])")
_PARAMETER_OF_GO = re.compile(r"[(,]\s*+([A-Za-z_]\w*+)(?=,|\s++[\w*\[.])")


def _parameters(file: str, signature: str) -> list[str]:
    """Return the names of parameters, where these stand ahead of their types."""
    pattern = _PARAMETER_OF_GO if file.endswith(".go") else _PARAMETER
    return pattern.findall(signature[:MAX_SIGNATURE_CHARS])


def is_aside(line: str, at: int) -> bool:
    """Return whether a place of a line stands in a comment or between quotation marks."""
    before = line[:at]
    return _COMMENT.match(line) is not None or "//" in before or before.replace('\\"', "").count('"') % 2 == 1


def means_another(codebase: Codebase, file: str, name: str) -> bool:
    """Return whether a file of Rust has a module of its own that is called like a crate, or imports another one."""
    if any(one.kind == "module" and one.name == name and one.start_line > 1 for one in codebase.symbols_in(file)):
        return True
    crate = Requirement(name, "", 0, "runtime", "crates")
    lines = lines_of(codebase, file)
    rows = (row for row in codebase.index.imports_of_files([file]) if name in row.module and not fit(crate, row))
    return any(name in bound_names("crates", row, lines) for row in rows)
