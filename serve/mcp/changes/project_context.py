"""Keeps the summary of a project's documents up to date, and tells sessions which there are."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from actors.capabilities.code_change.store.context_file import (
    CONTEXT_FILE,
    MAX_DOCUMENTS,
    MAX_TEXT_CHARS,
    ProjectContext,
    Summarised,
    read_context,
    write_summary,
)
from runtime.codebase.files.consent import Consent
from runtime.codebase.files.regular_file import read_below
from runtime.codebase.files.source_text import from_bytes, is_binary
from runtime.errors import InputError
from runtime.settings import Settings
from serve.mcp.changes.impact import Results
from serve.mcp.toolset import Report
from serve.wiring import CHANGE_CONTRACT

GUIDES = CHANGE_CONTRACT.parent / "guides"
MAX_DOCUMENT_BYTES = 200_000
MAX_TOLD = 40
SKIP_RESEARCH = "no_doc_research"


class ProjectDocuments:
    """Reads and refreshes what a repository says of its documents."""

    def __init__(self, settings: Settings, root: str, search: Results) -> None:
        self._root = Path(root)
        self._search = search
        self._consent = Consent(settings.state_dir)

    async def update(self, report: Report) -> Mapping[str, Any]:
        """Summarise the documents that `.code-intel/context.yml` names, and count what changed. Raises InputError."""
        context = await asyncio.to_thread(read_context, self._root)
        if context is None:
            raise InputError(f"this project has no {CONTEXT_FILE}; a person runs `jeeves init`, which writes one")
        files = await self._documents(context, report)
        summary = await asyncio.to_thread(_summarised, self._root, files[:MAX_DOCUMENTS])
        await asyncio.to_thread(write_summary, self._root, summary)
        before = {each.file: each.sha256 for each in context.summary}
        now = {each.file: each.sha256 for each in summary}
        told: dict[str, Any] = {
            "documents": len(summary),
            "added": len(now.keys() - before.keys()),
            "changed": sum(before[file] != digest for file, digest in now.items() if file in before),
            "removed": len(before.keys() - now.keys()),
            "summary": [_told(each) for each in summary[:MAX_TOLD]],
        }
        left = len(files) - len(summary)
        return {**told, "left_out": f"{left} documents beyond {len(summary)}"} if left else told

    async def beginning(self) -> tuple[tuple[str, ...], list[str]]:
        """Return the flags that the project sets for each session, and what is not in force."""
        try:
            context = await asyncio.to_thread(read_context, self._root)
        except InputError as error:
            return (), [f"{CONTEXT_FILE} is not in force: {error.message}"]
        if context is None or context.doc_research.enabled:
            return (), []
        if self._consent.allowed(self._root).get(CONTEXT_FILE) == context.digest:
            return (SKIP_RESEARCH,), []
        return (), [f"doc_research.enabled: false in {CONTEXT_FILE} is not in force until a person runs `jeeves allow`"]

    async def research(self) -> Mapping[str, Any]:
        """Return what the phase of document research is told: where documents lie, and what each is about."""
        try:
            context = await asyncio.to_thread(read_context, self._root)
        except InputError:
            # The answer that began the session tells the fault.
            return {}
        if context is None:
            return {}
        found = context.doc_research
        below = [each for each in context.summary if _is_below(each.file, found.docs_path)]
        rest = [each for each in context.summary if each not in below]
        guides = [name for name in found.default_prompts if (GUIDES / name).is_file()]
        told: dict[str, Any] = {"docs_path": list(found.docs_path)}
        if below or rest:
            told["documents"] = [_told(each) for each in (*below, *rest)[:MAX_TOLD]]
        if guides:
            told["guide"] = "\n\n".join((GUIDES / name).read_text("utf-8") for name in guides)
        return told

    async def _documents(self, context: ProjectContext, report: Report) -> list[str]:
        """Return the documents that may be read, those that are named first."""
        found: list[str] = []
        for pattern in context.patterns:
            result = await self._search.result("glob_files", {"pattern": pattern}, report)
            files = [str(row["file"]) for row in result.data.get("files", ())]
            # Without a match the tool tries the pattern as a part of names.
            found += [file for file in files if _fits(file, pattern) and _is_below(file, context.sources)]
        named = [source for source in context.sources if await self._is_readable(source, report)]
        return list(dict.fromkeys((*named, *sorted(found))))

    async def _is_readable(self, file: str, report: Report) -> bool:
        """Return whether a path is a file that the index holds, and so no secret and not ignored."""
        result = await self._search.result("glob_files", {"pattern": file}, report)
        return any(row["file"] == file for row in result.data.get("files", ()))


def _summarised(root: Path, files: Iterable[str]) -> tuple[Summarised, ...]:
    from runtime.codebase.overview.document_purpose import purpose_in
    from runtime.codebase.overview.prose_lines import title_of

    rows = []
    for file in files:
        try:
            data = read_below(root, file, MAX_DOCUMENT_BYTES)
        except OSError:
            # Gone, a link or too large since the index was made: what is not read is not summarised.
            continue
        if is_binary(data):
            continue
        lines: Sequence[str] = from_bytes(data).lines
        about = purpose_in(lines, (root.name,))
        text = about.text if about is not None else ""
        digest = hashlib.sha256(data).hexdigest()
        rows.append(Summarised(file, digest, _short(title_of(lines)), _short(text)))
    return tuple(rows)


def _short(text: str) -> str:
    plain = " ".join(text.encode("utf-8", "replace").decode().split())
    return plain if len(plain) <= MAX_TEXT_CHARS else f"{plain[: MAX_TEXT_CHARS - 1]}…"


def _told(each: Summarised) -> dict[str, str]:
    return {key: value for key, value in (("file", each.file), ("title", each.title), ("about", each.about)) if value}


def _fits(file: str, pattern: str) -> bool:
    if "/" not in pattern:
        return fnmatchcase(PurePosixPath(file).name, pattern)
    return fnmatchcase(file, pattern) or ("**/" in pattern and fnmatchcase(file, pattern.replace("**/", "")))


def _is_below(file: str, places: Iterable[str]) -> bool:
    plain = (place.removesuffix("/") for place in places)
    return any(place == "." or file == place or file.startswith(f"{place}/") for place in plain)
