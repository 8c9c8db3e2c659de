"""`jeeves completion`: the scripts complete commands, options and known values, and run no program to do so."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from serve.cli.command_table import COMMANDS
from serve.cli.output.completion import CommandWords, OptionWords, bash_script, fish_script, zsh_script
from tests.doors.program import Program

LINES = [
    (("ru",), {"runs"}),
    (("runs", "w"), {"watch", "why"}),
    (("ask", "--re"), {"--repo", "--reasoner"}),
    (("ask", "--reasoner", ""), {"rules", "llm"}),
    (("ask", "ask", "--js"), {"--json"}),
    (("runs", "why", "--conf"), {"--config"}),
    (("completion", ""), {"bash", "zsh", "fish"}),
]
HOSTILE = [
    CommandWords("", "", (), ("ask",)),
    CommandWords("ask", 'it\'s $(touch made) `touch made` "x" \\', (OptionWords(("--x",), "'; touch made; '"),)),
]

BASH = 'COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); PATH=; _jeeves; printf "%s\\n" "${COMPREPLY[@]}"'
ZSH = """
_describe() { [[ $1 == -o ]] && shift; local each; for each in "${(@P)2}"; do print -r -- "${each%%:*}"; done }
_files() { : }
compadd() { shift; print -rl -- "$@" }
compdef() { : }
. "$1"; shift
words=("$@"); CURRENT=$#; PREFIX=$words[-1]; PATH=; _jeeves
"""
FISH = "source $argv[1]; complete -C (string join -- ' ' $argv[2..])"


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of all shells, in one folder."""
    folder = tmp_path_factory.mktemp("completion")
    program = Program(folder / "state", JEEVES_RAY__MODE="in_process")
    for shell in ("bash", "zsh", "fish"):
        (folder / shell).write_text(program.run("completion", shell).answers().out)
    return folder


def completed(shell: str, script: Path, words: tuple[str, ...]) -> set[str]:
    """The words that a shell offers after `jeeves`, narrowed to those that go on with the last one."""
    line = ("jeeves", *words)
    command = {
        "bash": ["bash", "--norc", "-c", f'. "$1"; shift; {BASH}', "-", str(script), *line],
        "zsh": ["zsh", "-f", "-c", ZSH, "-", str(script), *line],
        "fish": ["fish", "--no-config", "-c", FISH, str(script), *line],
    }[shell]
    done = subprocess.run(command, capture_output=True, text=True, cwd=script.parent, timeout=30, check=False)
    assert done.stderr == ""
    found = {each.partition("\t")[0] for each in done.stdout.splitlines()}
    return {each for each in found if each and each.startswith(words[-1])}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_options_and_values(shell: str, scripts: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    for words, expected in LINES:
        assert completed(shell, scripts / shell, words) == expected, words
    assert completed(shell, scripts / shell, ("",)) >= {entry.name for entry in COMMANDS}


@pytest.mark.parametrize(("shell", "script"), [("bash", bash_script), ("zsh", zsh_script), ("fish", fish_script)])
def test_help_is_text_in_a_script_whatever_it_has(shell: str, script: object, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    assert callable(script)
    (tmp_path / "script").write_text(script(HOSTILE))
    assert completed(shell, tmp_path / "script", ("as",)) == {"ask"}
    assert completed(shell, tmp_path / "script", ("ask", "--")) == {"--x"}
    assert not (tmp_path / "made").exists()


def test_a_shell_that_is_not_known_is_answered_with_those_that_are(tmp_path: Path) -> None:
    program = Program(tmp_path / "state", JEEVES_RAY__MODE="in_process")
    program.run("completion", "csh").complains(2, "csh", "bash, fish, zsh")
