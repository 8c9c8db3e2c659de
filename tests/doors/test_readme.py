"""Every command of the README is run as it stands, in a copy of this environment and a state folder of its own.

The block that begins the README indexes this repository; the others begin with a copy of the finished index.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.free_ports import free_port

ROOT = Path(__file__).parent.parent.parent
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN_HERE = ("make test",)
SHORT = ('JEEVES_RAY__MODE=in_process jeeves ask "Where are bounds enforced?" --repo .',)
"""The blocks that take seconds; all others are run by `make check` alone."""
FROM_NOTHING = ("make ask", *SHORT)
STARTS_RAY = ("make ask", "jeeves up", "jeeves serve")
"""What the blocks that start Ray have. In others each question would, which the doors' own tests see to."""
TIMEOUT_S = 240


def blocks() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return [block for block in BLOCK.findall(text) if block.strip() not in NOT_RUN_HERE]


def marked(block: str) -> Any:
    return pytest.param(block, marks=() if block.strip() in SHORT else pytest.mark.long)


def test_the_readme_shows_both_commands_and_every_door() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in ("make ask", "make test", "jeeves batch", "jeeves up", "jeeves serve", "jeeves doctor"):
        assert command in text
    assert len(blocks()) >= 8


@pytest.fixture(scope="session")
def finished_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of this repository, made by the first process of tests that needs it."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    index = shared / "indexed" / "index"
    with (shared / "indexed.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not index.exists():
            _make_index(shared / "being-indexed")
            (shared / "being-indexed").rename(index.parent)
    return index


def _make_index(state: Path) -> None:
    command = [sys.executable, "-m", "serve.cli.main", "index", "--repo", "."]
    environment = {**os.environ, "JEEVES_STATE_DIR": str(state)}
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=TIMEOUT_S, check=True)


@pytest.mark.ray
@pytest.mark.parametrize(
    "block", [marked(block) for block in blocks()], ids=lambda block: block.strip().splitlines()[-1][:40]
)
def test_a_block_of_the_readme_runs_as_it_stands(block: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    run_block(block, tmp_path, request)


@pytest.mark.ray
@pytest.mark.long
@pytest.mark.parametrize("name", ["http.md", "dashboard.md", "guides/add-a-pipeline.md", "answers.md", "code-index.md"])
def test_the_commands_of_a_page_run_as_they_stand(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    # Further blocks of the page on the code index measure for minutes; test_commands_run.py lists them.
    block = BLOCK.findall((ROOT / "docs" / name).read_text(encoding="utf-8"))[0]
    run_block(block, tmp_path, request)


def run_block(block: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Run a block of commands in a state folder of its own."""
    if block.strip() not in FROM_NOTHING and ("--repo ." in block or 'repo="."' in block):
        shutil.copytree(request.getfixturevalue("finished_index"), tmp_path / "state" / "index")
    script = block.replace("/tmp/", f"{tmp_path}/").replace("8700", str(free_port()))
    environment = {
        **os.environ,
        "JEEVES_STATE_DIR": str(tmp_path / "state"),
        "PATH": f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
    }
    if not any(word in block for word in STARTS_RAY):
        environment["JEEVES_RAY__MODE"] = "in_process"
    # Job control, so that `kill %1` means the service that the block started.
    done = subprocess.run(
        [shutil.which("bash") or "bash", "-euo", "pipefail", "-m", "-c", script],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
