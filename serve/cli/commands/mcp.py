"""Runs `jeeves mcp`: the tools for coding agents, over the Model Context Protocol."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from runtime.errors import InputError
from serve.cli.command_settings import load_command_settings
from serve.cli.inputs import checked_repository
from serve.cli.output.terminal import say_line
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
    http: Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Listen there instead, for HTTP.")] = None,
    token_file: Annotated[
        Path | None, typer.Option(readable=False, help="File with the token that HTTP callers must send.")
    ] = None,
    config: Annotated[Path | None, typer.Option(readable=False, help="Settings file.")] = None,
) -> None:
    """Serve the tools of one repository to coding agents, over standard input and output or HTTP (MCP)."""
    settings = load_command_settings(config)
    root = checked_repository(repo)
    # Imported here: other commands need not wait for the SDK.
    from serve.mcp.running import serve_on, serve_stdio

    if http is None:
        if token_file is not None:
            raise InputError("--token-file is for HTTP; give --http HOST:PORT too, or leave it out")
        run_to_end(serve_stdio(settings, root, _KINDS[tools]))
        return
    from serve.mcp.transports.http import bearer_token, http_address

    address = http_address(http)
    token = bearer_token(address, token_file)
    run_to_end(serve_on(settings, root, _KINDS[tools], address, token, _announce))


def _announce(url: str) -> None:
    say_line(f"listening on {url}; stop with Ctrl-C")
