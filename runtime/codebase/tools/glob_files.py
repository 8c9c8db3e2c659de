"""Declares the tool `glob_files`."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable
from typing import Annotated

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.tool_parts.look_up import MAX_PATHS, bounded, listed
from runtime.codebase.tool_registry import CodeTool, Text, by_fields


class GlobFiles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which paths fit a pattern?"""

    pattern: Text
    max_results: Annotated[int, msgspec.Meta(ge=1, le=500)] = 500


def glob_files(codebase: Codebase, pattern: str, max_results: int = MAX_PATHS) -> ToolResult:
    """List readable files whose path, or name if the pattern has no slash, matches a pattern with `*`, `?`, `[…]`.

    `**/` matches any number of folders. Without a match, the pattern is tried in any case, as a part of the path or
    name. `data`: pattern, files [{file, language, lines}].
    """
    log = AttemptLog()
    files = [file for file in codebase.files() if file.is_readable]
    fits = _fitting(pattern)
    found = log.run("pattern", lambda: [file for file in files if fits(file.path)])
    if not found:
        fits_part = _fitting(f"*{pattern.lower()}*")
        found = log.run("broadened", lambda: [file for file in files if fits_part(file.path.lower())])
    limit = bounded(max_results, MAX_PATHS)
    rows = [{"file": file.path, "language": file.language, "lines": file.lines} for file in found[:limit]]
    return listed(log, {"pattern": pattern, "files": rows}, [], len(found) > limit, bool(rows))


def _fitting(pattern: str) -> Callable[[str], object]:
    """Return what is true of paths that fit a pattern; it is asked for each of up to 200,000 files."""
    # `a/**/b` fits `a/b` too.
    either = "|".join(fnmatch.translate(each) for each in dict.fromkeys((pattern, pattern.replace("**/", ""))))
    fits = re.compile(either).match
    return fits if "/" in pattern else lambda path: fits(path.rpartition("/")[2])


TOOL = CodeTool(
    name="glob_files",
    description="Readable files whose path, or name if the pattern has no slash, fits a pattern with `*`, `?`, `[…]`.",
    parameters=GlobFiles,
    run=by_fields(glob_files),
    exposed=False,
    place=110,
    example={"pattern": "**/*.toml"},
)
