"""Runs `jeeves completion`: prints the completion script of a shell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer
from typer.core import TyperGroup, TyperOption

from runtime.errors import UnknownNameError
from serve.cli.inputs import REASONERS
from serve.cli.output.completion import SCRIPTS, CommandWords, OptionWords
from serve.cli.output.terminal import say

# Options whose values are known without settings.
_VALUES = {"--reasoner": REASONERS, "--run-mode": ("sequential", "parallel")}


def completion(
    context: typer.Context, shell: Annotated[str, typer.Argument(help=f"One of {', '.join(SCRIPTS)}.")]
) -> None:
    """Print the completion script of a shell; write it to the file that the shell reads.

    bash: ~/.local/share/bash-completion/completions/jeeves; zsh: a folder of $fpath, as _jeeves; fish:
    ~/.config/fish/completions/jeeves.fish. Print it anew after an update.
    """
    if shell not in SCRIPTS:
        known = sorted(SCRIPTS)
        raise UnknownNameError(f"there are no completions for '{shell}'; known: {', '.join(known)}", known=known)
    say(SCRIPTS[shell](list(_words(context.find_root().command, ""))))


def _words(command: Any, words: str) -> Iterator[CommandWords]:
    """Yield a command and all below it."""
    options = tuple(_option(each) for each in command.params if isinstance(each, TyperOption) and not each.hidden)
    options += (OptionWords(("--help",), "Show the help of this command."),)
    below = list(command.commands) if isinstance(command, TyperGroup) else []
    following = tuple(below) if below else (tuple(sorted(SCRIPTS)) if words == "completion" else ())
    yield CommandWords(words, (command.help or "").split("\n\n")[0], options, following)
    load = getattr(command, "load", None)
    for name in below:
        loaded = command.commands[name] if load is None else load(name)
        yield from _words(loaded, f"{words} {name}".strip())


def _option(option: TyperOption) -> OptionWords:
    names = (*option.opts, *option.secondary_opts)
    values = next((_VALUES[name] for name in names if name in _VALUES), ())
    return OptionWords(names, option.help or "", not (option.is_flag or option.count), values)
