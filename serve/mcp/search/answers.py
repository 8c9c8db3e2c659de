"""Makes the answers of search tools: what is shown, what was cut, and what to do next."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from runtime.tools.result import ToolResult
from serve.mcp.search.fitting import MIN_CELL_CHARS, compact, fitted, size_tokens
from serve.mcp.search.plain_text import lines_of, numbered
from serve.mcp.toolset import ShownLines, ToolAnswer

MAX_ERROR_CHARS = 1_000
# Of an answer among several: its name in the text and in the data, and what that takes.
MAX_NAME_CHARS = 60
JOINED_TOKENS = 80
MIN_JOINED_TOKENS = 200
MAX_JOINED_ERROR_CHARS = 300

# Statuses of a call that could not be served; one that found nothing is an answer.
_ERRORS = frozenset({"error", "denied", "timeout", "unsupported"})

# Strategies by which a tool finds a file or a definition other than the one that was asked for.
_STAND_INS = frozenset({"fuzzy_path", "index_by_name"})
_LIKE_NAMES = frozenset({"partial_symbol", "imports"})

# Rows that are shown of what lies beside the question: outside of its scope, or without its distinctive word.
MAX_BESIDE_ROWS = 5

_ELLIPSIS = "…"
_CUT = "Rows were cut to fit the answer: ask with a higher max_tokens"

_BINARY = (
    "{file} is binary: it has no lines to be shown. In a change that counts as having looked at it; `{file}:1` stands "
    "for it"
)

# What to do when a tool has found nothing, or has no more to say.
_NEXT = {
    "locate": "describe it in other words, or look for its text with search_text",
    "find_symbol": "try a part of the name, or describe it to locate",
    "explore_symbol_usage": "find the exact name with find_definitions or locate",
    "grep_search": "try a shorter pattern, or describe it to locate",
    "glob_files": "try a part of the name with `*` around it",
    "read_code": "find the path with search_files, or the symbol with find_definitions",
    "map_module": "start at '.', or find the path with search_files",
    "get_file_symbols": "find the path with search_files",
    "trace_entry_point": "find the exact name with find_definitions, or leave `entry` out to list the entry points",
    "find_related": "find the path with search_files, or the symbol with find_definitions",
    "explain_code_history": "find the path with search_files, or the symbol with find_definitions",
}
_NARROWER = {
    "map_module": "ask for a folder below, a file, or one `symbol`",
    "trace_entry_point": "start at one of the functions shown, or lower max_depth",
    "get_file_symbols": "ask map_module with one `symbol` for its members",
    "explain_code_history": "ask with a higher max_commits, or for fewer lines",
}


def refusal(text: str) -> ToolAnswer:
    """Return the answer of a call that could not be served; `text` says what happened and what to do."""
    told = text if len(text) <= MAX_ERROR_CHARS else f"{text[:MAX_ERROR_CHARS]}…"
    return ToolAnswer(told, {"error": told}, is_error=True)


def answer_of(tool: str, result: ToolResult, arguments: Mapping[str, Any], max_tokens: int) -> ToolAnswer:
    """Return the answer of a code tool's result within `max_tokens`, text and data together."""
    if tool == "read_code" and isinstance(binary := result.data.get("binary"), str):
        # Asked for by name it was looked at, as far as a file without lines can be: line 1 stands for it.
        return msgspec.structs.replace(refusal(_BINARY.format(file=binary)), shown=(ShownLines(binary, 1, 1),))
    if result.status in _ERRORS and not result.data.get("hits"):
        return refusal(f"{result.error or result.status}{_advice(tool) if result.status != 'denied' else ''}")
    if result.status in {"not_found", "empty"}:
        told = f"{result.error or 'nothing was found'}{_advice(tool)}"
        return ToolAnswer(told[:MAX_ERROR_CHARS], {"status": result.status, "note": told[:MAX_ERROR_CHARS]})
    if tool == "read_code":
        if other := _other_file(result, arguments):
            told = f"there is no file {arguments['path']}; near it is {other}{_advice(tool)}"
            return ToolAnswer(told[:MAX_ERROR_CHARS], {"status": "not_found", "note": told[:MAX_ERROR_CHARS]})
        return _lines_read(result, max_tokens, _other_symbol(result, arguments))
    note = _note(tool, result, arguments)
    if _widened(tool, result, arguments) and arguments.get("scope") != result.data.get("scope"):
        result = _fewer_rows(result, "hits")
    if _nowhere(tool, result):
        result = _fewer_rows(result, "results")
    data = compact(result.data) | ({"note": note} if note else {})
    hint = f"{_CUT}{_narrower(tool)}"
    # The hint stands in the text and in the data, under its name.
    text, shown = fitted(data, max_tokens - 2 * size_tokens(f"{hint}hint: ") - 2 * size_tokens(note))
    if "cut" in shown:
        return ToolAnswer(f"{text}\n\n{hint}", {**shown, "hint": hint}, shown=tuple(shown_lines(shown)))
    return ToolAnswer(text, shown, shown=tuple(shown_lines(shown)))


def shown_lines(data: Any, file: str | None = None) -> Iterator[ShownLines]:
    """Yield the lines that an answer shows: of each row its excerpt, or else the first line of its range.

    `file`: that of the rows which name none.
    """
    if isinstance(data, Mapping):
        named = data.get("file", file)
        first, _ = lines_of(data)
        if isinstance(named, str) and first:
            excerpt = data.get("excerpt", {"start_line": first, "end_line": first})
            yield ShownLines(named, excerpt["start_line"], excerpt["end_line"])
        for key, value in data.items():
            if key != "excerpt":
                yield from shown_lines(value, named if isinstance(named, str) else None)
    elif isinstance(data, list):
        for value in data:
            yield from shown_lines(value, file)


def _other_file(result: ToolResult, arguments: Mapping[str, Any]) -> str:
    """Return the file that stands in for one that does not exist; empty where it is the one that was asked for."""
    stood_in = any(attempt.strategy in _STAND_INS and attempt.status == "ok" for attempt in result.attempts)
    return str(result.data.get("file") or "") if arguments.get("path") and stood_in else ""


def _other_symbol(result: ToolResult, arguments: Mapping[str, Any]) -> str:
    """Return that a definition is not the one that was asked for by name and file; empty where it is."""
    asked, path = arguments.get("symbol"), arguments.get("path")
    if not asked:
        return ""
    if any(attempt.strategy in _LIKE_NAMES and attempt.status == "ok" for attempt in result.attempts):
        return f"no definition is named {asked}; this is {result.data.get('symbol')}"
    is_elsewhere = path and posixpath.normpath(path) != result.data.get("file")
    return f"{path} does not define {asked}; this is the one in {result.data.get('file')}" if is_elsewhere else ""


def _lines_read(result: ToolResult, max_tokens: int, note: str) -> ToolAnswer:
    data = compact(result.data) | ({"note": note} if note else {})
    lines_found = str(result.data.get("text", "")).split("\n")
    lines = list(lines_found)
    first, total = int(result.data["start_line"]), int(result.data["total_lines"])
    kept = len(lines)
    while True:
        last = first + kept - 1
        shown = {**data, "end_line": last, "text": "\n".join(lines[:kept])}
        if last < int(result.data["end_line"]) or (result.truncated and last < total):
            shown["cut"] = f"lines {first}-{last} of {total}: go on with start_line={last + 1}, or raise max_lines"
            if kept < len(lines_found):
                shown["cut"] += f" and max_tokens; {last - first + 1} lines fit in {max_tokens} tokens here"
        named = f" {shown['symbol']}" if shown.get("symbol") else ""
        text = f"{shown['file']}:{first}-{last} of {total} lines{named}\n{numbered(shown['text'], first)}"
        text = f"{note}\n{text}" if note else text
        text += f"\n{shown['cut']}" if "cut" in shown else ""
        if size_tokens(text) + size_tokens(json.dumps(shown, ensure_ascii=False)) <= max_tokens:
            break
        if kept == 1 and len(lines[0]) <= MIN_CELL_CHARS:
            break
        # Of a single line that does not fit, as much as does.
        lines[0] = lines[0] if kept > 1 else f"{lines[0][: len(lines[0]) * 4 // 5].rstrip(_ELLIPSIS)}{_ELLIPSIS}"
        kept = max(1, kept * 4 // 5)
    return ToolAnswer(text, shown, shown=(ShownLines(str(shown["file"]), first, last),))


def _note(tool: str, result: ToolResult, arguments: Mapping[str, Any]) -> str:
    """Return what to know about a result that is not complete; empty for a complete one."""
    other = _other_file(result, arguments)
    named = f"there is no file {arguments['path']}; this is of {other}" if other else ""
    nowhere = f"{', '.join(words)} occurs nowhere in this repository" if (words := _nowhere(tool, result)) else ""
    parts = (result.error or "", nowhere, named, _widened(tool, result, arguments), _left_out(result))
    note = "; ".join(part for part in parts if part)
    if not result.truncated:
        return note
    limit = arguments.get("max_results")
    more = f"there are more: ask with max_results above {limit}" if limit is not None else _NARROWER.get(tool, "")
    return "; ".join(part for part in (note, more) if part)


def _widened(tool: str, result: ToolResult, arguments: Mapping[str, Any]) -> str:
    """Return how a text search went beyond what was asked for, because that was nowhere; empty where it did not."""
    if tool != "grep_search" or not result.data.get("hits"):
        return ""
    asked, searched = arguments.get("scope"), result.data.get("scope")
    if asked != searched:
        return f"nothing in {asked}: these are from {searched or 'the whole repository'}, in any case of letters"
    tries = [attempt.strategy for attempt in result.attempts]
    return "no line has it in exactly this case of letters; these have it in another" if "broadened" in tries else ""


def _nowhere(tool: str, result: ToolResult) -> tuple[str, ...]:
    """Return the distinctive words of a question that occur nowhere, so that what was found fits the others alone."""
    return tuple(result.data.get("absence", {}).get("nowhere", ())) if tool == "locate" else ()


def _fewer_rows(result: ToolResult, name: str) -> ToolResult:
    """Return a result with the first rows alone of a list that holds what was not asked for."""
    return msgspec.structs.replace(result, data={**result.data, name: result.data.get(name, [])[:MAX_BESIDE_ROWS]})


def _left_out(result: ToolResult) -> str:
    """Return how many uses of a name were left out because nothing says that they mean the symbol."""
    count = result.data.get("left_out")
    told = "1 further mention" if count == 1 else f"{count} further mentions"
    return f"{told} whose receiver is unknown: ask with include_unproven=true" if count else ""


def _narrower(tool: str) -> str:
    return f", or {_NARROWER[tool]}" if tool in _NARROWER else ""


def _advice(tool: str) -> str:
    return f"; {_NEXT[tool]}" if tool in _NEXT else ""


def room_of(count: int, max_tokens: int) -> tuple[int, int]:
    """Return how many of so many answers fit into `max_tokens` together, and the tokens that each may take."""
    fitting = max(1, min(count, max_tokens // (MIN_JOINED_TOKENS + JOINED_TOKENS)))
    return fitting, max_tokens // fitting - (JOINED_TOKENS if count > 1 else 0)


def joined(answers: Mapping[str, ToolAnswer], left_out: int = 0) -> ToolAnswer:
    """Return the answers of several calls as one, each under its name; an error only if all are errors.

    `left_out`: how many more were asked for, and are not shown.
    """
    if len(answers) == 1 and not left_out:
        return next(iter(answers.values()))
    answers = {
        name: refusal(each.text[:MAX_JOINED_ERROR_CHARS]) if each.is_error else each for name, each in answers.items()
    }
    text = "\n\n".join(f"# {name[:MAX_NAME_CHARS]}\n{answer.text}" for name, answer in answers.items())
    data: dict[str, Any] = {
        "searches": [{**answer.data, "pattern": name[:MAX_NAME_CHARS]} for name, answer in answers.items()]
    }
    if left_out:
        data["cut"] = f"{len(answers)} of {len(answers) + left_out} patterns: ask with a higher max_tokens"
        text += f"\n\n{data['cut']}"
    shown = tuple(lines for answer in answers.values() for lines in answer.shown)
    return ToolAnswer(text, data, all(answer.is_error for answer in answers.values()), shown)
