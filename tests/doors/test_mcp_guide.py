"""docs/guides/mcp-over-http.md: each command does what the page says, against the server that the page starts."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from tests.doors.mcp_site import HttpServerProcess
from tests.doors.page_shell import commands_of, differences, prints
from tests.doors.program import WITHOUT_VECTORS, Program
from tests.doors.sample_repo import FILES, write_files

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "mcp-over-http.md"
PORT = "8701"
START = f"jeeves mcp --repo post_office --http 127.0.0.1:{PORT} --token-file mcp.token"


@pytest.mark.long
def test_each_command_of_the_page_prints_what_it_says(tmp_path: Path) -> None:
    commands = commands_of(PAGE)
    at = [command for command, _ in commands].index(START)
    assert len(commands) == 17
    write_files(tmp_path / "post_office", FILES)
    (script,) = re.findall(r"^```python client\.py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    env = {"JEEVES_STATE_DIR": str(tmp_path / "state"), "JEEVES_RAY__MODE": "in_process", **WITHOUT_VECTORS}
    assert differences(commands[:at], tmp_path, env) == []
    assert (tmp_path / "mcp.token").stat().st_mode & 0o777 == 0o600
    server = HttpServerProcess(
        Program(tmp_path / "state", **env), tmp_path / "post_office", "--token-file", str(tmp_path / "mcp.token")
    )
    try:
        assert prints(
            f"listening on {server.url}; stop with Ctrl-C", commands[at][1].replace(f":{PORT}", f":{server.port}")
        )
        (tmp_path / "client.py").write_text(script.replace(PORT, str(server.port)), encoding="utf-8")
        others = [(command.replace(PORT, str(server.port)), told) for command, told in commands[at + 1 :]]
        assert differences(others, tmp_path, env) == []
    finally:
        assert server.close() == 128 + signal.SIGTERM
