"""The tools of `jeeves mcp` in the hands of the official client, on the source of an installed package."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import starlette
from mcp.shared.exceptions import MCPError

from runtime.tools.result import ToolResult
from serve.mcp.search.answers import MAX_BESIDE_ROWS, answer_of
from tests.doors.mcp_site import Site, http_session, size_of, stdio_session, text_of
from tests.doors.program import Program

MAX_TOKENS = 4_000

SEARCH_TOOLS = [
    *("ask", "locate", "find_definitions", "explore_symbol_usage", "search_text", "search_files", "get_symbols"),
    *("map_module", "read_code", "trace_entry_point", "find_related", "explain_code_history", "git_status"),
]
# Patterns that take Python's own engine minutes on a line of the right form.
SLOW = {"patterns": ["(a+)+$", "(a|a)*$"], "regex": True}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source of Starlette, and a file that is slow to search."""
    folder = tmp_path_factory.mktemp("mcp") / "starlette"
    shutil.copytree(Path(starlette.__file__).parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "slow.txt").write_text(f"{'a' * 4_000}!\n" * 50)
    return folder


@pytest.fixture(scope="module", params=["stdio", "http"])
def site(request: pytest.FixtureRequest, repo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A client that is connected over that transport."""
    jeeves = Program(tmp_path_factory.mktemp("mcp-state") / "state", JEEVES_RAY__MODE="in_process")
    sessions = {"stdio": stdio_session, "http": http_session}
    opened = Site(sessions[request.param](jeeves, repo))
    try:
        yield opened
    finally:
        opened.close()


def test_the_search_tools_are_listed_with_what_a_model_needs_to_choose(site: Site) -> None:
    listed = site.run(site.client.list_tools())
    assert [tool.name for tool in listed.tools] == SEARCH_TOOLS
    for tool in listed.tools:
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert tool.input_schema["type"] == "object"
        unexplained = [name for name, one in tool.input_schema["properties"].items() if "description" not in str(one)]
        assert set(unexplained) <= {"start_line", "end_line"}, tool.name


def test_the_server_says_who_it_is_and_where_to_start(site: Site) -> None:
    assert site.client.server_info is not None
    assert site.client.server_info.name == "jeeves"
    assert "locate" in str(site.client.instructions)


@pytest.mark.long
@pytest.mark.parametrize(
    ("tool", "arguments", "found"),
    [
        ("locate", {"query": "Starlette.add_route"}, "applications.py"),
        ("locate", {"query": "where are cookies parsed"}, "requests.py"),
        ("find_definitions", {"name": "Router"}, "routing.py"),
        ("explore_symbol_usage", {"symbol": "compile_path"}, "routing.py"),
        ("search_text", {"patterns": ["x-forwarded", "WWW-Authenticate", "set-cookie"]}, "responses.py"),
        ("search_text", {"patterns": [r"def \w+_exception"], "regex": True}, "def "),
        ("search_files", {"pattern": "**/cors.py"}, "middleware/cors.py"),
        ("get_symbols", {"path": "routing.py"}, "Route.matches (method)"),
        ("map_module", {"path": "middleware"}, "cors.py"),
        ("map_module", {}, "routing.py"),
        ("read_code", {"symbol": "compile_path"}, "def compile_path"),
        ("read_code", {"path": "status.py", "start_line": 1, "end_line": 5}, "    1  "),
        ("trace_entry_point", {"entry": "Router.app", "max_depth": 2}, "routing.py"),
        ("find_related", {"path": "routing.py"}, "applications.py"),
    ],
)
def test_each_tool_finds_what_is_there(site: Site, tool: str, arguments: dict[str, Any], found: str) -> None:
    result = site.call(tool, **arguments)
    assert not result.is_error, text_of(result)
    assert found in text_of(result)
    assert size_of(result) <= MAX_TOKENS
    assert isinstance(result.structured_content, dict)


@pytest.mark.long
def test_a_question_is_answered_in_sentences_with_citations(site: Site, repo: Path) -> None:
    told: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    async def ask() -> Any:
        question = {"question": "How does compile_path handle convertors?", "session": "tour"}
        return await site.client.call_tool("ask", question, progress_callback=on_progress)

    result = site.run(ask())
    assert not result.is_error, text_of(result)
    assert size_of(result) <= MAX_TOKENS
    cited = result.structured_content["citations"]
    assert "routing.py" in {each["file"] for each in cited}
    for each in cited:
        assert f"[{each['file']}:" in text_of(result)
        assert 1 <= each["start_line"] <= each["end_line"] <= len((repo / each["file"]).read_text().split("\n"))
    assert told == sorted(set(told))
    assert site.call("ask", question="   ").is_error


def test_questions_are_answered_side_by_side_and_can_be_cancelled(site: Site) -> None:
    async def ask() -> list[Any]:
        questions = ["What is Router?", "Who calls compile_path?", "What is Mount?"]
        asking = [asyncio.create_task(site.client.call_tool("ask", {"question": each})) for each in questions]
        await asyncio.sleep(0.05)
        asking[0].cancel()
        return await asyncio.gather(*asking[1:])

    for result in site.run(ask()):
        assert "routing.py" in text_of(result)


def test_text_and_data_of_an_answer_name_the_same_places(site: Site) -> None:
    result = site.call("locate", query="Router")
    for row in result.structured_content["results"]:
        assert f"{row['file']}:{row['start_line']}" in text_of(result)


def test_an_answer_that_was_cut_says_how_much_and_how_to_see_more(site: Site) -> None:
    few = site.call("search_text", patterns=["self"], max_results=50, max_tokens=600)
    assert size_of(few) <= 600
    assert " of 50" in few.structured_content["cut"]["hits"]
    assert "max_tokens" in text_of(few)
    more = site.call("search_text", patterns=["self"], max_results=50, max_tokens=20_000)
    assert len(more.structured_content["hits"]) == 50
    assert "max_results above 50" in text_of(more)


def test_a_long_file_is_read_on_where_it_was_cut(site: Site, repo: Path) -> None:
    lines = (repo / "routing.py").read_text().split("\n")
    start, read = 1, []
    for _ in range(100):
        result = site.call("read_code", path="routing.py", start_line=start)
        assert size_of(result) <= MAX_TOKENS
        read += result.structured_content["text"].split("\n")
        if "cut" not in result.structured_content:
            break
        start = result.structured_content["end_line"] + 1
    assert read == lines[: len(read)]
    assert len(lines) - len(read) <= 1


def test_an_edit_is_seen_by_the_next_call(site: Site, repo: Path) -> None:
    for number in range(3):
        (repo / "edited.py").write_text(f"def fresh_name_{number}():\n    return {number}\n")
        result = site.call("find_definitions", name=f"fresh_name_{number}")
        assert f"edited.py:1-2 fresh_name_{number}" in text_of(result)
    (repo / "edited.py").unlink()
    assert site.call("find_definitions", name="fresh_name_2").structured_content["status"] == "not_found"


def test_nothing_found_says_what_to_try_next(site: Site) -> None:
    result = site.call("find_definitions", name="frobnicate_quux")
    assert not result.is_error
    assert "locate" in text_of(result)


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("locate", {}, "missing required field `query`"),
        ("locate", {"query": 7}, "Expected `str`, got `int`"),
        ("locate", {"query": "x", "max_results": 0}, "`int` >= 1"),
        ("locate", {"query": "x", "max_results": 10**30}, "max_results"),
        ("locate", {"query": "x", "shell": "rm -rf"}, "has no parameter 'shell'"),
        ("locate", {"query": "a\0b"}, "U+0000"),
        ("locate", {"query": "x" * 300_000}, "at most 262144"),
        ("locate", {"query": "x", "y" * 100_000: 1}, "has no parameter"),
        ("locate", {"query": "x", "scope": "/etc"}, "outside"),
        ("read_code", {}, "give a path or a symbol"),
        ("read_code", {"path": "../../../etc/passwd"}, "outside"),
        ("read_code", {"path": "/etc/passwd"}, "outside"),
        ("read_code", {"path": "..\\..\\etc"}, ""),
        ("read_code", {"path": "routing.py", "start_line": -1}, ">= 1"),
        ("search_text", {"patterns": []}, "length >= 1"),
        ("search_text", {"patterns": ["x"] * 9}, "length <= 8"),
        ("search_text", {"patterns": ["("], "regex": True}, "pattern"),
        ("search_text", {"patterns": "self"}, "Expected `array`"),
        ("map_module", {"path": "../.."}, "outside"),
        ("get_symbols", {"path": "/etc/shadow"}, "outside"),
        ("find_related", {"path": "~/.ssh/id_rsa"}, ""),
        ("trace_entry_point", {"entry": "../../x.py"}, ""),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_call_that_cannot_be_served_is_answered_with_the_reason(
    site: Site, tool: str, arguments: dict[str, Any], told: str
) -> None:
    result = site.call(tool, **arguments)
    assert told in text_of(result)
    assert result.is_error or told == ""
    assert len(text_of(result)) < 1_200
    assert "Traceback" not in text_of(result)
    assert "root:" not in text_of(result)


def test_a_link_out_of_the_repository_is_not_followed(site: Site, repo: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text("SECRET_OUTSIDE = 1\n")
    (repo / "link.py").symlink_to(tmp_path / "outside.py")
    try:
        for result in (
            site.call("read_code", path="link.py"),
            site.call("search_text", patterns=["SECRET_OUTSIDE = "]),
            site.call("find_definitions", name="SECRET_OUTSIDE"),
        ):
            assert "SECRET_OUTSIDE = 1" not in text_of(result)
    finally:
        (repo / "link.py").unlink()


def test_an_unknown_tool_is_a_protocol_error_that_names_the_known_ones(site: Site) -> None:
    with pytest.raises(MCPError, match="no tool is named 'rm'; there are ask, locate, "):
        site.call("rm", path="x")


@pytest.mark.long
def test_a_slow_call_holds_up_no_other(site: Site) -> None:
    async def during_a_slow_one() -> tuple[bool, float]:
        slow = [asyncio.create_task(site.client.call_tool("search_text", SLOW)) for _ in range(4)]
        await asyncio.sleep(0.2)
        started_s = time.monotonic()
        result = await site.client.call_tool("find_definitions", {"name": "Router"})
        took_s = time.monotonic() - started_s
        assert "routing.py" in text_of(result)
        was_slow = not any(task.done() for task in slow)
        for task in slow:
            task.cancel()
        await asyncio.wait(slow)
        return was_slow, took_s

    was_slow, took_s = site.run(during_a_slow_one())
    assert was_slow, f"the others were done after {took_s:.1f} s"


@pytest.mark.long
def test_a_cancelled_call_makes_room_for_the_next(site: Site) -> None:
    async def cancel_and_call() -> float:
        for _ in range(4):
            slow = [asyncio.create_task(site.client.call_tool("search_text", SLOW)) for _ in range(3)]
            await asyncio.sleep(0.1)
            for task in slow:
                task.cancel()
            await asyncio.wait(slow)
        result = await site.client.call_tool("search_text", {"patterns": ["def compile_path"]})
        assert "routing.py" in text_of(result)
        return 0.0

    site.run(cancel_and_call())


@pytest.mark.long
def test_a_hundred_calls_at_once_are_all_answered(site: Site) -> None:
    async def flood() -> list[Any]:
        names = ["Router", "compile_path", "frobnicate", "Mount"]
        calls = [site.client.call_tool("find_definitions", {"name": names[n % 4]}) for n in range(100)]
        return await asyncio.gather(*calls)

    assert sum("routing.py" in text_of(result) for result in site.run(flood())) == 75


@pytest.mark.long
def test_a_thousand_calls_at_once_are_all_answered(site: Site) -> None:
    async def flood() -> list[Any]:
        return await asyncio.gather(
            *(site.client.call_tool("find_definitions", {"name": "Router"}) for _ in range(1_000))
        )

    assert all("routing.py" in text_of(result) for result in site.run(flood()))


def test_the_answers_hold_no_path_of_this_machine(site: Site, repo: Path) -> None:
    for tool, arguments in (("locate", {"query": "Router"}), ("map_module", {}), ("git_status", {})):
        result = site.call(tool, **arguments)
        whole = text_of(result) + json.dumps(result.structured_content)
        assert str(repo) not in whole or tool == "git_status"
        assert os.path.expanduser("~") + "/" not in whole  # noqa: PTH111


def test_locate_says_which_word_of_a_question_occurs_nowhere_and_shows_few_places() -> None:
    rows = [{"file": f"m{number}.py", "start_line": 1, "end_line": 2, "symbol": "f"} for number in range(9)]
    data = {"query": "GraphQL support", "results": rows, "absence": {"nowhere": ("GraphQL",), "unknown": 0.5}}
    shown = answer_of("locate", ToolResult("ok", data), {"query": "GraphQL support"}, 4_000)
    assert shown.data["note"] == "GraphQL occurs nowhere in this repository"
    assert len(shown.data["results"]) == MAX_BESIDE_ROWS


def test_a_text_search_that_left_its_scope_shows_few_lines() -> None:
    hits = [{"file": f"m{number}.py", "line": 1, "text": "x"} for number in range(9)]
    result = ToolResult("ok", {"pattern": "x", "scope": None, "hits": hits})
    shown = answer_of("grep_search", result, {"pattern": "x", "scope": "docs"}, 4_000)
    assert "nothing in docs" in shown.data["note"]
    assert len(shown.data["hits"]) == MAX_BESIDE_ROWS
