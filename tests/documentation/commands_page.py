"""Generates the page of commands from the table of commands, as `jeeves COMMAND --help` shows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer.core import TyperCommand, TyperGroup

from serve.cli.command_table import COMMANDS
from tests.documentation.markdown import code, prose, table

_HELP = frozenset({"--help"})


def commands_page() -> str:
    """Return the page: each command with its usage, arguments and options."""
    lines = ["# Commands", "", "Generated from the program; `jeeves COMMAND --help` shows the same.", ""]
    for entry in COMMANDS:
        lines += _command(entry.load(), f"jeeves {entry.name}", None, 2)
    return "\n".join(lines) + "\n"


def _command(command: TyperCommand | TyperGroup, name: str, parent: Any, level: int) -> Iterator[str]:
    context = command.context_class(command, info_name=name.rpartition(" ")[2] if parent else name, parent=parent)
    yield f"{'#' * level} `{name}`"
    yield ""
    for paragraph in (command.help or "").split("\n\n"):
        yield from (prose(paragraph), "")
    yield from ("```text", command.get_usage(context).removeprefix("Usage: "), "```", "")
    records = [(each.param_type_name, each.get_help_record(context)) for each in command.get_params(context)]
    rows = [(code(told[0]), prose(told[1])) for _, told in records if told and not _HELP & set(told[0].split())]
    if rows:
        yield from table(("argument or option", "what it does"), rows)
    if isinstance(command, TyperGroup):
        for each, below in command.commands.items():
            assert isinstance(below, TyperCommand)
            yield from _command(below, f"{name} {each}", context, level + 1)
