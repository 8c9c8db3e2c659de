"""Runs `jeeves tool`: calls one tool on a repository, in the way agents do."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from runtime.codebase.knowledge.relation import Relation
from runtime.errors import ToolArgumentsError
from runtime.settings import Settings, open_state_dir
from serve.cli.command_settings import load_command_settings
from serve.cli.inputs import checked_repository
from serve.cli.output.rebuilt_files import reporting_rebuilt_files
from serve.cli.output.terminal import say_json
from serve.cli.process_end import run_to_end

# Any status but these ends with exit status 3: the call worked and found nothing.
_FOUND = frozenset({"ok", "partial"})
_REFUSED = frozenset({"denied", "error"})


def tool(
    name: Annotated[str, typer.Argument(help="Name of the tool; `list_tools` lists all of them.")],
    arguments: Annotated[str, typer.Argument(help="Arguments as a JSON object.")] = "{}",
    repo: Annotated[Path, typer.Option(readable=False, help="Folder of the repository.")] = Path(),
    config: Annotated[Path | None, typer.Option(readable=False, help="Settings file.")] = None,
) -> None:
    """Call one tool and print its result as JSON."""
    settings = load_command_settings(config)
    given = _arguments(arguments)
    with reporting_rebuilt_files(*settings.state_folders()):
        result = run_to_end(_call(settings, name, given, checked_repository(repo)))
    say_json(result, indent=2 if sys.stdout.isatty() else None)
    if result["status"] not in _FOUND:
        raise typer.Exit(2 if result["status"] in _REFUSED else 3)


def _arguments(text: str) -> dict[str, Any]:
    try:
        given = json.loads(text)
        json.dumps(given, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        raise ToolArgumentsError(f"the arguments are not JSON: {error}; give an object such as '{{}}'") from error
    if not isinstance(given, dict):
        raise ToolArgumentsError(f"the arguments are a JSON {type(given).__name__}, not an object such as '{{}}'")
    return given


def _remembered(settings: Settings, root: str, symbol: str) -> list[Relation]:
    """Return the relations of a symbol in the repository's entity graph; a store that is absent is not created."""
    from runtime.codebase.knowledge.relation_store import RELATIONS
    from runtime.primitives.clock import SystemClock
    from runtime.store.opening import has_database, open_store
    from runtime.store.options import store_options

    options = store_options(settings)
    if not symbol or not has_database(options, RELATIONS.database):
        return []
    stores = open_store(options, SystemClock())
    try:
        return stores.part(RELATIONS).about(root, [symbol])
    finally:
        stores.close()


async def _call(settings: Settings, name: str, given: dict[str, Any], repo: str) -> dict[str, Any]:
    import msgspec

    from runtime.agents.capability import load_capability, services_of
    from runtime.codebase.tool_registry import remembered_of
    from runtime.run.bounds import Grant
    from runtime.run.stage_budget import StageBudget
    from runtime.tools.executor import ToolExecutor
    from serve.pipeline_files import capability_spec, load_named_pipeline
    from serve.wiring import agent_settings, index_service

    pipeline = load_named_pipeline(settings, settings.default_pipeline)
    capability = load_capability(capability_spec(settings, pipeline), pipeline.capability_id)
    found = capability.tools.get(name)
    found.read_arguments(given)
    open_state_dir(settings.state_dir)
    repository = await index_service(settings).refresh(repo)
    codebase = services_of(capability, agent_settings(settings)).codebase(repository)
    if symbol_in := remembered_of(name):
        codebase = codebase.remembering(_remembered(settings, str(codebase.root), str(given.get(symbol_in, ""))))
    result = await ToolExecutor(capability.tools, frozenset({name}), StageBudget(Grant(tool_calls=1))).call(
        name, codebase, given
    )
    document: dict[str, Any] = msgspec.to_builtins(result)
    return document
