"""What is missing is looked for at most twice more by every tool of the agents, and less often on request."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runtime.codebase.attempt_log import AttemptLog
from runtime.codebase.citation import ToolResult
from runtime.codebase.codebase import Codebase
from runtime.codebase.index.writer import refresh
from runtime.codebase.tools.code_history import explain_code_history
from runtime.codebase.tools.find_related import find_related
from runtime.codebase.tools.locate import locate
from runtime.codebase.tools.module_map import map_module
from runtime.codebase.tools.read_code import read_code
from runtime.codebase.tools.symbol_usage import explore_symbol_usage
from runtime.codebase.tools.trace_entry import trace_entry_point

FIRST_TRIES = {"symbol_index", "path", "text", "ranked_chunks"}
CALLS: dict[str, Callable[[Codebase], ToolResult]] = {
    "locate": lambda codebase: locate(codebase, "zzqxw", scope="src/shop"),
    "explore_symbol_usage": lambda codebase: explore_symbol_usage(codebase, "zzqxw"),
    "map_module": lambda codebase: map_module(codebase, "zzqxw"),
    "trace_entry_point": lambda codebase: trace_entry_point(codebase, "zzqxw"),
    "read_code by path": lambda codebase: read_code(codebase, "zzqxw.py"),
    "read_code by symbol": lambda codebase: read_code(codebase, symbol="zzqxw"),
    "find_related by path": lambda codebase: find_related(codebase, "zzqxw.py"),
    "find_related by symbol": lambda codebase: find_related(codebase, symbol="zzqxw"),
}
# A name for which each row of the table of retries has something to offer at its second retry alone.
SECOND: dict[str, Callable[[Codebase], ToolResult]] = {
    "read_code by path": lambda codebase: read_code(codebase, "quite/another/place/orders.ts"),
    "map_module": lambda codebase: map_module(codebase, "quite/another/place/orders.ts"),
    "find_related by path": lambda codebase: find_related(codebase, "quite/another/place/orders.ts"),
    "explore_symbol_usage": lambda codebase: explore_symbol_usage(codebase, "ceil"),
    "locate": lambda codebase: locate(codebase, "PaymentGateway", scope="src/shop/missing"),
}


def retries(result: ToolResult) -> list[str]:
    return [attempt.strategy for attempt in result.attempts if attempt.strategy not in FIRST_TRIES]


@pytest.mark.parametrize(("permitted", "made"), [(0, 0), (1, 1), (2, 2), (3, 2)])
@pytest.mark.parametrize("name", CALLS)
def test_what_is_missing_is_looked_for_so_often_and_no_more(
    codebase: Codebase, name: str, permitted: int, made: int
) -> None:
    result = CALLS[name](codebase.retrying(permitted))
    assert not result.usable
    assert len(retries(result)) == min(made, 1 if name == "trace_entry_point" else 2)


@pytest.mark.parametrize("name", SECOND)
def test_what_the_second_retry_finds_is_not_found_with_one(codebase: Codebase, name: str) -> None:
    assert SECOND[name](codebase.retrying(2)).usable
    assert not SECOND[name](codebase.retrying(1)).usable


def test_the_history_of_a_file_is_found_by_a_name_that_is_like_it(git_codebase: Codebase) -> None:
    result = explain_code_history(git_codebase, "ap.py")
    assert (result.data["file"], retries(result)[0]) == ("app.py", "fuzzy_path")
    assert explain_code_history(git_codebase.retrying(0), "ap.py").status == "not_found"


@pytest.fixture
def git_codebase(tmp_path: Path) -> Iterator[Codebase]:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "app.py").write_text("def run():\n    return 1\n")
    (tmp_path / "repo" / "use.py").write_text("from app import run as start\n\nstart()\n")
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path / "repo", check=True)
    refresh(tmp_path / "repo", tmp_path / "index.sqlite")
    opened = Codebase.open(tmp_path / "repo", tmp_path / "index.sqlite")
    yield opened
    opened.close()


@pytest.mark.parametrize("tool", [read_code, explain_code_history, find_related])
def test_a_symbol_is_found_by_the_name_that_an_import_gives_it(
    git_codebase: Codebase, tool: Callable[..., ToolResult]
) -> None:
    result = tool(git_codebase, symbol="start")
    assert result.data["file"] == "app.py"
    assert retries(result)[:2] == ["partial_symbol", "imports"]


def test_a_log_without_retries_left_makes_none() -> None:
    log = AttemptLog(1)
    assert log.retry("one", lambda: [1]) == [1]
    assert not log.may_retry
    assert log.retry("two", lambda: [1]) == []
    assert [attempt.strategy for attempt in log.attempts] == ["one"]
