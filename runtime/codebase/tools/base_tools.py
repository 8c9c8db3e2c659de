"""The thirteen base tools: one look-up each, with its fallbacks. Agents are given the composite ones instead.

Every tool returns what it tried as attempts and never raises for what it was asked: a path that leads outside is
`denied`, one that is not there `not_found`, a search without hits `empty`. Lists are bounded, and `truncated` says when
something was left out.
"""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from runtime.codebase.attempt_log import AttemptLog, tokens_of
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import TEXT_SEARCH_TIMEOUT_S, Codebase
from runtime.codebase.files.paths import is_denied, readable_path
from runtime.codebase.git import commit_history
from runtime.codebase.git.git_process import Git
from runtime.codebase.index.records import IndexedFile, SymbolRecord
from runtime.codebase.search.text_search import FoundText
from runtime.codebase.tools.citing import cite, cite_symbol
from runtime.codebase.tools.fallbacks import find_file
from runtime.codebase.tools.find_related import similar_files
from runtime.codebase.tools.module_map import map_module
from runtime.codebase.tools.read_code import read_code
from runtime.errors import RepositoryError, ToolArgumentsError
from runtime.tools.result import Attempt, ToolStatus

MAX_HITS = 50
MAX_SYMBOLS = 100
MAX_PATHS = 500
MAX_COMMITS = 100

_Row = dict[str, Any]


def read_file(codebase: Codebase, path: str, start_line: int | None = None, end_line: int | None = None) -> ToolResult:
    """Lines of a file; a path that is not there is looked for among similar ones, then by name. See `read_code`."""
    return read_code(codebase, path, None, start_line, end_line)


def glob_files(codebase: Codebase, pattern: str, max_results: int = MAX_PATHS) -> ToolResult:
    """Readable files whose path, or whose name when the pattern has no slash, fits a pattern with `*`, `?`, `[…]`.

    `**` is any number of folders. `data`: pattern, files [{file, language, lines}]. Without a hit: in any case.
    """
    log = AttemptLog()
    files = [file for file in codebase.files() if file.is_readable]
    found = log.run("pattern", lambda: [file for file in files if _fits(file.path, pattern)])
    if not found:
        found = log.run(
            "broadened", lambda: [file for file in files if _fits(file.path.lower(), f"*{pattern.lower()}*")]
        )
    limit = _bounded(max_results, MAX_PATHS)
    rows = [{"file": file.path, "language": file.language, "lines": file.lines} for file in found[:limit]]
    return _listed(log, {"pattern": pattern, "files": rows}, [], len(found) > limit, bool(rows))


def _fits(path: str, pattern: str) -> bool:
    if "/" not in pattern:
        return fnmatch.fnmatchcase(posixpath.basename(path), pattern)
    # `a/**/b` fits `a/b` too.
    return fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path, pattern.replace("**/", ""))


def grep_search(
    codebase: Codebase, pattern: str, regex: bool = False, scope: str | None = None, max_results: int = MAX_HITS
) -> ToolResult:
    """Lines with a string or regular expression. Without a hit: in any case, then in the folder above the scope.

    `data`: pattern, scope, hits [{file, line, text, citation}].
    """
    log = AttemptLog()
    limit = _bounded(max_results, MAX_HITS)
    above = posixpath.dirname(scope.strip("/")) if scope else ""
    tries: list[tuple[str, str | None, bool]] = [("as_asked", scope, True), ("broadened", scope, False)]
    tries += [(f"parent:{above or '.'}", above or None, False)] if scope else []
    found = FoundText([], more=False, timed_out=False)
    place = scope
    try:
        for name, place, exact in tries:
            tried = log.run(name, _grep(codebase, pattern, regex, place, exact, limit))
            found = tried[0] if tried else found
            # What took too long once would take as long again in more text.
            if found.hits or found.timed_out:
                break
    except ToolArgumentsError as error:
        return log.result("error", {"pattern": pattern}, [], error=error.message)
    except RepositoryError as error:
        return log.result("denied", {"pattern": pattern}, [], error=error.message)
    citations: list[Citation] = []
    rows = [
        {
            **asdict(hit),
            "citation": _number(citations, cite(codebase, hit.file, hit.line, hit.line, why="has the text")),
        }
        for hit in found.hits
    ]
    data = {"pattern": pattern, "scope": place, "hits": rows}
    if found.timed_out:
        told = f"the search for {pattern!r} took longer than {TEXT_SEARCH_TIMEOUT_S:g} s and was ended; simplify the "
        told += "pattern or name a scope"
        return log.result("partial" if rows else "timeout", data, citations, truncated=True, error=told)
    return _listed(log, data, citations, found.more, bool(rows))


def _grep(
    codebase: Codebase, pattern: str, regex: bool, scope: str | None, exact: bool, limit: int
) -> Callable[[], list[FoundText]]:
    def search() -> list[FoundText]:
        found = codebase.search_text(pattern, regex=regex, case_sensitive=exact, scope=scope, max_hits=limit)
        return [found] if found.hits or found.timed_out else []

    return search


def tree_structure(codebase: Codebase, path: str = ".", max_depth: int = 15) -> ToolResult:
    """Folders and files below a path. `data`: path, tree [line …]."""
    mapped = map_module(codebase, path, max_depth)
    data: _Row = {key: mapped.data[key] for key in ("path", "tree") if key in mapped.data}
    return msgspec.structs.replace(mapped, data=data, citations=(), tokens=tokens_of(data))


def find_symbol(codebase: Codebase, name: str, max_results: int = MAX_SYMBOLS) -> ToolResult:
    """Definitions of a name. Without one: partial names, then imports of it. `data`: name, symbols, imports."""
    log = AttemptLog()
    limit = _bounded(max_results, MAX_SYMBOLS)
    found = log.run("symbol_index", lambda: codebase.symbols_named(name, limit=limit + 1), "not_found")
    if not found:
        found = log.run(
            "partial_symbol", lambda: codebase.symbols_named(name, fuzzy=True, limit=limit + 1), "not_found"
        )
    imports = [] if found else log.run("imports", lambda: codebase.importers(name, limit=limit), "not_found")
    citations: list[Citation] = []
    rows = [_symbol_row(codebase, symbol, citations) for symbol in found[:limit]]
    places = [
        {
            "file": item.file,
            "line": item.line,
            "module": item.module,
            "citation": _number(citations, cite(codebase, item.file, item.line, item.line, why=f"imports {name}")),
        }
        for item in imports
    ]
    data = {"name": name, "symbols": rows, "imports": places}
    if not rows and not places:
        return log.result("not_found", data, [], error=f"nothing in the repository is named {name}")
    return _listed(log, data, citations, len(found) > limit, True)


def get_file_symbols(codebase: Codebase, path: str) -> ToolResult:
    """Definitions in a file, by line. `data`: file, status (how it was read), symbols."""
    log = AttemptLog()

    def read(file: IndexedFile) -> ToolResult:
        found = log.run("file_symbols", lambda: codebase.symbols_in(file.path, limit=MAX_PATHS + 1))
        citations: list[Citation] = []
        rows = [_symbol_row(codebase, symbol, citations) for symbol in found[:MAX_PATHS]]
        data = {"file": file.path, "status": file.status, "symbols": rows}
        if file.status == "unsupported" and not rows:
            return log.result("unsupported", data, [], error=f"{file.path} is of a kind that is not read for symbols")
        return _listed(log, data, citations, len(found) > MAX_PATHS, bool(rows))

    return _of_file(codebase, path, log, read)


def get_imports(codebase: Codebase, path: str) -> ToolResult:
    """What a file imports. `data`: file, imports [{line, module, name, alias, target, citation}]."""
    log = AttemptLog()

    def read(file: IndexedFile) -> ToolResult:
        found = log.run("imports", lambda: codebase.imports_of(file.path))
        citations: list[Citation] = []
        rows = [
            {
                **asdict(item),
                "citation": _number(citations, cite(codebase, item.file, item.line, item.line, why="imports")),
            }
            for item in found[:MAX_PATHS]
        ]
        return _listed(log, {"file": file.path, "imports": rows}, citations, len(found) > MAX_PATHS, bool(rows))

    return _of_file(codebase, path, log, read)


def get_importers(codebase: Codebase, module: str) -> ToolResult:
    """Who imports a file, folder or module. `data`: module, importers [{file, line, module, name, citation}]."""
    log = AttemptLog()
    found = log.run("importers", lambda: codebase.importers(module, limit=MAX_PATHS + 1))
    citations: list[Citation] = []
    rows = [
        {
            **asdict(item),
            "citation": _number(citations, cite(codebase, item.file, item.line, item.line, why=f"imports {module}")),
        }
        for item in found[:MAX_PATHS]
    ]
    return _listed(log, {"module": module, "importers": rows}, citations, len(found) > MAX_PATHS, bool(rows))


def semantic_search(codebase: Codebase, query: str, scope: str | None = None, max_results: int = 20) -> ToolResult:
    """Pieces of code that fit a question, best first. `data`: query, meaning, hits [{file, start_line, end_line,
    symbol, score, citation}]; `meaning` is false where the extra `embeddings` is missing and words alone counted.
    """
    log = AttemptLog()
    limit = _bounded(max_results, MAX_SYMBOLS)
    try:
        found = log.run("ranked_chunks", lambda: codebase.search_chunks(query, limit, scope=scope))
        if not found and scope:
            above = posixpath.dirname(scope.strip("/")) or None
            found = log.run(f"parent:{above or '.'}", lambda: codebase.search_chunks(query, limit, scope=above))
    except RepositoryError as error:
        return log.result("denied", {"query": query}, [], error=error.message)
    citations: list[Citation] = []
    rows = [
        {
            "file": hit.file,
            "start_line": hit.start_line,
            "end_line": hit.end_line,
            "symbol": hit.symbol,
            "score": hit.score,
            "citation": _number(
                citations, cite(codebase, hit.file, hit.start_line, hit.end_line, why="fits the question")
            ),
        }
        for hit in found
    ]
    data = {"query": query, "meaning": codebase.semantics is not None, "hits": rows}
    return _listed(log, data, citations, False, bool(rows))


def find_similar_files(codebase: Codebase, path: str, max_results: int = 15) -> ToolResult:
    """Files that share the rarest words of a file, best first. `data`: file, files [{file, citation}]."""
    log = AttemptLog()

    def read(file: IndexedFile) -> ToolResult:
        limit = _bounded(max_results, MAX_HITS)
        found = log.run("shared_words", lambda: similar_files(codebase, file.path))
        citations: list[Citation] = []
        rows = [
            {"file": other, "citation": _number(citations, cite(codebase, other, start, end, why=f"like {file.path}"))}
            for other, start, end in found[:limit]
        ]
        return _listed(log, {"file": file.path, "files": rows}, citations, len(found) > limit, bool(rows))

    return _of_file(codebase, path, log, read)


def git_log(codebase: Codebase, path: str | None = None, max_commits: int = 20) -> ToolResult:
    """Commits, newest first. `data`: path, commits [{hash, author, date, subject}]."""
    limit = _bounded(max_commits, MAX_COMMITS)

    def read(git: Git, place: str | None, log: AttemptLog) -> ToolResult:
        found = log.run("git_log", lambda: commit_history.log(git, place, limit=limit + 1))
        data = {"path": path, "commits": [asdict(commit) for commit in found[:limit]]}
        return _listed(log, data, [], len(found) > limit, bool(found))

    return _with_git(codebase, path, read)


def git_blame(codebase: Codebase, path: str, start_line: int = 1, end_line: int | None = None) -> ToolResult:
    """Who wrote the lines of a file last. `data`: file, lines [{line, hash, author, date, subject}]."""

    def read(git: Git, place: str | None, log: AttemptLog) -> ToolResult:
        file = place or "."
        total = len(codebase.source(file).lines)
        first, last = max(1, start_line), min(end_line or total, total, start_line + MAX_PATHS - 1)
        if first > last:
            raise RepositoryError(f"{file} has {total} lines; line {start_line} is not among them", path=file)
        found = log.run("git_blame", lambda: commit_history.blame(git, file, first, last))
        rows = [{"line": line.line, **asdict(line.commit)} for line in found]
        made = cite(codebase, file, first, last, why="was blamed")
        return _listed(
            log, {"file": file, "lines": rows}, [made] if made else [], last < (end_line or total), bool(rows)
        )

    return _with_git(codebase, path, read)


def git_diff(codebase: Codebase, path: str | None = None, base: str = "HEAD") -> ToolResult:
    """What differs between a commit and the work tree, without files that may hold secrets. `data`: base, diff."""

    def read(git: Git, place: str | None, log: AttemptLog) -> ToolResult:
        commit = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}^{{commit}}").strip()
        found = log.run("git_diff", lambda: [part for part in [commit_history.diff(git, commit, place)] if part[0]])
        text, cut = found[0] if found else ("", False)
        return _listed(log, {"base": base, "path": path, "diff": text}, [], cut, bool(text))

    return _with_git(codebase, path, read)


def _with_git(
    codebase: Codebase, path: str | None, read: Callable[[Git, str | None, AttemptLog], ToolResult]
) -> ToolResult:
    log = AttemptLog()
    try:
        place = readable_path(codebase.root, path, allow_secrets=codebase.allow_secrets) if path else None
        git = Git(codebase.root)
        if not git.is_repository():
            return log.result("unsupported", {}, [], error="the folder is no git repository with commits")
        return read(git, None if place == "." else place, log)
    except RepositoryError as error:
        late = bool(error.values.get("timed_out"))
        status: ToolStatus = "denied" if is_denied(error) else "timeout" if late else "not_found"
        log.attempts.append(Attempt("git", status))
        return log.result(status, {"path": path}, [], error=error.message)


def _of_file(codebase: Codebase, path: str, log: AttemptLog, read: Callable[[IndexedFile], ToolResult]) -> ToolResult:
    """What is read of the file at a path, or of the one that the path most likely means."""
    try:
        found = find_file(codebase, path, log)
    except RepositoryError as error:
        return log.result("denied", {"asked_path": path}, [], error=error.message)
    known = codebase.file(found) if found else None
    if known is None:
        return log.result("not_found", {"asked_path": path}, [], error=f"no file {path} in the index")
    return read(known)


def _symbol_row(codebase: Codebase, symbol: SymbolRecord, citations: list[Citation]) -> _Row:
    made = cite_symbol(codebase, symbol, f"defines {symbol.qualified_name}")
    return {
        "file": symbol.file,
        "symbol": symbol.qualified_name,
        "kind": symbol.kind,
        "start_line": symbol.start_line,
        "end_line": symbol.end_line,
        "signature": symbol.signature,
        "docstring": symbol.docstring,
        "citation": _number(citations, made),
    }


def _number(citations: list[Citation], made: Citation | None) -> int | None:
    if made is None:
        return None
    citations.append(made)
    return len(citations) - 1


def _bounded(asked: int, most: int) -> int:
    return max(1, min(asked, most))


def _listed(log: AttemptLog, data: _Row, citations: Sequence[Citation], truncated: bool, has_any: bool) -> ToolResult:
    status: ToolStatus = "empty" if not has_any else "partial" if truncated else "ok"
    return log.result(status, data, list(citations), truncated=truncated)
