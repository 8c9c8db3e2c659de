"""docs/guides/write-a-capability.md holds as written: followed from an empty folder, in a new environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guides" / "write-a-capability.md"
MAX_LINES = 60
TESTS = {"test_depot.py", "test_wording.py"}

_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = "\x1e"


class Step(NamedTuple):
    """A file to write, or a command with what it prints."""

    path: str = ""
    body: str = ""
    command: str = ""
    told: str = ""


def steps() -> list[Step]:
    """The steps of the guide in its order."""
    found = []
    for kind, path, body in _BLOCK.findall(GUIDE.read_text(encoding="utf-8")):
        if path:
            found.append(Step(path, body))
        for part in body.split("$ ")[1:] if kind == "console" and body.startswith("$ ") else ():
            command, _, told = part.partition("\n")
            found.append(Step(command=command, told=told.strip()))
    return found


def script(taken: list[Step], dependencies: str) -> str:
    """A shell that takes the steps one after the other, each with its output and its status behind a mark.

    What Jeeves depends on is taken from `dependencies` instead of being downloaded again; Jeeves itself is not.
    Nothing is installed outside the environment that the guide makes.
    """
    lines = []
    for number, step in enumerate(taken):
        if step.path:
            lines.append(f"mkdir -p $(dirname {step.path}); cat > {step.path} <<'END-OF-FILE'\n{step.body}END-OF-FILE")
            continue
        lines.append(f"{step.command}\nprintf '{_MARK}{number} %s{_MARK}\\n' $?")
        if step.command.endswith("-m venv .venv"):
            lines.append("test -x .venv/bin/pip || exit 1")
            lines.append(f"echo {dependencies} > $(echo .venv/lib/python*/site-packages)/dependencies.pth")
        if "activate" in step.command:
            lines.append('test "$(command -v pip)" = "$PWD/.venv/bin/pip" || exit 1')
    return "\n".join(lines) + "\n"


def follow(folder: Path) -> dict[str, tuple[int, str]]:
    """Take every step in a folder; status and output of each command."""
    (folder / "bin").mkdir()
    (folder / "bin" / "python3").symlink_to(os.path.realpath(sys.executable))
    work = folder / "new-folder"
    work.mkdir()
    environment = {
        **{name: value for name, value in os.environ.items() if name.startswith("PIP_") or "_proxy" in name.lower()},
        "PATH": f"{folder / 'bin'}:/usr/bin:/bin",
        "HOME": str(folder / "home"),
        "LANG": "C.UTF-8",
        "JEEVES": str(ROOT),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_REQUIRE_VIRTUALENV": "1",
    }
    taken = steps()
    (folder / "steps").write_text(script(taken, sysconfig.get_paths()["purelib"]), encoding="utf-8")
    done = subprocess.run(
        ["bash", folder / "steps"],
        cwd=work,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=840,
        check=False,
    )
    parts = re.split(f"{_MARK}(\\d+) (\\d+){_MARK}\n", done.stdout)
    outputs = zip(parts[0::3], parts[1::3], parts[2::3], strict=False)
    return {taken[int(number)].command: (int(status), output) for output, number, status in outputs}


def test_a_package_takes_fewer_than_sixty_lines() -> None:
    lines = [line for step in steps() if step.path not in TESTS for line in step.body.splitlines() if line.strip()]
    assert len(lines) < MAX_LINES


def test_its_code_imports_nothing_but_the_face_of_the_kernel() -> None:
    code = "".join(step.body for step in steps() if step.path.endswith(".py") and step.path not in TESTS)
    imported = set(re.findall(r"^(?:from|import) (\S+)", code, re.MULTILINE))
    assert imported == {"runtime.kernel"}


@pytest.mark.long
@pytest.mark.ray
@pytest.mark.timeout(900)
def test_who_follows_the_guide_in_a_new_environment_sees_what_it_promises(tmp_path: Path) -> None:
    ran = follow(tmp_path)
    commands = [step for step in steps() if step.command]
    assert list(ran) == [step.command for step in commands]
    for step in commands:
        status, output = ran[step.command]
        pattern = ".*".join(re.escape(part.strip()) for part in step.told.split("…"))
        assert status == 0, f"{step.command}: {output}"
        assert re.search(pattern, output, re.DOTALL), f"{step.command}: {output}"
    installed = tmp_path / "new-folder" / ".venv" / "lib"
    assert next(installed.glob("python*/site-packages/runtime/kernel.py"), None) is not None
