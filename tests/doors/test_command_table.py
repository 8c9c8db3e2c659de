"""The table of commands: what `jeeves --help` shows without importing a command is what the commands say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from serve.cli.command_table import COMMANDS, CommandEntry

ROOT = Path(__file__).resolve().parents[2]
LOADED = """
import sys
sys.argv = ["jeeves", *{arguments!r}]
from serve.cli.main import main
try:
    main()
except SystemExit:
    print(*sorted(name for name in sys.modules if name.startswith("serve.cli.commands.")), sep="\\n", file=sys.stderr)
"""


def modules_loaded_by(*arguments: str) -> set[str]:
    script = LOADED.format(arguments=list(arguments))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False)
    return set(done.stderr.split())


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_the_table_says_of_a_command_what_its_own_help_begins_with(entry: CommandEntry) -> None:
    command = entry.load()
    assert command.name == entry.name
    first_paragraph = (command.help or "").split("\n\n")[0]
    assert " ".join(first_paragraph.split()) == entry.summary


def test_the_overview_of_commands_imports_none_of_them() -> None:
    assert modules_loaded_by("--help") == set()
    assert modules_loaded_by() == set()


def test_a_command_is_imported_without_the_others() -> None:
    assert modules_loaded_by("gc", "--help") == {"serve.cli.commands.gc"}


def test_a_name_close_to_a_command_is_answered_with_that_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "serve.cli.main", "indx"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 2
    assert "'index'" in done.stderr
