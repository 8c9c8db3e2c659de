"""Declares the tool `find_similar_files`."""

from __future__ import annotations

from typing import Annotated

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.index.records import IndexedFile
from runtime.codebase.tool_parts.citing import cite
from runtime.codebase.tool_parts.look_up import MAX_HITS, bounded, listed, numbered, of_file
from runtime.codebase.tool_registry import CodeTool, Path, by_fields
from runtime.codebase.tools.find_related import similar_files


class FindSimilarFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which files are like a file?"""

    path: Path
    max_results: Annotated[int, msgspec.Meta(ge=1, le=50)] = 15


def find_similar_files(codebase: Codebase, path: str, max_results: int = 15) -> ToolResult:
    """Find files that share the rarest words of a file, best first. `data`: file, files [{file, citation}]."""
    log = AttemptLog()

    def read(file: IndexedFile) -> ToolResult:
        limit = bounded(max_results, MAX_HITS)
        found = log.run("shared_words", lambda: similar_files(codebase, file.path))
        citations: list[Citation] = []
        rows = [
            {"file": other, "citation": numbered(citations, cite(codebase, other, start, end, why=f"like {file.path}"))}
            for other, start, end in found[:limit]
        ]
        return listed(log, {"file": file.path, "files": rows}, citations, len(found) > limit, bool(rows))

    return of_file(codebase, path, log, read)


TOOL = CodeTool(
    name="find_similar_files",
    description="Files that share the rarest words of a file, best first.",
    parameters=FindSimilarFiles,
    run=by_fields(find_similar_files),
    exposed=False,
    isolation="in_process",
    place=190,
    example={"path": "pkg/app.py"},
)
