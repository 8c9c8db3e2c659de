"""Declares the tool `find_dependency`: where a dependency is declared, imported and used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.dependencies.declared import declared_requirements
from runtime.codebase.dependencies.dependency_imports import Imported, imports_of
from runtime.codebase.dependencies.dependency_uses import mentions_of, uses_by_path, uses_in
from runtime.codebase.dependencies.named_requirements import named
from runtime.codebase.dependencies.requirement import Requirement
from runtime.codebase.tool_parts.citing import cite
from runtime.codebase.tool_parts.look_up import Row, bounded, listed, numbered
from runtime.codebase.tool_registry import CodeTool, by_fields

MAX_RESULTS = 100
MAX_DECLARED = 8
MAX_MENTIONS = 8


class FindDependency(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where is a dependency declared, imported and used? All that are declared, if none is named."""

    name: Annotated[str, msgspec.Meta(max_length=300)] = ""
    max_results: Annotated[int, msgspec.Meta(ge=1, le=MAX_RESULTS)] = 30


def find_dependency(codebase: Codebase, name: str = "", max_results: int = 30) -> ToolResult:
    """Find what metadata files declare of a dependency, the lines that import it, and those that use what they import.

    `data`: name, dependencies [{name, group, file, line, text, citation}], imports [{file, line, enclosing, text,
    citation}], importing_files (how many, with those that name it by a path), uses (like imports), mentions (like
    imports: lines that only have its name, given where nothing imports it). `group`: runtime, optional (with an extra
    alone), development, build, indirect (of another dependency alone). Without a name all dependencies that are
    declared, and nothing else. Status `not_found` for a name that nothing declares, `empty` where nothing is declared.
    """
    log = AttemptLog()
    limit = bounded(max_results, MAX_RESULTS)
    declared = log.run("metadata_files", lambda: declared_requirements(codebase))
    sheet = _Sheet(codebase)
    if not name.strip():
        rows = [sheet.declared(each) for each in declared[:limit]]
        return listed(log, {"name": "", "dependencies": rows}, sheet.citations, len(declared) > limit, bool(rows))
    own = named(declared, name)
    if not own:
        files = len({each.file for each in declared})
        return log.result("not_found", {"name": name}, [], error=f"no metadata file of {files} declares {name}")
    imported = log.run("imports", lambda: imports_of(codebase, own, declared))
    by_path = log.run("paths", lambda: uses_by_path(codebase, own))
    uses = log.run("references", lambda: uses_in(codebase, imported, by_path))
    mentioned = log.run("text", lambda: mentions_of(codebase, own)) if not (imported or by_path) else []
    data: dict[str, Any] = {
        "name": own[0].name,
        "dependencies": [sheet.declared(each) for each in own[:MAX_DECLARED]],
        "imports": sheet.imports(imported, limit),
        "importing_files": len({each.file for each in imported}.union(use.file for use in by_path)),
        "uses": [sheet.line(use.file, use.line, "uses it", use.enclosing) for use in uses[:limit]],
        "mentions": [sheet.line(file, line, "has its name") for file, line in mentioned[:MAX_MENTIONS]],
    }
    cut = len(imported) > limit or len(uses) > limit
    return listed(log, data, sheet.citations, cut, has_any=True)


class _Sheet:
    """Collects the citations of a result, each with its row."""

    def __init__(self, codebase: Codebase) -> None:
        self._codebase = codebase
        self.citations: list[Citation] = []

    def line(self, file: str, line: int, why: str, enclosing: str | None = None) -> Row:
        """Return the row of one line; without `enclosing`, of the definition around it."""
        if enclosing is None:
            around = self._codebase.symbol_at(file, line)
            enclosing = around.qualified_name if around is not None else ""
        made = cite(self._codebase, file, line, line, why=why, symbol=enclosing or None)
        text = made.quote if made is not None else ""
        row = {"file": file, "line": line, "enclosing": enclosing, "text": text}
        return {**row, "citation": numbered(self.citations, made)}

    def declared(self, each: Requirement) -> Row:
        """Return the row of a declaration."""
        terms = (each.alias or each.name).lower(), each.name.rpartition(":")[2].lower()
        made = cite(self._codebase, each.file, each.line, each.line, why=f"declares {each.name}", terms=terms)
        row = {"name": each.name, "group": each.group, "file": each.file, "line": each.line}
        text = made.quote if made is not None else ""
        return {**row, "text": text, "citation": numbered(self.citations, made)}

    def imports(self, imported: Sequence[Imported], limit: int) -> list[Row]:
        """Return the rows of imports, the first of each file ahead of further ones."""
        first: dict[str, Imported] = {}
        for each in imported:
            first.setdefault(each.file, each)
        more = [each for each in imported if each is not first[each.file]]
        return [self.line(each.file, each.line, "imports it") for each in [*first.values(), *more][:limit]]


TOOL = CodeTool(
    name="find_dependency",
    description="Where a third-party dependency is declared, imported and used; without a name, all dependencies.",
    parameters=FindDependency,
    run=by_fields(find_dependency),
    cost=3,
    place=67,
    example={"name": "requests"},
)
