"""Writes completion scripts for bash, zsh and fish.

The scripts hold all commands and options themselves: a completion starts no program, and evaluates nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

MAX_HELP_CHARS = 70


class OptionWords(NamedTuple):
    """Describes an option: its names, its help, and what it takes: values to choose from, anything, or nothing."""

    names: tuple[str, ...]
    help: str
    takes_value: bool = False
    values: tuple[str, ...] = ()


class CommandWords(NamedTuple):
    """Describes a command: its words (`runs why`; empty: the program itself), help, options and what follows it."""

    words: str
    help: str
    options: tuple[OptionWords, ...] = ()
    following: tuple[str, ...] = ()


def bash_script(commands: Sequence[CommandWords]) -> str:
    """Return the script for bash; what is no option or command is completed as a file."""
    values, words = [], []
    for command in commands:
        for option in command.options:
            if option.takes_value:
                found = f'found="{" ".join(option.values)}" ' if option.values else ""
                values.append(f"        {_after(command, option)}) {found};;")
        below, names = " ".join(command.following), " ".join(name for each in command.options for name in each.names)
        words.append(f'                "{command.words}") found="{below}" options="{names}" ;;')
    return _BASH.format(known=_known(commands), values="\n".join(values), words="\n".join(words))


def zsh_script(commands: Sequence[CommandWords]) -> str:
    """Return the script for zsh, with descriptions."""
    helps = {command.words: command.help for command in commands}
    values, words = [], []
    for command in commands:
        for option in command.options:
            if option.takes_value:
                found = f"compadd -- {' '.join(option.values)}" if option.values else "_files"
                values.append(f"        ({_after(command, option)}) {found}; return ;;")
        told = [(name, option.help) for option in command.options for name in option.names]
        below = [(name, helps.get(f"{command.words} {name}".strip(), "")) for name in command.following]
        words.append(f'        ("{command.words}")')
        words.append(f"            options=({' '.join(map(_described, told))})")
        words.append(f"            below=({' '.join(map(_described, below))}) ;;")
    return _ZSH.format(known=_known(commands), values="\n".join(values), words="\n".join(words))


def fish_script(commands: Sequence[CommandWords]) -> str:
    """Return the script for fish, with descriptions."""
    helps = {command.words: command.help for command in commands}
    lines = []
    for command in commands:
        condition = _fish_quoted(f'__jeeves_at "{command.words}"')
        for name in command.following:
            told = helps.get(f"{command.words} {name}".strip(), "")
            lines.append(f"complete -c jeeves -n {condition} -f -a {name} -d {_fish_quoted(_short(told))}")
        for option in command.options:
            form = f"{_fish_option(option)} -d {_fish_quoted(_short(option.help))}"
            lines.append(f"complete -c jeeves -n {condition} {form}")
    known = " ".join(_fish_quoted(each) for each in _ways(commands))
    return _FISH.format(known=known, lines="\n".join(lines))


_BASH = """\
# bash completion of jeeves
_jeeves() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" chosen="" word
    local found="" options=""
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$chosen $word" in
            {known}) chosen="${{chosen:+$chosen }}$word" ;;
        esac
    done
    case "$chosen $before" in
{values}
        *)
            case "$chosen" in
{words}
            esac
            [[ $current == -* ]] && found="$options" ;;
    esac
    COMPREPLY=($(compgen -W "$found" -- "$current"))
}}
complete -o default -F _jeeves jeeves
"""

_ZSH = """\
#compdef jeeves
_jeeves() {{
    local chosen="" word before="${{words[CURRENT-1]}}"
    local -a options below
    for word in "${{(@)words[2,CURRENT-1]}}"; do
        case "$chosen $word" in
            ({known}) chosen="${{chosen:+$chosen }}$word" ;;
        esac
    done
    case "$chosen $before" in
{values}
    esac
    case "$chosen" in
{words}
    esac
    if [[ $PREFIX == -* ]]; then
        _describe -o option options
    elif (( $#below )); then
        _describe command below
    else
        _files
    fi
}}
if [[ "$funcstack[1]" == _jeeves ]]; then _jeeves "$@"; else compdef _jeeves jeeves; fi
"""

_FISH = """\
# fish completion of jeeves
function __jeeves_at
    set -l chosen ""
    for word in (commandline -opc)[2..-1]
        switch "$chosen $word"
            case {known}
                set chosen (string trim -- "$chosen $word")
        end
    end
    test "$chosen" = "$argv[1]"
end
{lines}
"""

SCRIPTS: dict[str, Callable[[Sequence[CommandWords]], str]] = {
    "bash": bash_script,
    "zsh": zsh_script,
    "fish": fish_script,
}


def _ways(commands: Sequence[CommandWords]) -> Iterator[str]:
    """Yield what has been chosen so far, a blank and the next word, for each command below the program."""
    for command in commands:
        if command.words:
            before, _, last = command.words.rpartition(" ")
            yield f"{before} {last}"


def _known(commands: Sequence[CommandWords]) -> str:
    return "|".join(f'"{each}"' for each in _ways(commands))


def _after(command: CommandWords, option: OptionWords) -> str:
    """Return the pattern of what stands before the value of an option."""
    return "|".join(f'"{command.words} {name}"' for name in option.names)


def _fish_option(option: OptionWords) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    if option.values:
        names.append(f"-x -a {_fish_quoted(' '.join(option.values))}")
    elif option.takes_value:
        names.append("-r")
    return " ".join(names)


def _described(named: tuple[str, str]) -> str:
    name, told = named
    escaped = _short(told).replace("'", "'\\''")
    return f"'{name}:{escaped}'"


def _fish_quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _short(text: str) -> str:
    line = " ".join(text.replace("`", "").split())
    return line if len(line) <= MAX_HELP_CHARS else f"{line[: MAX_HELP_CHARS - 1]}…"
