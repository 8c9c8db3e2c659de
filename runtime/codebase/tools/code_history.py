"""Declares the tool `explain_code_history`: commits, authorship and uncommitted changes of code.

A commit is not a place in a file, so the citations are the lines in question as they are now; the commits are data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.files.paths import is_denied
from runtime.codebase.files.regular_file import read_below
from runtime.codebase.files.source_text import MAX_READ_BYTES
from runtime.codebase.git import commit_history
from runtime.codebase.git.commit_history import BlamedLine, Commit
from runtime.codebase.git.git_process import Git
from runtime.codebase.tool_parts.citing import cite
from runtime.codebase.tool_parts.fallbacks import find_file, find_symbols
from runtime.codebase.tool_registry import CodeTool, Line, Path, Text, by_fields
from runtime.errors import RepositoryError
from runtime.primitives.dotted_names import last_part
from runtime.tools.result import Attempt, ToolStatus

MAX_COMMITS = 100
MAX_BLAMED_LINES = 400
MAX_CITED_LINES = 80

_T = TypeVar("_T")


class ExplainCodeHistory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How did a file, some lines of it, or a symbol come to be as they are? `origin`: and when was its name new?"""

    path: Path | None = None
    symbol: Text | None = None
    start_line: Line | None = None
    end_line: Line | None = None
    max_commits: Annotated[int, msgspec.Meta(ge=1, le=100)] = 20
    origin: bool = False


def explain_code_history(
    codebase: Codebase,
    path: str | None = None,
    symbol: str | None = None,
    start_line: int | None = None,
    end_line: int | None = None,
    max_commits: int = 20,
    origin: bool = False,
) -> ToolResult:
    """Return commits, authorship and uncommitted changes of a file, of some of its lines, or of a symbol.

    `data`: file, symbol, start_line, end_line, commits [{hash, author, date, subject}] newest first, blame
    [{start_line, end_line, hash, author, date, subject, citation}] for lines and symbols, authors {name: lines}, diff
    (of uncommitted changes), boundary [hash] at which a shallow clone ends, origin (with `origin`, of a symbol: the
    commit that introduced its name, or None). If the lines' own history is not available, the file's is returned.
    Status `unsupported` without git or commits, `not_found`, `denied`; `partial` if a part failed or was cut.
    """
    log = AttemptLog(codebase.max_retries)
    limit = max(1, min(max_commits, MAX_COMMITS))
    try:
        place = _place(codebase, path, symbol, start_line, end_line, log)
        if place is None:
            error = f"no symbol {symbol} in the index" if symbol else "give a path or a symbol"
            missing: ToolStatus = "not_found" if symbol else "error"
            return log.result(missing, {"symbol": symbol}, [], error=error, at_fault="request")
        git = Git(codebase.root, codebase.history)
        if why := git.why_unusable():
            return log.result("unsupported", place, [], error=why)
        if place["file"] != "." and not commit_history.is_tracked(git, place["file"]):
            return log.result("empty", place, [], error=f"{place['file']} is not committed to git")
        return _History(codebase, git, log, place, limit).result(origin)
    except RepositoryError as error:
        status: ToolStatus = "denied" if is_denied(error) else "not_found"
        return log.result(status, {"asked_path": path, "symbol": symbol}, [], error=error.message)


def _place(
    codebase: Codebase, path: str | None, symbol: str | None, start: int | None, end: int | None, log: AttemptLog
) -> dict[str, Any] | None:
    """Resolve the file and lines (None: the whole file) to explain; None without such a symbol, or without a path."""
    if symbol:
        found = find_symbols(codebase, symbol, log)
        wanted = codebase.relative(path) if path else None
        found = [item for item in found if item.file == wanted] or found
        if not found:
            return None
        around = (item for item in found if start is not None and item.start_line <= start <= item.end_line)
        best = next(around, found[0])
        return {
            "file": best.file,
            "symbol": best.qualified_name,
            "start_line": start or best.start_line,
            "end_line": end or best.end_line,
        }
    if not path:
        return None
    relative = codebase.relative(path)
    if relative == "." or (codebase.root / relative).is_dir():
        return {"file": relative, "symbol": None, "start_line": None, "end_line": None}
    file = find_file(codebase, path, log)
    if file is None:
        raise RepositoryError(f"no file {path} in the repository", path=path)
    total = len(codebase.source(file).lines)
    lines = None if start is None and end is None else (max(1, start or 1), min(end or total, total))
    if lines and lines[0] > lines[1]:
        raise RepositoryError(f"{file} has {total} lines; line {start} is not among them", path=file)
    return {
        "file": file,
        "symbol": None,
        "start_line": lines[0] if lines else None,
        "end_line": lines[1] if lines else None,
    }


class _History:
    """Collects the parts of one result; a failed part leaves its error without stopping the others."""

    def __init__(self, codebase: Codebase, git: Git, log: AttemptLog, place: dict[str, Any], limit: int) -> None:
        self._codebase = codebase
        self._git = git
        self._log = log
        self._place = place
        self._limit = limit
        self._errors: list[str] = []
        self._citations: list[Citation] = []

    def result(self, with_origin: bool) -> ToolResult:
        file, start, end = self._place["file"], self._place["start_line"], self._place["end_line"]
        whole = None if file == "." else file
        commits: list[Commit] = []
        if start is not None:
            commits = self._part(
                "log_of_lines",
                lambda: commit_history.log_of_lines(self._git, file, start, end, limit=self._limit + 1),
            )
        if not commits:
            commits = self._part("log", lambda: self._log_of(whole))
        blamed: list[BlamedLine] = []
        if start is not None:
            last = min(end, start + MAX_BLAMED_LINES - 1)
            blamed = self._part(
                "blame", lambda: commit_history.blame(self._git, file, start, last, self._content_of(file))
            )
        changes = self._part("diff", lambda: [commit_history.diff(self._git, "HEAD", whole)])
        text, cut = changes[0] if changes else ("", False)
        name = last_part(str(self._place["symbol"] or ""))
        first = (
            self._part("origin", lambda: [commit_history.first_with(self._git, name)]) if with_origin and name else []
        )
        data = self._place | {
            "boundary": commit_history.boundary(self._git),
            "origin": asdict(first[0]) if first and first[0] else None,
            "commits": [asdict(commit) for commit in commits[: self._limit]],
            "blame": self._blame_rows(blamed),
            "authors": _authors(blamed),
            "diff": text,
        }
        if not self._citations and start is None and file != ".":
            self._cite(file, 1, MAX_CITED_LINES, f"has {len(commits)} commits" if commits else "has no commits")
        truncated = cut or len(commits) > self._limit or (start is not None and end - start >= MAX_BLAMED_LINES)
        status: ToolStatus = "partial" if truncated or self._errors else "ok"
        if not commits:
            status = "empty"
        error = "; ".join(self._errors) or None
        return self._log.result(status, data, self._citations, truncated=truncated, error=error)

    def _content_of(self, file: str) -> bytes:
        try:
            return read_below(self._codebase.root, file, MAX_READ_BYTES)
        except OSError:
            return b""

    def _log_of(self, whole: str | None) -> list[Commit]:
        is_file = whole is not None and (self._codebase.root / whole).is_file()
        return commit_history.log(self._git, whole, limit=self._limit + 1, follow=is_file, merges=False)

    def _part(self, name: str, read: Callable[[], Sequence[_T]]) -> list[_T]:
        try:
            return self._log.run(name, lambda: list(read()))
        except RepositoryError as error:
            late = bool(error.values.get("timed_out"))
            self._log.attempts.append(Attempt(name, "timeout" if late else "error"))
            self._errors.append(error.message)
            return []

    def _blame_rows(self, lines: list[BlamedLine]) -> list[dict[str, Any]]:
        rows = []
        for first, last, commit in _runs(lines):
            why = f"last changed in {commit.hash[:12]}: {commit.subject}"[:200]
            row = {"start_line": first, "end_line": last, **asdict(commit), "date": _iso(commit.date)}
            rows.append(row | {"citation": self._cite(self._place["file"], first, last, why)})
        return rows

    def _cite(self, file: str, start: int, end: int, why: str) -> int | None:
        made = cite(self._codebase, file, start, end, why=why, symbol=self._place["symbol"])
        if made is None:
            return None
        self._citations.append(made)
        return len(self._citations) - 1


def _runs(lines: list[BlamedLine]) -> list[tuple[int, int, Commit]]:
    """Group neighbouring lines of the same commit."""
    runs: list[tuple[int, int, Commit]] = []
    for line in lines:
        if runs and runs[-1][2].hash == line.commit.hash and runs[-1][1] == line.line - 1:
            runs[-1] = (runs[-1][0], line.line, line.commit)
        else:
            runs.append((line.line, line.line, line.commit))
    return runs


def _authors(lines: list[BlamedLine]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for line in lines:
        counts[line.commit.author] = counts.get(line.commit.author, 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _iso(seconds: str) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).isoformat() if seconds.isdigit() else seconds


TOOL = CodeTool(
    name="explain_code_history",
    description="Commits, authors and uncommitted changes of a file, lines or a symbol.",
    parameters=ExplainCodeHistory,
    run=by_fields(explain_code_history),
    reduced={"max_commits": 3, "origin": False},
    cost=5,
    place=50,
    example={"path": "pkg/app.py"},
)
