"""Lists the commands of the `jeeves` program, and imports the one that is run.

`jeeves --help` shows this table and imports no command: each of them takes longer to import than Python to start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info, get_group_from_info
from typer.models import CommandInfo, TyperInfo

from serve.cli.command_group import CommandGroup

_PACKAGE = "serve.cli.commands"


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """Names a command, its module and function (or Typer application), and the first paragraph of its help."""

    name: str
    module: str
    attribute: str
    summary: str

    def load(self) -> TyperCommand | TyperGroup:
        """Import the module of the command and return the command."""
        found: Any = getattr(import_module(f"{_PACKAGE}.{self.module}"), self.attribute)
        if isinstance(found, typer.Typer):
            group = TyperInfo(found, name=self.name)
            return get_group_from_info(
                group, pretty_exceptions_short=True, suggest_commands=True, rich_markup_mode="rich"
            )
        command = CommandInfo(name=self.name, callback=found, cls=TyperCommand)
        loaded = get_command_from_info(command, pretty_exceptions_short=True, rich_markup_mode="rich")
        assert isinstance(loaded, TyperCommand)
        return loaded


COMMANDS: tuple[CommandEntry, ...] = (
    CommandEntry(
        "ask", "ask", "ask", "Answer one question about a repository, with citations checked against the files."
    ),
    CommandEntry(
        "batch", "batch", "batch", "Answer every line of a file; exit status 1 if a line could not be answered."
    ),
    CommandEntry(
        "check",
        "check",
        "check",
        "List conformance violations; exit status 0: none, 1: some, 2: not listed, or with --strict not all.",
    ),
    CommandEntry(
        "gc",
        "gc",
        "gc",
        "Delete old finished runs, sessions, cached results and dead letters; unfinished runs are always kept.",
    ),
    CommandEntry("index", "index", "index", "Index a repository; unchanged files are not read again."),
    CommandEntry("tool", "tool", "tool", "Call one tool and print its result as JSON."),
    CommandEntry(
        "init",
        "project",
        "init",
        "Prepare a project for coding agents: client entry, commands and guides, beside what is there.",
    ),
    CommandEntry(
        "mcp",
        "mcp",
        "mcp",
        "Serve the tools of one repository to coding agents, over standard input and output or HTTP (MCP).",
    ),
    CommandEntry(
        "allow",
        "project",
        "allow",
        "Allow the contract, rules, checks and agreements that a repository brings along, exactly as they are now.",
    ),
    CommandEntry(
        "outcome",
        "project",
        "outcome",
        "Record what became of a change: a success is remembered in the Map, a failure is told as a hint.",
    ),
    CommandEntry(
        "clean",
        "project",
        "clean",
        "Delete what sessions of changes and fixes left: branches (each head is kept for 30 days) and checkpoints.",
    ),
    CommandEntry(
        "validate",
        "validate",
        "validate",
        "Check files and report all faults at once; exit status 2 if there are any.",
    ),
    CommandEntry(
        "doctor",
        "doctor",
        "doctor",
        "Check this installation and all that is configured; exit status 1 if something required is missing.",
    ),
    CommandEntry(
        "up",
        "up_down",
        "up",
        "Start the warm system in the background; `ask`, `batch` and other commands use it while it is up.",
    ),
    CommandEntry(
        "down",
        "up_down",
        "down",
        "Stop the system that `up` started: on a cluster that stays, its actors and no others.",
    ),
    CommandEntry(
        "status",
        "up_down",
        "status",
        "Report whether a system is up, and what it is doing; exit status 1 if it is not.",
    ),
    CommandEntry(
        "usage",
        "usage",
        "usage",
        "Show what runs have used: model and tool calls, tokens and their cost by the prices of the model file.",
    ),
    CommandEntry("serve", "serve_http", "serve", "Answer questions over HTTP until interrupted."),
    CommandEntry(
        "simulate",
        "simulate",
        "simulate",
        "Run whole systems under seeded faults, and check that nothing was lost, duplicated or overspent.",
    ),
    CommandEntry("bench", "bench", "app", "Run benchmarks."),
    CommandEntry("submit", "submit", "app", "Run batches and fixes as jobs on a Ray cluster."),
    CommandEntry("fix", "fix", "app", "Mend conformance violations."),
    CommandEntry("runs", "runs", "app", "Inspect and control runs."),
    CommandEntry("token", "token", "app", "Create, list and revoke access tokens of HTTP callers."),
    CommandEntry(
        "completion",
        "completion",
        "completion",
        "Print the completion script of a shell; write it to the file that the shell reads.",
    ),
    CommandEntry("envelope", "envelope_json", "app", "The kernel as JSON on standard input and output."),
)


class LazyGroup(CommandGroup):
    """Shows the commands of the table, and imports the one that is named on the command line."""

    def __init__(self, *, entries: Sequence[CommandEntry] = COMMANDS, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": {}})
        self._entries = {entry.name: entry for entry in entries}
        for entry in entries:
            self.add_command(TyperCommand(entry.name, help=entry.summary))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name, imported; as Typer does if there is none of that name."""
        if args and args[0] in self._entries:
            self.load(args[0])
        return super().resolve_command(ctx, args)

    def load(self, name: str) -> TyperCommand | TyperGroup:
        """Import a command of the table and return it."""
        command = self._entries[name].load()
        self.add_command(command)
        return command


app = typer.Typer(
    name="jeeves",
    help="Ask about code and get answers with checked citations; run bounded, durable agents on Ray.",
    no_args_is_help=True,
    cls=LazyGroup,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def jeeves() -> None:
    """Group the commands."""
