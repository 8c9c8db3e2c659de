"""Declares the tool `grep_search`."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import asdict
from typing import Annotated

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import TEXT_SEARCH_TIMEOUT_S, Codebase
from runtime.codebase.files.source_text import ReadSource
from runtime.codebase.search.text_search import FoundText
from runtime.codebase.tool_parts.citing import cite
from runtime.codebase.tool_parts.look_up import MAX_HITS, bounded, listed, numbered
from runtime.codebase.tool_registry import CodeTool, Path, Text, by_fields
from runtime.errors import RepositoryError, ToolArgumentsError

# Of several patterns; each takes a processor.
SEARCHES_AT_ONCE = 3


class GrepSearch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which lines have a string or regular expression?"""

    pattern: Text
    regex: bool = False
    scope: Path | None = None
    max_results: Annotated[int, msgspec.Meta(ge=1, le=50)] = 50
    endings: Annotated[tuple[str, ...], msgspec.Meta(max_length=20)] = ()
    further: Annotated[tuple[Text, ...], msgspec.Meta(max_length=7)] = ()


def grep_search(
    codebase: Codebase,
    pattern: str,
    regex: bool = False,
    scope: str | None = None,
    max_results: int = MAX_HITS,
    endings: tuple[str, ...] = (),
    further: tuple[str, ...] = (),
) -> ToolResult:
    """Find lines with a string or regular expression; without a hit, in any case, then in the folder above the scope.

    Only files whose names end with one of `endings` are searched, where any are given.
    `data`: pattern, scope, hits [{file, line, text, citation}]; `further`, only with that argument: the whole results
    of the searches for those patterns, in order, which see the same texts.
    """
    read = codebase.texts_of_call()

    def search(one: str) -> ToolResult:
        return _searched(codebase, one, regex, scope, max_results, endings, read)

    if not further:
        return search(pattern)
    # Each has its own time, which an expression may take in full while the others go on.
    with ThreadPoolExecutor(SEARCHES_AT_ONCE) as pool:
        found = [pool.submit(copy_context().run, search, one) for one in (pattern, *further)]
    first, *others = [one.result() for one in found]
    data = {**first.data, "further": [msgspec.to_builtins(other) for other in others]}
    return msgspec.structs.replace(first, data=data)


def _searched(
    codebase: Codebase,
    pattern: str,
    regex: bool,
    scope: str | None,
    max_results: int,
    endings: tuple[str, ...],
    read: ReadSource,
) -> ToolResult:
    log = AttemptLog()
    limit = bounded(max_results, MAX_HITS)
    above = posixpath.dirname(scope.strip("/")) if scope else ""
    tries: list[tuple[str, str | None, bool]] = [("as_asked", scope, True), ("broadened", scope, False)]
    tries += [(f"parent:{above or '.'}", above or None, False)] if scope else []
    found = FoundText([], more=False, timed_out=False)
    place = scope
    try:
        for name, place, exact in tries:
            tried = log.run(name, _grep(codebase, pattern, regex, place, exact, limit, endings, read))
            found = tried[0] if tried else found
            # A search that timed out would time out again in more text.
            if found.hits or found.timed_out:
                break
    except ToolArgumentsError as error:
        return log.result("error", {"pattern": pattern}, [], error=error.message, at_fault="request")
    except RepositoryError as error:
        return log.result("denied", {"pattern": pattern}, [], error=error.message)
    citations: list[Citation] = []
    rows = [
        {
            **asdict(hit),
            "citation": numbered(citations, cite(codebase, hit.file, hit.line, hit.line, why="has the text")),
        }
        for hit in found.hits
    ]
    data = {"pattern": pattern, "scope": place, "hits": rows}
    if found.timed_out:
        told = f"the search for {pattern!r} took longer than {TEXT_SEARCH_TIMEOUT_S:g} s and was ended; "
        told += f"{'simplify the pattern or name' if regex else 'the repository is large for one search: name'} a scope"
        return log.result(
            "partial" if rows else "timeout", data, citations, truncated=True, error=told, at_fault="request"
        )
    return listed(log, data, citations, found.more, bool(rows))


def _grep(
    codebase: Codebase,
    pattern: str,
    regex: bool,
    scope: str | None,
    exact: bool,
    limit: int,
    endings: tuple[str, ...],
    read: ReadSource,
) -> Callable[[], list[FoundText]]:
    def search() -> list[FoundText]:
        found = codebase.search_text(
            pattern, regex=regex, case_sensitive=exact, scope=scope, max_hits=limit, endings=endings, read=read
        )
        return [found] if found.hits or found.timed_out else []

    return search


TOOL = CodeTool(
    name="grep_search",
    description="Lines with a string or regular expression.",
    parameters=GrepSearch,
    run=by_fields(grep_search),
    exposed=False,
    place=120,
    example={"pattern": "TODO"},
)
