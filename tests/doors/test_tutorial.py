"""The first tour does what it says: each command is run as written, and prints what stands below it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.doors.program import JEEVES
from tests.doors.test_guides import Guide, prints, write_files

TUTORIAL = Guide("../tutorial.md")
MARK = "-- end of a command --"
COMMANDS = 7


def outputs(commands: list[str], folder: Path) -> list[str]:
    """What each command printed, in one shell in that folder; runs need no Ray."""
    state = {"JEEVES_STATE_DIR": str(folder / ".state"), "JEEVES_RAY__MODE": "in_process"}
    path = f"{Path(JEEVES).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"\necho '{MARK}'\n".join([*commands, ""])],
        cwd=folder,
        env=os.environ | state | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split(f"{MARK}\n")[:-1]


@pytest.mark.long
def test_each_command_of_the_first_tour_prints_what_it_says(tmp_path: Path) -> None:
    write_files(tmp_path, TUTORIAL.files)
    commands = [command for command, _ in TUTORIAL.commands]
    assert len(commands) == COMMANDS
    told = outputs(commands, tmp_path)
    for (command, expected), printed in zip(TUTORIAL.commands, told, strict=True):
        assert (not expected and not printed) or prints(printed, expected), f"{command}: {printed}"
