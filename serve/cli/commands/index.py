"""Runs `jeeves index`: updates the index of a repository, shows progress, and prints statistics."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from runtime.primitives.visible_text import visible_line
from runtime.settings import Settings, open_state_dir
from serve.cli.command_settings import load_command_settings
from serve.cli.commands.vector_wait import told_of_waiting, wait_for_vectors
from serve.cli.inputs import checked_repository
from serve.cli.output.display import display_for
from serve.cli.output.meaning import meaning, told_of_meaning
from serve.cli.output.rebuilt_files import reporting_rebuilt_files
from serve.cli.output.terminal import say, say_json


def index(
    repo: Annotated[Path, typer.Option(readable=False, help="Folder of the repository.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print the statistics as JSON.")] = False,
    show_stats: Annotated[bool, typer.Option("--stats", help="Also show how each kind of file was read.")] = False,
    rebuild: Annotated[bool, typer.Option(help="Rebuild the index from scratch.")] = False,
    wait_vectors: Annotated[
        bool, typer.Option("--wait-vectors", help="Also wait until search by meaning knows every piece.")
    ] = False,
    config: Annotated[Path | None, typer.Option(readable=False, help="Settings file.")] = None,
) -> None:
    """Index a repository; unchanged files are not read again."""
    settings = load_command_settings(config)
    with reporting_rebuilt_files(*settings.state_folders()):
        refreshed = asyncio.run(_refresh(settings, checked_repository(repo), rebuild))
        if wait_vectors:
            refreshed["vectors"] = _waited(settings, refreshed)
        refreshed["meaning"] = meaning(settings)
        refreshed["tools"] = _tools(settings, refreshed["root"])
    told = _summary(refreshed["stats"])
    if show_stats:
        told += (
            _told_of_tools(refreshed["tools"]) + _details(refreshed["stats"]) + told_of_meaning(refreshed["meaning"])
        )
    if wait_vectors:
        told += told_of_waiting(refreshed["vectors"])
    say_json(refreshed) if as_json else say(told)


async def _refresh(settings: Settings, repo: str, rebuild: bool) -> dict[str, Any]:
    from runtime.codebase.index.progress import Progress
    from serve.runtimes.answering import AskCallbacks, prepared
    from serve.wiring import index_service

    open_state_dir(settings.state_dir)
    service = index_service(settings, embeds=False)
    if rebuild:
        service.index_path(Path(repo)).unlink(missing_ok=True)

    async def progress() -> Progress:
        return service.progress(repo)

    with display_for(sys.stderr.isatty()) as display:
        callbacks = AskCallbacks(on_indexing=display.indexing, on_waiting=display.waiting)
        return await prepared(service.refresh(repo), progress, callbacks)


def _waited(settings: Settings, refreshed: dict[str, Any]) -> dict[str, Any]:
    with display_for(sys.stderr.isatty()) as display:
        return wait_for_vectors(settings, refreshed, display.embedding)


def _tools(settings: Settings, root: str) -> list[dict[str, Any]]:
    """Return the success of each tool on this repository so far: {tool, calls, usable, mean_ms}."""
    import msgspec

    from runtime.memory.tool_metrics import TOOL_METRICS
    from runtime.primitives.clock import SystemClock
    from runtime.store.opening import has_database, open_store
    from runtime.store.options import store_options

    options = store_options(settings)
    if not has_database(options, TOOL_METRICS.database):
        return []
    stores = open_store(options, SystemClock())
    try:
        found: list[dict[str, Any]] = msgspec.to_builtins(stores.part(TOOL_METRICS).of(root))
    finally:
        stores.close()
    return found


def _told_of_tools(tools: list[dict[str, Any]]) -> str:
    said = [f"{each['tool']} {each['usable']} of {each['calls']} ({each['mean_ms']} ms)" for each in tools]
    return f"tools, calls with results: {', '.join(said)}\n" if said else ""


def _summary(stats: dict[str, Any]) -> str:
    languages = ", ".join(
        f"{name} {count}" for name, count in sorted(stats["by_language"].items(), key=lambda i: -i[1])
    )
    lines = [
        f"{stats['files']} files, {stats['lines']} lines, {stats['symbols']} symbols, {stats['chunks']} chunks",
        f"parsed now {stats['parsed_now']}, unchanged {stats['unchanged']}, removed {stats['removed']}",
        f"languages: {languages}",
    ]
    if stats["skipped"]:
        lines.append("skipped: " + ", ".join(f"{count} {why}" for why, count in sorted(stats["skipped"].items())))
    lines.append(f"{stats['duration_ms']} ms")
    return "\n".join(lines) + "\n"


def _details(stats: dict[str, Any]) -> str:
    """Return exact counts, and the names of files that could not be read fully."""
    lines = [
        f"references {stats['references']}, imports {stats['imports']}",
        "read: " + ", ".join(f"{how} {count}" for how, count in stats["coverage"].items()),
    ]
    lines += [f"{how}: {', '.join(paths)}" for how, paths in stats["coverage_names"].items()]
    lines += [f"skipped, {why}: {', '.join(paths)}" for why, paths in sorted(stats["skipped_names"].items())]
    return "\n".join(visible_line(line) for line in [*lines, *stats["notes"]]) + "\n"
