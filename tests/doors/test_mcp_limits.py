"""Answers about a repository of huge functions, files and lists stay short, and slow calls hold up no other client."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client

from tests.doors.mcp_site import HttpServerProcess, Site, size_of, stdio_session, text_of
from tests.doors.program import Program

MAX_TOKENS = 4_000
COMMIT = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false", "commit", "-q")

# Patterns that take Python's own engine minutes on a line of the right form.
SLOW = {"patterns": ["(a+)+$", "(a|a)*$"], "regex": True}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("locate", {"query": "huge"}),
    ("locate", {"query": "where is a value handled by a huge function", "max_results": 50}),
    ("query", {"query": "huge", "max_results": 50}),
    ("semantic_search", {"query": "huge function of values", "max_results": 50}),
    ("find_definitions", {"name": "handle", "max_results": 100}),
    ("explore_symbol_usage", {"symbol": "huge", "max_results": 500}),
    ("find_references", {"symbol": "handle", "max_results": 500}),
    ("search_text", {"patterns": ["value"], "max_results": 50}),
    ("search_text", {"patterns": ["value", "huge", "handle", "def", "x", "return", "a", "long"], "max_results": 50}),
    ("search_files", {"pattern": "*", "max_results": 500}),
    ("get_symbols", {"path": "many.py"}),
    ("get_symbols", {"path": "huge.py"}),
    ("map_module", {"path": ".", "max_depth": 15}),
    ("map_module", {"path": "many.py"}),
    ("analyze_structure", {"path": "."}),
    ("read_code", {"path": "huge.py", "max_lines": 2_000}),
    ("read_code", {"symbol": "huge", "max_lines": 2_000}),
    ("read_code", {"path": "long_lines.txt"}),
    ("trace_entry_point", {}),
    ("trace_entry_point", {"entry": "huge", "max_depth": 10}),
    ("find_related", {"path": "huge.py", "max_results": 50}),
    ("find_related", {"symbol": "handle", "max_results": 50}),
    ("explain_code_history", {"path": ".", "max_commits": 100}),
    ("explain_code_history", {"symbol": "huge", "max_commits": 100, "origin": True}),
    ("git_status", {}),
    ("analyze_impact", {"symbols": ["huge", "handle"]}),
    ("analyze_impact", {"files": ["huge.py", "many.py"]}),
    ("get_session_status", {}),
    ("sync_index", {}),
)


def large(folder: Path) -> Path:
    """A repository whose functions, files, lines, lists and changes are all too long for an answer."""
    (folder / "pkg").mkdir(parents=True)
    lines = [f"    value_{n} = handle({n}, 'value of some length that is repeated in {n}')" for n in range(3_000)]
    head = ["from many import handle", "", "", "def huge(value):", '    """Handle every value of the world."""']
    (folder / "huge.py").write_text("\n".join([*head, *lines, "    return value", ""]))
    many = "\n\n".join(
        f"def name_{n}_{'of_some_length_' * 6}(value, other=None):\n    '''{'Told. ' * 40}'''\n    return handle(value)"
        for n in range(800)
    )
    (folder / "many.py").write_text(f"def handle(value, why=''):\n    return value\n\n\n{many}\n")
    (folder / "long_lines.txt").write_text(f"{'long ' * 30_000}\n" * 5)
    for n in range(300):
        text = f"from huge import huge\nfrom many import handle\n\n\ndef main():\n    huge({n})\n    handle(huge)\n"
        (folder / f"pkg/a_module_with_a_long_name_{'x' * 60}_{n}.py").write_text(text)
    (folder / "slow.txt").write_text(f"{'a' * 4_000}!\n" * 50)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
    subprocess.run(["git", *COMMIT, "-m", f"Begin {'with many words ' * 200}"], cwd=folder, check=True)
    for n in range(300):
        (folder / f"untracked_{'x' * 60}_{n}.txt").write_text("new\n")
    (folder / "huge.py").write_text((folder / "huge.py").read_text().replace("repeated", "written again"))
    return folder


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return large(tmp_path_factory.mktemp("mcp-large") / "repo")


@pytest.fixture(scope="module")
def site(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    jeeves = Program(tmp_path_factory.mktemp("mcp-large-state") / "state", JEEVES_RAY__MODE="in_process")
    opened = Site(stdio_session(jeeves, repo, "--tools", "all"))
    try:
        yield opened
    finally:
        opened.close()


@pytest.mark.long
@pytest.mark.parametrize(("tool", "arguments"), CALLS)
def test_every_answer_stays_within_its_tokens_unless_asked_for_more(
    site: Site, tool: str, arguments: dict[str, Any]
) -> None:
    answer = site.call(tool, **arguments)
    assert not answer.is_error, text_of(answer)
    assert 0 < size_of(answer) <= MAX_TOKENS
    properties = {each.name: each.input_schema["properties"] for each in site.run(site.client.list_tools()).tools}
    if "max_tokens" in properties[tool]:
        assert size_of(site.call(tool, **arguments, max_tokens=600)) <= 600
        assert size_of(site.call(tool, **arguments, max_tokens=12_000)) <= 12_000


@pytest.mark.long
def test_every_reading_tool_is_asked(site: Site) -> None:
    tools = site.run(site.client.list_tools()).tools
    readers = {tool.name for tool in tools if tool.annotations is not None and tool.annotations.read_only_hint}
    # One needs a model, the other a session.
    assert readers - {name for name, _ in CALLS} == {"ask", "review_changes"}


@pytest.mark.long
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_slow_calls_of_one_client_hold_up_no_other(mode: Any, repo: Path, tmp_path: Path) -> None:
    jeeves = Program(tmp_path / "state", JEEVES_RAY__MODE="in_process")
    server = await asyncio.to_thread(HttpServerProcess, jeeves, repo)
    try:
        async with Client(server.url, mode=mode) as one, Client(server.url, mode=mode) as other:
            await other.call_tool("find_definitions", {"name": "huge"})
            slow = [asyncio.create_task(one.call_tool("search_text", SLOW)) for _ in range(5)]
            patterns = {"patterns": ["written again"], "max_results": 1}
            for tool, arguments in (("find_definitions", {"name": "huge"}), ("search_text", patterns)):
                started_s = time.monotonic()
                result = await other.call_tool(tool, arguments)
                took_s = time.monotonic() - started_s
                assert "huge.py" in text_of(result)
                assert not any(task.done() for task in slow), f"{tool} was answered after {took_s:.1f} s, after these"
            for task in slow:
                task.cancel()
            await asyncio.wait(slow)
    finally:
        assert await asyncio.to_thread(server.close) == 128 + signal.SIGTERM
