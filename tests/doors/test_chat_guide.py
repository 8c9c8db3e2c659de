"""docs/guides/chat-clients.md and follow-a-run.md: what they show does what they say, against a service that is up."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doors.program import JEEVES, TREE, Program
from tests.doors.sample_repo import FILES, write_files
from tests.doors.test_http import Service, free_port, until_stopped

pytestmark = [pytest.mark.ray, pytest.mark.long]

GUIDES = Path(__file__).resolve().parents[2] / "docs" / "guides"
CHAT, FOLLOWING = "chat-clients.md", "follow-a-run.md"
COMMANDS = {CHAT: 7, FOLLOWING: 8}
PORT = "8400"
MARK = "-- end of a command --"

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(kind: str, guide: str = CHAT) -> list[str]:
    return [body for each, body in _BLOCK.findall((GUIDES / guide).read_text(encoding="utf-8")) if each == kind]


def commands(guide: str) -> list[tuple[str, str]]:
    """Each command with what it is said to print; the one that starts the service comes first."""
    parts = [part.partition("\n") for block in blocks("console", guide) for part in block.split("$ ")[1:]]
    return [(command, told.strip()) for command, _, told in parts]


def prints(output: str, told: str) -> bool:
    """Whether an output has the told parts, between which something may be left out, in their order."""
    pattern = ".*".join(re.escape(part.strip()) for part in told.split("…"))
    return re.search(pattern, output, re.DOTALL) is not None


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("guide")
    repo = write_files(folder / "post_office", FILES)
    with until_stopped(Service(Program(folder / "state"), [repo], free_port())) as running:
        assert prints(running.told, commands(CHAT)[0][1].replace(PORT, str(running.port)))
        yield running


def test_the_script_prints_what_the_guide_says(service: Service) -> None:
    (script,), (told,) = blocks("python"), blocks("text")
    done = subprocess.run(
        [sys.executable, "-c", script.replace(PORT, str(service.port))],
        env={**os.environ, "NO_PROXY": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stderr == ""
    assert prints(done.stdout, told), done.stdout


@pytest.mark.parametrize("guide", list(COMMANDS))
def test_the_commands_print_what_the_guide_says(guide: str, service: Service) -> None:
    first, *others = commands(guide)
    assert first[0].startswith("jeeves serve")
    assert len(others) == COMMANDS[guide]
    script = "".join(f"{command}\necho '{MARK}'\n" for command, _ in others).replace(PORT, str(service.port))
    state = {"JEEVES_STATE_DIR": str(service.program.state_dir)}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        env={**os.environ, **TREE, **state, "NO_PROXY": "127.0.0.1", "PATH": f"{JEEVES.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    for (command, told), printed in zip(others, done.stdout.split(f"{MARK}\n")[:-1], strict=True):
        assert prints(printed, told), (command, printed)
