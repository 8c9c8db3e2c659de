"""docs/guides/chat-clients.md and follow-a-run.md: what they show does what they say, against a service that is up."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doors.page_shell import commands_of, differences, prints
from tests.doors.program import Program
from tests.doors.sample_repo import FILES, write_files
from tests.doors.test_http import Service, until_stopped
from tests.free_ports import free_port

pytestmark = [pytest.mark.ray, pytest.mark.long]

GUIDES = Path(__file__).resolve().parents[2] / "docs" / "guides"
CHAT, FOLLOWING = "chat-clients.md", "follow-a-run.md"
COMMANDS = {CHAT: 7, FOLLOWING: 10}
PORT = "8400"

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(kind: str, guide: str = CHAT) -> list[str]:
    return [body for each, body in _BLOCK.findall((GUIDES / guide).read_text(encoding="utf-8")) if each == kind]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("guide")
    repo = write_files(folder / "post_office", FILES)
    with until_stopped(Service(Program(folder / "state"), [repo], free_port())) as running:
        assert prints(running.told, commands_of(GUIDES / CHAT)[0][1].replace(PORT, str(running.port)))
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
    first, *others = commands_of(GUIDES / guide)
    assert first[0].startswith("jeeves serve")
    assert len(others) == COMMANDS[guide]
    here = [(command.replace(PORT, str(service.port)), told) for command, told in others]
    assert differences(here, service.program.cwd, {"JEEVES_STATE_DIR": str(service.program.state_dir)}) == []
