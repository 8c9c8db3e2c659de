"""Runs `jeeves mcp`: the tools for coding agents, over the Model Context Protocol."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from serve.cli.command_settings import load_command_settings
from serve.cli.inputs import checked_repository
from serve.cli.process_end import run_to_end


class ToolKinds(StrEnum):
    """Names the sets of tools that can be offered."""

    SEARCH = "search"
    CONTRACT = "contract"
    ALL = "all"


_KINDS: dict[ToolKinds, tuple[Literal["search", "contract"], ...]] = {
    ToolKinds.SEARCH: ("search",),
    ToolKinds.CONTRACT: ("contract",),
    ToolKinds.ALL: ("search", "contract"),
}


def mcp(
    repo: Annotated[Path, typer.Option(readable=False, help="Folder of the repository.")] = Path(),
    tools: Annotated[ToolKinds, typer.Option(help="Which tools to offer; see docs/mcp.md.")] = ToolKinds.SEARCH,
    config: Annotated[Path | None, typer.Option(readable=False, help="Settings file.")] = None,
) -> None:
    """Serve the tools of one repository to a coding agent, over standard input and output."""
    settings = load_command_settings(config)
    root = checked_repository(repo)
    # Imported here: other commands need not wait for the SDK.
    from serve.mcp.running import serve_stdio

    run_to_end(serve_stdio(settings, root, _KINDS[tools]))
