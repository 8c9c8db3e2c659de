"""Declares the tool `describe_folder`: what a repository or folder is, and how it is built."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import Citation, ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.overview.entry_calls import EntryCalls
from runtime.codebase.overview.entry_points import EntryPoint
from runtime.codebase.overview.folder_files import Placed
from runtime.codebase.overview.hub import Hub
from runtime.codebase.overview.main_parts import Part
from runtime.codebase.overview.part_links import PartLink
from runtime.codebase.overview.source_files import Aside
from runtime.codebase.overview.survey import MAX_DEPENDENCIES, Dependencies, Survey, survey
from runtime.codebase.tool_parts.citing import cite
from runtime.codebase.tool_registry import CodeTool, Path, by_fields
from runtime.errors import RepositoryError

MAX_PARTS = 10
MAX_ENTRIES = 8
MAX_ASIDES = 8
MAX_FURTHER = 8
MAX_EDGES = 24
MAX_HUB_PARTS = 8


class DescribeFolder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is the repository, or the folder `path` of it, and what are its main parts? At most `max_parts` of them."""

    path: Path = "."
    max_parts: Annotated[int, msgspec.Meta(ge=1, le=40)] = MAX_PARTS


def describe_folder(codebase: Codebase, path: str = ".", max_parts: int = MAX_PARTS) -> ToolResult:
    """Describe a folder; `.` is the whole repository.

    `data`: path; purpose [{text, source, citation}], what its own documents, metadata or code say of it, at most
    two; languages [{language, lines, source, citation}]; lines, of all source files; parts [{part, kind, files,
    lines, text, about, source, names [{name, files, is_file, citation}], alike [{name, files, citation}],
    citation}] by weight, and parts_total; further [{part, citation}], the next parts; asides [{folder, kind, files,
    text, citation}], folders that are no parts; edges [{source, target, files, citation}], with the number of files
    of one part that import another; calls [{name, part, is_step, caller, entry, citation}], the calls by which the
    function where a program is entered goes into parts, behind those that lead to their caller (`is_step`); hubs
    [{name, entry, is_part, step, target, total, parts_total, citation}], the imports by which the file or part
    where it is entered, and the part that imports most others, draw the parts together (with `step` those that lead
    to it); entries [{kind, name, target, names, names_total, file, citation}] and entries_total; dependencies
    [{source, names, names_total, citation}]; reading [{reason, name, file, count, citation}]. A `text` is quoted
    from the cited lines; `about`: the definition that it documents; `alike`: one that so many files of the part
    have each. `citation` is a position in the result's citations.
    """
    log = AttemptLog(codebase.max_retries)
    try:
        place = codebase.relative(path or ".")
    except RepositoryError as error:
        return log.result("denied", {"path": path}, [], error=error.message)
    folders = _folders(codebase)
    found = log.run("path", lambda: [place] if place == "." or place in folders else [], "not_found")
    found = found or log.retry("folder_by_name", lambda: _named_like(path, folders), "not_found")
    if not found:
        return log.result("not_found", {"path": path}, [], error=f"no folder {path} in the index")
    return _Result(codebase, survey(codebase, found[0], described=max_parts), max_parts).result(log)


def _folders(codebase: Codebase) -> set[str]:
    folders: set[str] = set()
    for path in codebase.readable_paths():
        folder = posixpath.dirname(path)
        while folder and folder not in folders:
            folders.add(folder)
            folder = posixpath.dirname(folder)
    return folders


def _named_like(path: str, folders: set[str]) -> list[str]:
    """Return the folders whose path ends in the wanted one, or in its dotted parts; the outermost first."""
    wanted = path.strip().strip("/").lower()
    tails = {f"/{wanted}", "/" + wanted.replace(".", "/"), "/" + wanted.replace(" ", "-")}
    found = [folder for folder in folders if any(f"/{folder.lower()}".endswith(tail) for tail in tails)]
    return sorted(found, key=lambda folder: (folder.count("/"), folder))


class _Result:
    def __init__(self, codebase: Codebase, found: Survey, max_parts: int) -> None:
        self._codebase = codebase
        self._found = found
        self._max_parts = max_parts
        self._citations: list[Citation] = []

    def result(self, log: AttemptLog) -> ToolResult:
        found, shown = self._found, self._found.parts[: self._max_parts]
        # The files of a folder that is imported as one package are parts of their own, and the folder stands for them.
        names = {part.name for part in shown}
        names |= {posixpath.dirname(part.name) or "." for part in shown if part.kind == "file"}
        edges = [edge for edge in found.edges if edge.source in names and edge.target in names][:MAX_EDGES]
        entries = found.entries[:MAX_ENTRIES]
        data = {
            "path": found.place,
            "purpose": [{"text": one.text, **self._placed(one, "says what it is")} for one in found.purpose],
            "languages": [
                {"language": one.text, "lines": one.count, **self._placed(one, "is the largest file in it")}
                for one in found.languages
            ],
            "lines": found.lines,
            "parts": [self._part(part) for part in shown],
            "parts_total": len(found.parts),
            "further": [
                {"part": part.name, "citation": self._lines(part.largest, 1, 1, f"is in {part.name}")}
                for part in found.parts[self._max_parts : self._max_parts + MAX_FURTHER]
            ],
            "asides": [self._aside(aside) for aside in found.asides[:MAX_ASIDES]],
            "edges": [self._edge(edge) for edge in edges],
            "calls": self._calls(found.calls),
            "hubs": [row for hub in found.hubs for row in self._hub(hub)],
            "entries": [self._entry(entry) for entry in entries],
            "entries_total": len(found.entries),
            "dependencies": [self._declared(one) for one in found.dependencies],
            "reading": [
                {
                    "reason": one.about,
                    "name": one.text,
                    "file": one.file,
                    "count": one.count,
                    "citation": self._placed(one, "is a place to begin")["citation"],
                }
                for one in found.reading
            ],
        }
        truncated = len(found.parts) > len(shown) or len(found.entries) > len(entries)
        is_empty = not (found.purpose or found.parts or found.asides)
        return log.result("empty" if is_empty else "ok", data, self._citations, truncated=truncated)

    def _aside(self, aside: Aside) -> dict[str, Any]:
        citation = self._lines(aside.first, aside.line, aside.line, f"lies in {aside.folder}")
        told = {"folder": aside.folder, "kind": aside.kind, "files": aside.files, "text": aside.said}
        return {**told, "citation": citation}

    def _edge(self, edge: PartLink) -> dict[str, Any]:
        citation = self._lines(edge.file, edge.line, edge.line, f"imports {edge.target}")
        return {"source": edge.source, "target": edge.target, "files": edge.files, "citation": citation}

    def _declared(self, one: Dependencies) -> dict[str, Any]:
        citation = self._lines(one.file, one.start_line, one.end_line, "declares dependencies")
        names = list(one.names[:MAX_DEPENDENCIES])
        return {"source": one.file, "names": names, "names_total": len(one.names), "citation": citation}

    def _part(self, part: Part) -> dict[str, Any]:
        said = part.said
        placed = said or (part.names[0] if part.names else Placed("", part.largest, 1, 1))
        return {
            "part": part.name,
            "kind": part.kind,
            "files": part.files,
            "lines": part.lines,
            "text": said.text if said else "",
            "about": said.about if said else "",
            "source": said.file if said else "",
            "citation": self._placed(placed, "says what it is" if said else f"is in {part.name}")["citation"],
            "alike": [
                {"name": one.text, "files": one.count, "citation": self._placed(one, "defines it")["citation"]}
                for one in ([part.alike] if part.alike else [])
            ],
            "names": [
                {
                    "name": used.text,
                    "files": used.count,
                    "is_file": used.about == "file",
                    "citation": self._placed(used, "defines it")["citation"],
                }
                for used in part.names
            ],
        }

    def _calls(self, found: EntryCalls | None) -> list[dict[str, Any]]:
        """Return the calls of the entry into parts, behind those that lead to the function that makes them."""
        if found is None:
            return []
        rows = [(one, True, found.caller) for one in found.steps]
        rows += [(one, False, found.caller) for one in found.calls]
        rows += [(one, False, found.helper) for one in found.of_helper]
        return [
            {
                **{"name": one.name, "part": one.part, "is_step": is_step, "caller": caller, "entry": found.entry},
                "citation": self._lines(one.file, one.line, one.line, f"calls {one.name}"),
            }
            for one, is_step, caller in rows
        ]

    def _hub(self, hub: Hub) -> Iterator[dict[str, Any]]:
        told = {"name": hub.name, "entry": hub.entry, "is_part": hub.is_part, "total": len(hub.imports)}
        shown = hub.imports[:MAX_HUB_PARTS]
        for one in (*hub.steps, *shown):
            cited = self._lines(one.file, one.line, one.line, f"imports {one.target}")
            row = {"step": one.file if one in hub.steps else "", "target": one.target, "citation": cited}
            yield {**told, "parts_total": len(self._found.parts), **row}

    def _entry(self, entry: EntryPoint) -> dict[str, Any]:
        return {
            "kind": entry.kind,
            "name": entry.name,
            "target": entry.target,
            "names": list(entry.names[:8]),
            "names_total": len(entry.names),
            "file": entry.file,
            "citation": self._lines(entry.file, entry.start_line, entry.end_line, "is an entry point"),
        }

    def _placed(self, one: Placed, why: str) -> dict[str, Any]:
        return {"source": one.file, "citation": self._lines(one.file, one.start_line, one.end_line, why)}

    def _lines(self, file: str, start_line: int, end_line: int, why: str) -> int | None:
        citation = cite(self._codebase, file, start_line, end_line, why=why)
        if citation is None:
            return None
        self._citations.append(citation)
        return len(self._citations) - 1


TOOL = CodeTool(
    name="describe_folder",
    description="What a repository or folder is, its main parts, entry points and where to begin.",
    parameters=DescribeFolder,
    run=by_fields(describe_folder),
    reduced={"max_parts": 4},
    cost=4,
    isolation="in_process",
    place=35,
    example={"path": "."},
)
