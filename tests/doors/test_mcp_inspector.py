"""The MCP inspector lists and calls tools over stdio, and drives one change over HTTP to its merge.

It starts a new server over stdio for each call, and connects anew over HTTP. `MCP_INSPECTOR` names the program,
`mcp-inspector` of `@modelcontextprotocol/inspector@2.12.0`; without it nothing runs.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.capabilities.code_change.played_agent import CHANGED, QUERY, TASK, git, repository
from tests.doors.mcp_site import HttpServerProcess, command
from tests.doors.program import Program

INSPECTOR = os.environ.get("MCP_INSPECTOR", "")
PATIENCE_S = 120

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not INSPECTOR, reason="MCP_INSPECTOR names no program")]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HttpServerProcess]:
    jeeves = Program(tmp_path / "state", JEEVES_RAY__MODE="in_process")
    running = HttpServerProcess(jeeves, repository(tmp_path / "project"), "--tools", "all")
    try:
        yield running
    finally:
        assert running.close() == 128 + signal.SIGTERM


def inspected(server: Sequence[str], *method: str) -> dict[str, Any]:
    """What the inspector prints of one method, by a new process and a new connection."""
    done = subprocess.run(
        [INSPECTOR, "--cli", *server, "--connect-timeout", str(1000 * PATIENCE_S), "--method", *method],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.stdout, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def called_at(server: Sequence[str], tool: str, **arguments: Any) -> dict[str, Any]:
    words = [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in arguments.items()]
    given = [part for word in words for part in ("--tool-arg", word)]
    answer = inspected(server, "tools/call", "--tool-name", tool, *given)
    assert not answer.get("isError"), answer
    told: dict[str, Any] = answer["structuredContent"]
    return told


def called(url: str, tool: str, **arguments: Any) -> dict[str, Any]:
    return called_at([url, "--transport", "http"], tool, **arguments)


def over_stdio(jeeves: Program, repo: Path) -> list[str]:
    settings = [part for name, value in jeeves.env.items() for part in ("-e", f"{name}={value}")]
    return [*settings, *command(repo, "--tools", "all")]


@pytest.mark.timeout(300)
def test_the_inspector_lists_tools_and_calls_two_over_stdio(tmp_path: Path) -> None:
    jeeves = Program(tmp_path / "state", JEEVES_RAY__MODE="in_process")
    server = over_stdio(jeeves, repository(tmp_path / "project"))
    listed = {tool["name"]: tool for tool in inspected(server, "tools/list")["tools"]}
    assert {"start_session", "submit_phase", "locate", "read_code"} <= set(listed)
    assert all(tool["description"] and tool["inputSchema"]["type"] == "object" for tool in listed.values())
    assert called_at(server, "find_definitions", name="load")["symbols"][0]["file"] == "load.py"
    assert called_at(server, "search_text", patterns=["def load"])["hits"][0]["file"] == "load.py"


@pytest.mark.timeout(900)
def test_the_inspector_drives_a_change_to_its_merge(server: HttpServerProcess, tmp_path: Path) -> None:
    def submit(**data: Any) -> dict[str, Any]:
        return called(
            server.url, "submit_phase", data={**data, "tools_used": data.get("tools_used", []), "summary": "said"}
        )

    told = called(server.url, "start_session", intent="MODIFY", query=QUERY, flags=["fast", "no_doc_research"])
    assert told["phase"] == "QUERY_FRAME"
    action = {"value": "modify", "quote": "Make"}
    told = submit(action_type=action, target_symbols=[{"value": "load", "quote": "load"}])
    told = submit(tasks=[TASK])
    called(server.url, "read_code", path="load.py")
    called(server.url, "add_explored_files", files=["load.py"])
    assert called(server.url, "check_write_target", file="load.py")["permitted"]
    (Path(told["workspace"]) / "load.py").write_text(CHANGED)
    submit(task_id="t1", checklist=[{"item": "retry loop", "status": "done", "evidence": "load.py:5-10"}])
    submit()
    submit(passed=True, details="tried")
    called(server.url, "review_changes")
    submit(reviewed_files=["load.py"], commit_message="Retry in load", tools_used=["review_changes"])
    told = submit()
    assert told["outcome"] == "completed"
    assert git(tmp_path / "project", "show", "main:load.py") == CHANGED.strip()
