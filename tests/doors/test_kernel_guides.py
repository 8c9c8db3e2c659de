"""The guides to a provider, a part of the store, a metric and a kind of question hold as written, in a copy.

A fenced block of a file has its path behind the language; of kind `diff` it changes that file. A block of commands
(`console`) has what they print below each, with `…` for what is left out.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("runtime", "actors", "serve", "configs", "docs", "pyproject.toml", "tests/doors/test_metric_table.py")
# What the harness needs that answers a question in one process.
HARNESS = ("tests/capabilities/code_analysis/support.py", "tests/repositories.py", "tests/fixtures/repositories")
COMMANDS = {"jeeves": [sys.executable, "-c", "from serve.cli.main import main; main()"], "python": [sys.executable]}

_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Guide:
    """The blocks of one guide: files and changes by their paths, and commands with what they print."""

    def __init__(self, name: str) -> None:
        blocks = _BLOCK.findall((ROOT / "docs" / "guides" / name).read_text(encoding="utf-8"))
        self.steps = {path: (kind, body) for kind, path, body in blocks if path}
        self.entry_points = "".join(body for kind, _, body in blocks if kind == "toml")
        self.commands: list[tuple[str, str]] = []
        for kind, _, body in blocks:
            for part in body.split("$ ")[1:] if kind == "console" else ():
                command, _, told = part.partition("\n")
                self.commands.append((command, told.strip()))

    def follow(self, folder: Path, *, without: str = "") -> list[str]:
        """Take every step but one in a copy of the tree; which commands did not print what is told."""
        for name in (*COPIED, *HARNESS):
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            copy(ROOT / name, folder / name)
        for path, (kind, body) in self.steps.items():
            if path != without:
                self._take(folder, path, kind, body)
        return self.run(folder)

    def _take(self, folder: Path, path: str, kind: str, body: str) -> None:
        if kind == "diff":
            change = f"--- a/{path}\n+++ b/{path}\n{body}"
            apply = ["git", "apply", "--recount", "--unidiff-zero", "-"]
            environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
            subprocess.run(apply, input=change, text=True, cwd=folder, env=environment, check=True, timeout=60)
        else:
            write(folder, path, body)

    def run(self, folder: Path) -> list[str]:
        """Run the commands; those that failed or did not print what is told, each with what it printed."""
        wrong = []
        environment = os.environ | {"PYTHONPATH": str(folder), "JEEVES_STATE_DIR": str(folder / "state")}
        for command, told in self.commands:
            program, *arguments = shlex.split(command)
            started = [*COMMANDS[program], *arguments]
            done = subprocess.run(
                started, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
            )
            pattern = ".*".join(re.escape(part.strip()) for part in told.split("…"))
            if done.returncode or not told or not re.search(pattern, done.stdout, re.DOTALL):
                wrong.append(f"{command}: {done.stdout}{done.stderr}")
        return wrong


def write(folder: Path, path: str, text: str) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text, encoding="utf-8")


PROVIDER = Guide("add-a-provider.md")
STORE = Guide("add-a-store.md")
METRIC = Guide("add-a-metric.md")
KIND = Guide("add-a-question-kind.md")
GUIDES = {"provider": PROVIDER, "store": STORE, "metric": METRIC, "kind": KIND}
STEPS = [(name, path) for name, guide in GUIDES.items() for path in guide.steps]


def test_the_guides_have_steps_and_commands() -> None:
    assert [(len(guide.steps), len(guide.commands)) for guide in GUIDES.values()] == [(3, 2), (3, 5), (4, 2), (3, 1)]


@pytest.mark.parametrize("name", GUIDES)
def test_who_follows_a_guide_has_what_it_promises(name: str, tmp_path: Path) -> None:
    assert GUIDES[name].follow(tmp_path) == []


@pytest.mark.parametrize(("name", "path"), STEPS)
def test_a_guide_has_no_step_that_could_be_left_out(name: str, path: str, tmp_path: Path) -> None:
    assert GUIDES[name].follow(tmp_path, without=path) != []


@pytest.mark.parametrize(
    ("guide", "module", "path"),
    [(PROVIDER, "echo", "runtime/llm/providers/echo.py"), (STORE, "notes", "runtime/memory/notes.py")],
    ids=["provider", "store"],
)
def test_what_another_package_declares_is_found_as_well(guide: Guide, module: str, path: str, tmp_path: Path) -> None:
    declared = re.sub(r'project\.entry-points\."([\w.]+)"', r"\1", guide.entry_points).replace('"', "")
    installed = {
        "my_package/__init__.py": "",
        f"my_package/{module}.py": guide.steps[path][1],
        "my_package-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: my-package\nVersion: 1\n",
        "my_package-1.dist-info/entry_points.txt": declared,
    }
    others = {name: body for name, (kind, body) in guide.steps.items() if kind != "diff" and name != path}
    for name, body in (installed | others).items():
        write(tmp_path, name, body)
    for name in ("runtime", "actors", "serve", "configs"):
        (tmp_path / name).symlink_to(ROOT / name)
    assert guide.run(tmp_path) == []
