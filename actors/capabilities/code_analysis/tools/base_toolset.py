"""The base tools: parameters and costs. No agent is told of them; `jeeves tool` calls them by hand."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.tools import base_tools
from runtime.tools.registry import Tool

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]
Path = Annotated[str, msgspec.Meta(max_length=4_096)]
Line = Annotated[int, msgspec.Meta(ge=1)]


class ReadFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Lines of a file, both ends included."""

    path: Path
    start_line: Line | None = None
    end_line: Line | None = None


class GlobFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which paths fit a pattern?"""

    pattern: Text
    max_results: Annotated[int, msgspec.Meta(ge=1, le=500)] = 500


class GrepSearch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which lines have a string or regular expression?"""

    pattern: Text
    regex: bool = False
    scope: Path | None = None
    max_results: Annotated[int, msgspec.Meta(ge=1, le=50)] = 50


class TreeStructure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which folders and files lie below a path?"""

    path: Path = "."
    max_depth: Annotated[int, msgspec.Meta(ge=1, le=15)] = 15


class FindSymbol(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where is a name defined?"""

    name: Text
    max_results: Annotated[int, msgspec.Meta(ge=1, le=100)] = 100


class OfFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What has a file?"""

    path: Path


class GetImporters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who imports a file, folder or module?"""

    module: Text


class SemanticSearch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which pieces of code fit a question?"""

    query: Text
    scope: Path | None = None
    max_results: Annotated[int, msgspec.Meta(ge=1, le=100)] = 20


class FindSimilarFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which files are like a file?"""

    path: Path
    max_results: Annotated[int, msgspec.Meta(ge=1, le=50)] = 15


class GitLog(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which commits touched a path?"""

    path: Path | None = None
    max_commits: Annotated[int, msgspec.Meta(ge=1, le=100)] = 20


class GitBlame(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who wrote lines of a file?"""

    path: Path
    start_line: Line = 1
    end_line: Line | None = None


class GitDiff(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What differs from a commit?"""

    path: Path | None = None
    base: Annotated[str, msgspec.Meta(min_length=1, max_length=200)] = "HEAD"


def _by_fields(name: str) -> Any:
    """The function of `base_tools` of that name, called with the fields of the parameters."""
    function = getattr(base_tools, name)

    def run(codebase: Codebase, given: msgspec.Struct) -> ToolResult:
        result: ToolResult = function(codebase, **msgspec.structs.asdict(given))
        return result

    return run


_PARAMETERS: dict[str, type[msgspec.Struct]] = {
    "read_file": ReadFile,
    "glob_files": GlobFiles,
    "grep_search": GrepSearch,
    "tree_structure": TreeStructure,
    "find_symbol": FindSymbol,
    "get_file_symbols": OfFile,
    "get_imports": OfFile,
    "get_importers": GetImporters,
    "semantic_search": SemanticSearch,
    "find_similar_files": FindSimilarFiles,
    "git_log": GitLog,
    "git_blame": GitBlame,
    "git_diff": GitDiff,
}

BASE_TOOLS = tuple(
    Tool(
        name,
        (getattr(base_tools, name).__doc__ or "").split(". ")[0] + ".",
        parameters,
        _by_fields(name),
        exposed=False,
    )
    for name, parameters in _PARAMETERS.items()
)
