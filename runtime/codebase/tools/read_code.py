"""Declares the tool `read_code`: lines of a file, by path or by symbol.

For a path or a symbol that does not exist, the two fallbacks of `runtime.codebase.tool_parts.fallbacks` are tried.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.paths import is_denied
from runtime.codebase.index.records import SymbolRecord
from runtime.codebase.tool_parts.citing import cite
from runtime.codebase.tool_parts.fallbacks import find_file, find_symbols
from runtime.codebase.tool_registry import CodeTool, Line, Path, Text, by_fields
from runtime.errors import RepositoryError
from runtime.tools.result import ToolStatus

MAX_LINES = 2_000
MAX_LINE_CHARS = 2_000
MAX_TEXT_CHARS = 60_000


class ReadCode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Lines of a file, by path or by symbol, both ends included."""

    path: Path | None = None
    symbol: Text | None = None
    start_line: Line | None = None
    end_line: Line | None = None
    max_lines: Annotated[int, msgspec.Meta(ge=1, le=2_000)] = 200
    around: Line | None = None


def read_code(
    codebase: Codebase,
    path: str | None = None,
    symbol: str | None = None,
    start_line: int | None = None,
    end_line: int | None = None,
    max_lines: int = 200,
    around: int | None = None,
) -> ToolResult:
    """Read lines `start_line` to `end_line` (inclusive; by default all) of a file or a symbol, at most `max_lines`.

    Of more lines than that, the first are read; with `around`, those with that line in their middle.
    `data`: file, start_line, end_line (as returned), total_lines, language, symbol, text, asked_path. With both a path
    and a symbol, the symbol's definition in that file is preferred. Status `partial` and `truncated` if lines or ends
    of very long lines were left out; on failure `not_found`, `denied`, `empty` (no lines), `error` (no path or symbol)
    or `unsupported` (binary, then named by `binary` of `data`; too large).
    """
    log = AttemptLog(codebase.max_retries)
    limit = max(1, min(max_lines, MAX_LINES))
    try:
        if symbol:
            found = _find_symbol(codebase, symbol, path, log)
            if found is None:
                return log.result("not_found", {"symbol": symbol}, [], error=f"no symbol {symbol} in the index")
            first, last = found.start_line, found.end_line
            wanted = (start_line or first, end_line or last)
            return _read(codebase, found.file, wanted, around, limit, log, found, path)
        if not path:
            return log.result("error", {}, [], error="give a path or a symbol", at_fault="request")
        file = find_file(codebase, path, log)
        if file is None:
            return log.result("not_found", {"asked_path": path}, [], error=f"no file {path} in the repository")
        return _read(codebase, file, (start_line or 1, end_line), around, limit, log, None, path)
    except RepositoryError as error:
        status: ToolStatus = "denied" if is_denied(error) else "unsupported"
        binary = {"binary": error.values["path"]} if error.values.get("kind") == "binary" else {}
        return log.result(status, {"asked_path": path, **binary}, [], error=error.message)


def _first_line(start: int, end: int, limit: int, around: int | None) -> int:
    """Return the first of at most `limit` lines with `around` in their middle; of all if it is not one of them."""
    if around is None or not start <= around <= end:
        return start
    return max(start, min(around - limit // 2, end - limit + 1))


def _find_symbol(codebase: Codebase, name: str, path: str | None, log: AttemptLog) -> SymbolRecord | None:
    found = find_symbols(codebase, name, log)
    if path:
        wanted = codebase.relative(path)
        found = [item for item in found if item.file == wanted] or found
    if not found:
        return None
    # Overloads and declarations stand before the definition of the same name, and are shorter.
    alike = [item for item in found if (item.file, item.qualified_name) == (found[0].file, found[0].qualified_name)]
    return max(alike, key=lambda item: item.end_line - item.start_line)


def _read(
    codebase: Codebase,
    file: str,
    wanted: tuple[int, int | None],
    around: int | None,
    limit: int,
    log: AttemptLog,
    symbol: SymbolRecord | None,
    asked_path: str | None,
) -> ToolResult:
    lines = codebase.source(file).lines
    total = len(lines)
    start, end = max(1, wanted[0]), wanted[1]
    wanted_end = total if end is None else min(end, total)
    name = symbol.qualified_name if symbol else None
    data = {"file": file, "asked_path": asked_path, "total_lines": total, "symbol": name}
    if start > wanted_end:
        error = f"{file} has {total} lines; lines {start} to {end if end is not None else total} are not among them"
        return log.result("empty" if total == 0 else "not_found", data, [], error=error)
    first = _first_line(start, wanted_end, limit, around)
    last, text, cut = _text_of(lines, first, min(wanted_end, first + limit - 1))
    telling = around if first > start else symbol.name_line if symbol else None
    citation = cite(codebase, file, first, last, why="was read", symbol=name, telling_line=telling)
    known = codebase.file(file)
    truncated = cut or first > start or last < wanted_end
    data |= {"start_line": first, "end_line": last, "text": text, "language": known.language if known else None}
    return log.result("partial" if truncated else "ok", data, [citation] if citation else [], truncated=truncated)


def _text_of(lines: list[str], start: int, end: int) -> tuple[int, str, bool]:
    """Return the last line taken, the text, and whether the end of a long line was left out."""
    taken: list[str] = []
    chars = 0
    cut = False
    for line in lines[start - 1 : end]:
        shown = line[:MAX_LINE_CHARS]
        if taken and chars + len(shown) > MAX_TEXT_CHARS:
            break
        cut = cut or len(shown) < len(line)
        chars += len(shown) + 1
        taken.append(shown)
    return start + len(taken) - 1, "\n".join(taken), cut


TOOL = CodeTool(
    name="read_code",
    description="Lines of a file, by path or by symbol.",
    parameters=ReadCode,
    run=by_fields(read_code),
    reduced={"max_lines": 40},
    isolation="in_process",
    place=80,
    example={"symbol": "Depot.open"},
)
