"""Tells by which names a file speaks of what it imports, from the statement that imports it.

For a module these begin a qualified name: `lexers` of `import pygments.lexers as lexers`, `pflag` of Go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from runtime.codebase.dependencies.requirement import Ecosystem
from runtime.codebase.index.records import ImportRecord

# Longer statements are read no further.
MAX_LINES = 40
MAX_CHARS = 4_000
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*+")
_Names = frozenset[str]
_NONE: _Names = frozenset()


def bound_names(ecosystem: Ecosystem, imported: ImportRecord, lines: Sequence[str]) -> frozenset[str]:
    """Return the names that an import binds in the lines of its file; empty where the statement tells none."""
    return _BOUND[ecosystem](imported, lines)


def _python(imported: ImportRecord, lines: Sequence[str]) -> _Names:
    if imported.name == "*":
        return _NONE
    return frozenset({imported.alias or imported.name or imported.module.partition(".")[0]})


def _line(imported: ImportRecord, lines: Sequence[str]) -> str:
    return lines[imported.line - 1][:MAX_CHARS] if 0 < imported.line <= len(lines) else ""


def _go(imported: ImportRecord, lines: Sequence[str]) -> _Names:
    """Return the name ahead of the path; without one, what the package is most likely called by the path."""
    before = _line(imported, lines).partition(f'"{imported.module}"')[0].replace("(", " ").split()
    named = [word for word in before if word != "import"]
    if named:
        return _NONE if named[-1] in {"_", "."} else frozenset({named[-1].strip(";")})
    path = re.sub(r"/v\d+$", "", imported.module).rpartition("/")[2]
    path = re.sub(r"\.v\d+$|\.go$", "", path)
    return frozenset({path, path.removeprefix("go-"), path.removesuffix("-go").replace("-", "")})


_LEAF = re.compile(r"\b([A-Za-z_]\w*+)\s*+(?=[,};]|$)")
_SELF = re.compile(r"\b([A-Za-z_]\w*+)\s*+::\s*+\{\s*+self\b(?!\s+as\b)")


def _rust(imported: ImportRecord, lines: Sequence[str]) -> _Names:
    """Return the last names of paths, or those that they are given: m, n and l of `a::{m, b as n, l::{self}}`."""
    text = ""
    for line in lines[max(0, imported.line - 1) : imported.line - 1 + MAX_LINES]:
        text += f" {line.partition('//')[0]}"
        if ";" in line or len(text) > MAX_CHARS:
            break
    use = text[:MAX_CHARS].partition(";")[0]
    return frozenset(_LEAF.findall(use)).union(_SELF.findall(use)) - {"self", "_"}


_BEGINNING = re.compile(r"\b(?:import|const|let|var)\b")
_ES_IMPORT = re.compile(r"\bimport\b")
_RENAMED = re.compile(
    r"(?<![\w$])[\w$]++\s*+(?::|\bas\b)\s*+(?=[\w$])|\*\s*+as\b|\btype\b(?=\s*+[\w${*])(?!\s*+(?:as|from)\b)"
)
_DEFAULT = re.compile(r"=[^,}]*+")


def _javascript(imported: ImportRecord, lines: Sequence[str]) -> _Names:
    """Return what the clause ahead of `from` or `= require(` names; of `{ a as b }` and `{ a: b }` it is b."""
    text = _until_module(imported, lines).rstrip("\"'` ")
    if text.endswith("from"):
        starts = [found.end() for found in _ES_IMPORT.finditer(text)]
        clause = text[starts[-1] : -len("from")] if starts else ""
    else:
        # `= require(`, `= await import(`, `= wrap(require(`
        target = text.rpartition("=")[0].rstrip() if text.endswith("(") else ""
        opening = target.rfind("{") if target.endswith("}") else -1
        last = re.search(r"(?<![\w$])[\w$]++$", target)
        clause = target[opening:] if opening >= 0 else last.group() if last is not None else ""
    return frozenset(_IDENTIFIER.findall(_DEFAULT.sub("", _RENAMED.sub(" ", clause))))


def _until_module(imported: ImportRecord, lines: Sequence[str]) -> str:
    """Return the text ahead of the module of an import, from the line on where its statement begins."""
    quoted = re.compile(rf"[\"'`]{re.escape(imported.module)}[\"'`]")
    at = quoted.search(_line(imported, lines))
    text = _line(imported, lines)[: at.start()] if at is not None else ""
    # `a = b` ends there, where `} = require(` goes on above.
    is_open = text.lstrip().startswith("}")
    for number in range(imported.line - 2, max(-1, imported.line - 2 - MAX_LINES), -1):
        is_whole = _BEGINNING.search(text) is not None or ("=" in text and not is_open)
        if not text or len(text) > MAX_CHARS or is_whole:
            break
        text = f"{lines[number].partition('//')[0]} {text}"
    return text


def _last_name(mark: str) -> Callable[[ImportRecord, Sequence[str]], _Names]:
    """Return a reader of the last part of a qualified name, or of the name that it is given behind `as`."""

    def read(imported: ImportRecord, lines: Sequence[str]) -> _Names:
        module = imported.module.strip("\\")
        behind = _line(imported, lines).partition(module)[2] if module else ""
        if re.match(r"\s*+\.\s*+\*", behind):
            return _NONE
        if behind.startswith("\\{"):
            return frozenset(re.findall(r"\b(\w++)\s*+(?=[,}])", behind))
        given = re.match(r"\s+as\s+(\w+)", behind, re.IGNORECASE)
        return frozenset({given.group(1) if given is not None else imported.module.rpartition(mark)[2]})

    return read


def _none(imported: ImportRecord, lines: Sequence[str]) -> _Names:
    return _NONE


_BOUND: Mapping[Ecosystem, Callable[[ImportRecord, Sequence[str]], _Names]] = {
    "pypi": _python,
    "go": _go,
    "crates": _rust,
    "npm": _javascript,
    "composer": _last_name("\\"),
    "maven": _last_name("."),
    "rubygems": _none,
    "nuget": _none,
    "system": _none,
}
