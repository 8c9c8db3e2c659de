"""Lists where a program or library is entered.

Declared commands, main functions, scripts, what a server or a container starts, and the names that a package exports.
Each entry point carries the lines that show it. Pure functions over the lines of single files.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from runtime.codebase.overview.manifests import Manifest

EntryKind = Literal["command", "main", "script", "exports", "server", "container", "namesake", "documented"]

MAX_NAMES = 1_000
MAX_COMMAND_CHARS = 300
MAX_EXPORT_LINES = 60
# Files whose contents are what a package exports, by the language that has such a convention.
EXPORTING = re.compile(r"(?:^|/)(?:__init__\.py|lib\.rs|index\.(?:[cm]?[jt]sx?))$")

_MAIN_GUARD = re.compile(r"^if\s+__name__\s*==\s*[\"']__main__[\"']")
_SCRIPT = re.compile(r"(?:^|/)(?:bin|exe|sbin)/[^/]+$")
_SERVED = re.compile(r"^(?P<name>application|app)\s*(?::[^=]+)?=(?!=)")
_SERVER_FILE = re.compile(r"(?:^|/)(?:wsgi|asgi)\.py$|^config\.ru$")
_RACK = re.compile(r"^run\s+(?P<name>[A-Z][\w.:]*)")
_GENERATED = re.compile(r"\b(?:auto-?)?generated (?:by|with|from)\b|\bdo not edit\b", re.IGNORECASE)
MAX_HEAD_LINES = 15
_STAGE = re.compile(r"\s*FROM\s", re.IGNORECASE)
_CONTAINER = re.compile(r"\s*(?P<name>ENTRYPOINT|CMD)\s+(?P<what>\S.*)$", re.IGNORECASE)
_CONTAINER_FILE = re.compile(r"(?:^|/)(?:(?:[\w-]+\.)?dockerfile|dockerfile\.[\w-]+|containerfile)$", re.IGNORECASE)
_PROCESS = re.compile(r"(?P<name>\w+):\s*(?P<what>\S.*)$")
_ALL = re.compile(r"^__all__\s*(?::[^=]+)?\+?=\s*[\[(]?")
_WORDS = re.compile(r"\"((?:[^\"\\]|\\.)*)\"")
_STRING = re.compile(r"[\"']([A-Za-z_]\w*)[\"']")
_PY_IMPORT = re.compile(r"^from\s+\.[\w.]*\s+import\s+\(?\s*([\w, ]*)")
_RUST = re.compile(
    r"^pub\s+(?:(?:mod|fn|struct|enum|trait|type|const)\s+(\w+)|use\s+([\w:{}, *]+)|extern\s+crate\s+(\w+))"
)
_JS_NAMED = re.compile(
    r"^export\s+(?:default\s+)?(?:async\s+)?(?:function\*?|class|const|let|var|enum|interface|type)\s+(\w+)"
)
_JS_LIST = re.compile(r"^export\s+(?:type\s+)?\{([^}]*)\}?")
_JS_STAR = re.compile(r"^export\s+\*\s+(?:as\s+(\w+)\s+)?from\s+[\"']([^\"']+)[\"']")
_JS_ASSIGNED = re.compile(
    r"^(?:module\.)?exports(?:\.(\w+))?\s*=\s*"
    r"(?:(?!(?:async|function|class|new|require|Object|typeof|void)\b)([A-Za-z_]\w*)"
    r"|(?:async )?(?:function|class)\s+(\w+)|\{)?"
)
# What exports, and is no name that is exported: `module.exports = exports = …`, `exports.default = …`.
_EXPORTERS = frozenset({"module", "exports", "default"})
_JS_DEFAULT = re.compile(r"^export\s+default\s+(?!function|class|async)(\w+)")


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """Holds one entry point and its lines, inclusive; `names`: of what it exports, `target`: what a command runs."""

    kind: EntryKind
    name: str
    file: str
    start_line: int
    end_line: int
    target: str = ""
    names: tuple[str, ...] = ()


def declared_commands(manifest: Manifest) -> list[EntryPoint]:
    """Return the commands that a metadata file declares."""
    return [
        EntryPoint("command", each.name, manifest.path, each.line, each.line, each.target) for each in manifest.commands
    ]


def main_guard(path: str, lines: Sequence[str]) -> EntryPoint | None:
    """Return the lines from `if __name__ == "__main__"` on, at most six; None for a file without it."""
    for number, line in enumerate(lines, 1):
        if _MAIN_GUARD.match(line):
            end = number
            while end < min(len(lines), number + 5) and lines[end].startswith((" ", "\t")):
                end += 1
            return EntryPoint("script", path, path, number, end)
    return None


def is_script_path(path: str) -> bool:
    """Return whether a file lies where programs are kept."""
    return _SCRIPT.search(path) is not None


def script(path: str, lines: Sequence[str]) -> EntryPoint | None:
    """Return a program that its first line hands to an interpreter, and that no other program has written."""
    if not lines or not lines[0].startswith("#!") or any(map(_GENERATED.search, lines[:MAX_HEAD_LINES])):
        return None
    return EntryPoint("script", posixpath.basename(path), path, 1, 1)


def is_server_path(path: str) -> bool:
    """Return whether a file is called as one that a web server loads."""
    return _SERVER_FILE.search(path) is not None


def served(path: str, lines: Sequence[str]) -> EntryPoint | None:
    """Return the application that a file gives a web server."""
    for number, line in enumerate(lines, 1):
        if found := (_SERVED if path.endswith(".py") else _RACK).match(line):
            return EntryPoint("server", found["name"], path, number, number)
    return None


def is_container_path(path: str) -> bool:
    """Return whether a file says how a container is built, or which processes run (`Procfile`)."""
    return _CONTAINER_FILE.search(path) is not None or posixpath.basename(path) == "Procfile"


def started(path: str, lines: Sequence[str]) -> EntryPoint | None:
    """Return what the last stage of a container, or the first process of a Procfile, starts."""
    if _CONTAINER_FILE.search(path) is None:
        process = next(
            ((n, match) for n, line in enumerate(lines, 1) if (match := _PROCESS.match(line)) and _is_told(line)), None
        )
        return process and EntryPoint("container", process[1]["what"].strip(), path, process[0], process[0])
    told: dict[str, tuple[int, str]] = {}
    is_new_stage = True
    for number, line in enumerate(lines, 1):
        if _STAGE.match(line):
            is_new_stage = True
        # What goes on with the line above belongs to that, such as a check of health.
        elif (
            (found := _CONTAINER.match(line))
            and _is_told(line)
            and not (number > 1 and lines[number - 2].rstrip().endswith("\\"))
        ):
            # A stage that starts nothing of its own starts what the one does that it is made from.
            told = {} if is_new_stage else told
            told[found["name"].upper()] = number, _shown_command(found["what"])
            is_new_stage = False
    if not told:
        return None
    start = told.get("ENTRYPOINT") or told["CMD"]
    words = [text for _, text in (told[name] for name in ("ENTRYPOINT", "CMD") if name in told)]
    last = max(number for number, _ in told.values())
    return EntryPoint("container", " ".join(words), path, min(start[0], last), last)


def _is_told(line: str) -> bool:
    return len(line) <= MAX_COMMAND_CHARS and line.isprintable()


def _shown_command(what: str) -> str:
    """Return a command as one would type it: of a list of words its words."""
    words = _WORDS.findall(what) if what.startswith("[") else []
    return " ".join(words) if words else what.strip()


def exports(path: str, lines: Sequence[str]) -> EntryPoint | None:
    """Return the names that a package's main file exports, and the lines from the first to the last of the first 60."""
    found = [(line, name) for line, name in _exported(path, lines) if not name.startswith("__")]
    if not found:
        return None
    names = tuple(dict.fromkeys(name for _, name in found))[:MAX_NAMES]
    first = found[0][0]
    shown = [(line, name) for line, name in found if line < first + MAX_EXPORT_LINES]
    return EntryPoint("exports", path, path, first, shown[-1][0], names=names)


def _exported(path: str, lines: Sequence[str]) -> list[tuple[int, str]]:
    if path.endswith(".py"):
        return _python_exports(lines)
    if path.endswith(".rs"):
        return [pair for number, line in enumerate(lines, 1) for pair in _rust_names(number, line)]
    return _script_exports(lines)


def _python_exports(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Return the names in `__all__`; without it, those imported from within the package."""
    found: list[tuple[int, str]] = []
    is_open = False
    for number, line in enumerate(lines, 1):
        if _ALL.match(line):
            is_open = True
        if is_open:
            found += [(number, name) for name in _STRING.findall(line)]
            is_open = not re.search(r"[\])]\s*$", line.split("#")[0].rstrip())
    if found:
        return found
    is_open = False
    for number, line in enumerate(lines, 1):
        opened = _PY_IMPORT.match(line)
        names = opened.group(1) if opened else line.split("#")[0] if is_open else ""
        found += [(number, name) for name in re.findall(r"\b(?!as\b)([A-Za-z]\w*)(?!\s+as\b)", names)]
        if opened or is_open:
            is_open = ("(" in line or is_open) and ")" not in line
    return found


def _rust_names(number: int, line: str) -> list[tuple[int, str]]:
    found = _RUST.match(line)
    if found is None:
        return []
    item, used, crate = found.groups()
    if item or crate:
        return [(number, item or crate)]
    last = used.rpartition("::")[2]
    grouped = re.search(r"\{([^}]*)\}", used)
    names = re.findall(r"\w+", grouped.group(1) if grouped else last)
    return [(number, name) for name in names if name not in {"self", "as"}]


def _script_exports(lines: Sequence[str]) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    is_open = False
    for number, line in enumerate(lines, 1):
        if is_open:
            found += _listed(number, line.partition("}")[0])
            is_open = "}" not in line
        elif star := _JS_STAR.match(line):
            # What a package hands on of another one is not its own.
            found += [(number, star.group(1) or star.group(2))] if star.group(2).startswith(".") else []
        elif listed := _JS_LIST.match(line):
            found += _listed(number, listed.group(1))
            is_open = "}" not in line
        elif named := _JS_NAMED.match(line) or _JS_DEFAULT.match(line):
            found.append((number, named.group(1)))
        elif assigned := _JS_ASSIGNED.match(line):
            name = assigned.group(1) or assigned.group(2) or assigned.group(3)
            found += [(number, name)] if name and name not in _EXPORTERS else []
    return found


def _listed(number: int, text: str) -> list[tuple[int, str]]:
    """Return the names of an export list, each as it is called outside."""
    plain = re.sub(r"//.*|/\*.*?\*/", "", text)
    names = [re.split(r"\s+as\s+", item.strip())[-1] for item in plain.split(",")]
    return [(number, name.removeprefix("type ").strip()) for name in names if re.fullmatch(r"(?:type )?\w+", name)]
