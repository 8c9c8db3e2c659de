"""Every `jeeves` command that a page shows is one that the program has, with options that it takes."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.core import TyperCommand, TyperGroup

from serve.cli.command_table import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
# Of older versions, or of the tests themselves.
NOT_OF_TODAY = {"CHANGELOG.md"}
PAGES = [path for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")) if path.name not in NOT_OF_TODAY]

_FENCE = re.compile(r"^(`{3,})([^\n]*)\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_SHELLS = frozenset({"", "sh", "console", "bash"})
# As a command: at the start, behind variables, in $( ), or behind a pipe or another command.
_CALL = re.compile(r"(?:^|\$ |[|;&(] ?)(?:\w+=\S* )*(?=jeeves )")
_SPAN = re.compile(r"`((?:[A-Z_]+=\S+ )*jeeves [^`]+)`(?!`)")
_ENDS = frozenset({"|", "||", "&&", "&", ";", ">", ">>", "2>&1", "<"})


def shown(text: str) -> Iterator[str]:
    """Yield the calls of the program in code blocks, and the code spans that begin with one."""
    for _, info, block in _FENCE.findall(text):
        if info.strip() in _SHELLS:
            for line in block.replace("\\\n", " ").splitlines():
                yield from (line[call.end() :] for call in _CALL.finditer(line))
    for span in _SPAN.findall(_FENCE.sub("", text)):
        yield " ".join(span[span.index("jeeves ") :].split())


def faults_of(line: str) -> list[str]:
    """What the program would not understand of a command line: its command, or its options."""
    words = _words(line)[1:]
    command, rest = _command_of(words)
    if command is None:
        return [f"no such command: {line}"]
    # What `submit` runs as a job takes options of its own.
    job = _loaded(words[1]) if words[0] == "submit" and len(words) > 1 else None
    params = [*command.params, *(job.params if job is not None else ())]
    known = {name for option in params for name in (*option.opts, *option.secondary_opts)} | {"--help"}
    given = [word.partition("=")[0] for word in rest if re.match(r"--?[a-zA-Z]", word)]
    return [f"no such option: {name} of {line}" for name in given if name not in known]


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split = True
    lexer.commenters = "#"
    words = []
    try:
        for word in lexer:
            if word in _ENDS or word.startswith((")", "(")):
                break
            words.append(word)
    except ValueError:  # a quotation goes on in the next line
        return words
    return words


@functools.cache
def _loaded(name: str) -> TyperCommand | TyperGroup | None:
    return next((entry.load() for entry in COMMANDS if entry.name == name), None)


def _command_of(words: list[str]) -> tuple[TyperCommand | TyperGroup | None, list[str]]:
    """Return the command that words name, and what it is given."""
    command = _loaded(words[0]) if words else None
    rest = words[1:]
    if isinstance(command, TyperGroup) and rest and not rest[0].startswith("-"):
        below = command.commands.get(rest[0])
        assert below is None or isinstance(below, TyperCommand)
        return (below, rest[1:]) if below is not None else (None, rest)
    return command, rest


def test_every_target_of_make_and_every_module_that_a_page_shows_is_there() -> None:
    rules = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    text = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    targets = set(re.findall(r"(?:^|`)make ([a-z][a-z-]*)", text, re.MULTILINE))
    assert len(targets) > 10
    assert targets - rules == set()
    modules = set(re.findall(r"python -m ((?:serve|tests)[\w.]+\w)", text))
    assert len(modules) > 10
    places = [ROOT.joinpath(*module.split(".")) for module in modules]
    assert [
        place for place in places if not (place.with_suffix(".py").is_file() or (place / "__main__.py").is_file())
    ] == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('jeeves ask "a | b" --json | head --none', []),
        ("jeeves runs why ID --no-such", ["--no-such"]),
        ("jeeves runs explain ID", ["no such command"]),
        ("jeeves asks", ["no such command"]),
        ("jeeves token create x --scopes=ask > --file", []),
    ],
)
def test_what_the_program_does_not_have_is_found(line: str, found: list[str]) -> None:
    told = faults_of(line)
    assert len(told) == len(found)
    assert all(word in each for word, each in zip(found, told, strict=True))


def test_every_command_that_a_page_shows_is_one_of_the_program() -> None:
    lines = [(path.name, line) for path in PAGES for line in shown(path.read_text(encoding="utf-8"))]
    assert len(lines) > 300
    assert [(name, fault) for name, line in lines for fault in faults_of(line)] == []
