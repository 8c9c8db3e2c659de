"""Runs the commands of a page in one shell, and compares what each prints with what the page says."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.doors.program import JEEVES, TREE

MARK = "-- end of a command --"
PATIENCE_S = 240
Command = tuple[str, str]

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands_of(page: Path) -> list[Command]:
    """Each command of a page with what it is said to print, in their order."""
    blocks = _BLOCK.findall(page.read_text(encoding="utf-8"))
    parts = [part.partition("\n") for block in blocks for part in block.removeprefix("$ ").split("\n$ ")]
    return [(command, told.strip()) for command, _, told in parts]


def prints(output: str, told: str) -> bool:
    """Whether an output has the told parts, between which something may be left out, in their order."""
    pattern = ".*".join(re.escape(part.strip()) for part in told.split("…"))
    return re.search(pattern, output, re.DOTALL) is not None


def differences(commands: list[Command], folder: Path, env: dict[str, str]) -> list[tuple[str, str, str]]:
    """What each command printed that is not as told: command, told, printed."""
    script = "".join(f"{command}\necho '{MARK}'\n" for command, _ in commands)
    path = f"{JEEVES.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"exec 2>&1\n{script}"],
        cwd=folder,
        env={**os.environ, **TREE, "NO_PROXY": "127.0.0.1", "PATH": path, **env},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    printed = done.stdout.split(f"{MARK}\n")[:-1]
    rows = zip(commands, printed, strict=True)
    return [(command, told, shown) for (command, told), shown in rows if not prints(shown, told)]
