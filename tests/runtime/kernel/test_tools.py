"""Tools: a refused or failed call is a result with a status, never an exception."""

from __future__ import annotations

import threading
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.citation import Citation
from runtime.errors import ToolArgumentsError, ToolFailedError, UnknownNameError
from runtime.run.bounds import Grant
from runtime.run.stage_budget import StageBudget
from runtime.tools.executor import ToolExecutor
from runtime.tools.registry import Tool, ToolRegistry
from runtime.tools.result import USABLE, ToolResult


class Query(msgspec.Struct, frozen=True):
    """Parameters of the tool in these tests."""

    text: str
    limit: int = 3


def purse(tool_calls: int) -> StageBudget:
    return StageBudget(Grant(tool_calls=tool_calls))


def look(subject: Any, query: Query) -> ToolResult:
    return ToolResult("ok", {"subject": subject, "text": query.text, "limit": query.limit}, duration_ms=999)


def tool(run: Any = look, name: str = "look", timeout_s: float = 30.0) -> Tool:
    return Tool(name, "Looks.", Query, run, timeout_s=timeout_s)


def executor(run: Any = look, budget: StageBudget | None = None, timeout_s: float = 30.0) -> ToolExecutor:
    registry = ToolRegistry([tool(run, timeout_s=timeout_s)])
    return ToolExecutor(registry, frozenset({"look", "ghost"}), budget or purse(5))


async def test_a_call_runs_the_tool_on_its_subject_with_checked_parameters() -> None:
    budget = purse(5)
    calls = executor(budget=budget)
    result = await calls.call("look", "subject", {"text": "x", "limit": None})
    assert (result.status, result.data) == ("ok", {"subject": "subject", "text": "x", "limit": 3})
    assert result.usable
    assert 0 <= result.duration_ms < 999
    assert budget.tool_calls == 1


@pytest.mark.parametrize("limit", [0, 1, 3])
async def test_a_budget_of_n_permits_exactly_n_calls(limit: int) -> None:
    budget = purse(limit)
    calls = executor(budget=budget)
    statuses = [(await calls.call("look", None, {"text": "x"})).status for _ in range(5)]
    assert statuses == ["ok"] * limit + ["denied"] * (5 - limit)
    assert budget.tool_calls == limit


async def test_a_refused_call_names_actual_and_allowed_and_costs_nothing() -> None:
    budget = purse(1)
    calls = executor(budget=budget)
    await calls.call("look", None, {"text": "x"})
    result = await calls.call("look", None, {"text": "x"})
    assert result.error == "1 tool calls made by this stage, and the run has none left"
    result = await calls.call("delete", None, {})
    assert result.error == "tool 'delete' is not permitted for this agent; permitted: ghost, look"
    assert budget.tool_calls == 1


async def test_a_permitted_tool_that_does_not_exist_is_an_error_result() -> None:
    result = await executor().call("ghost", None, {})
    assert result.status == "error"
    assert "no tool is named 'ghost'; known: look" in str(result.error)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "text"),
        ({"text": 5}, "text"),
        ({"text": "x", "limit": "3"}, "limit"),
        ({"text": "x", "depth": 1}, "'depth'; it takes limit, text"),
    ],
)
async def test_arguments_outside_the_schema_are_an_error_result_that_names_them(arguments: Any, says: str) -> None:
    result = await executor().call("look", None, arguments)
    assert result.status == "error"
    assert says in str(result.error)


def raising(error: BaseException) -> Any:
    def run(_subject: Any, _query: Query) -> ToolResult:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ValueError("odd"), "tool 'look' failed: ValueError: odd"),
        (ToolFailedError("no index"), "no index"),
        (TimeoutError("its own socket"), "TimeoutError: its own socket"),
        (SystemExit(3), "SystemExit: 3"),
        (RecursionError("deep"), "RecursionError: deep"),
    ],
)
async def test_whatever_a_tool_raises_is_an_error_result(error: BaseException, says: str) -> None:
    result = await executor(raising(error)).call("look", None, {"text": "x"})
    assert result.status == "error"
    assert says in str(result.error)


async def test_a_tool_that_takes_too_long_is_a_timeout_result() -> None:
    done = threading.Event()

    def slow(_subject: Any, _query: Query) -> ToolResult:
        done.wait(10)
        return ToolResult("ok")

    budget = purse(5)
    calls = executor(slow, budget, timeout_s=0.02)
    result = await calls.call("look", None, {"text": "x"})
    done.set()
    assert (result.status, result.error) == ("timeout", "tool 'look' took longer than 0.02 s")
    assert budget.tool_calls == 1


async def test_a_tool_that_returns_something_else_is_an_error_result() -> None:
    result = await executor(lambda subject, query: {"status": "ok"}).call("look", None, {"text": "x"})
    assert (result.status, result.error) == ("error", "tool 'look' returned a dict, not a ToolResult")


async def test_every_call_is_reported_the_refused_ones_too() -> None:
    seen: list[tuple[str, str]] = []

    async def on_call(name: str, result: ToolResult) -> None:
        seen.append((name, result.status))

    calls = ToolExecutor(ToolRegistry([tool()]), frozenset({"look"}), purse(1), on_call)
    for name in ("look", "look", "delete"):
        await calls.call(name, None, {"text": "x"})
    assert seen == [("look", "ok"), ("look", "denied"), ("delete", "denied")]


def test_only_permitted_tools_are_described_with_their_parameters() -> None:
    registry = ToolRegistry([tool(), tool(name="other")])
    (described,) = ToolExecutor(registry, frozenset({"look"}), purse(1)).describe()
    assert described["name"] == "look"
    assert described["parameters"]["properties"]["text"] == {"type": "string"}
    assert described["parameters"]["required"] == ["text"]
    assert (described["access"], described["risk"], described["cost"]) == ("read", "read", 1)


def test_a_registry_knows_its_tools_in_order_and_refuses_two_of_a_name() -> None:
    registry = ToolRegistry([tool(name="b"), tool(name="a")])
    assert list(registry.names()) == [one.name for one in registry] == ["b", "a"]
    with pytest.raises(UnknownNameError, match="no tool is named 'c'; known: a, b"):
        registry.get("c")
    with pytest.raises(ValueError, match="two tools are named 'a'"):
        ToolRegistry([tool(name="a"), tool(name="a")])


json_values = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)


@given(st.dictionaries(st.sampled_from(["text", "limit", "depth"]), json_values))
def test_arguments_are_read_or_refused_and_none_is_as_good_as_absent(arguments: dict[str, Any]) -> None:
    try:
        read = tool().read_arguments(arguments)
    except ToolArgumentsError as error:
        assert error.values["tool"] == "look"
    else:
        assert isinstance(read, Query)
        assert {key: value for key, value in arguments.items() if value is not None} == {
            key: value for key, value in msgspec.structs.asdict(read).items() if arguments.get(key) is not None
        }


def test_a_citation_marks_one_line_or_a_range() -> None:
    assert Citation("a.py", 3, 3).mark == "[a.py:3]"
    assert Citation("a.py", 3, 7).mark == "[a.py:3-7]"


def test_only_ok_and_partial_results_are_usable() -> None:
    assert {"ok", "partial"} == USABLE
    assert not ToolResult("empty").usable


def test_tools_given_as_a_function_are_listed_once_when_they_are_first_asked_for() -> None:
    listings: list[int] = []

    def listed() -> list[Tool]:
        listings.append(1)
        return [tool()]

    registry = ToolRegistry(listed)
    assert listings == []
    assert (registry.names(), registry.get("look").name, len(listings)) == (("look",), "look", 1)


def test_two_tools_of_one_name_are_refused_at_once_or_when_a_function_lists_them() -> None:
    with pytest.raises(ValueError, match="two tools are named 'look'"):
        ToolRegistry([tool(), tool()])
    late = ToolRegistry(lambda: [tool(), tool()])
    with pytest.raises(ValueError, match="two tools are named 'look'"):
        late.names()
