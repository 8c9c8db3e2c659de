"""Calls with an effect outside: made once by whichever attempt, or left to a person where nobody can know."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from runtime.bus.queries import LocalQueries
from runtime.effects.journal import Declaration, MemoryJournal
from runtime.effects.remote_journal import QueryJournal, journal_queries
from runtime.effects.stage_effects import StageEffects
from runtime.errors import (
    CircuitOpenError,
    EffectInDoubtError,
    FencedError,
    HandlerLostError,
    JeevesError,
    NoHandlerError,
    QueryTimeoutError,
    StateStorageError,
)
from runtime.primitives.clock import FakeClock, SystemClock
from runtime.primitives.ids import RunId, StageKey
from runtime.run.bounds import Grant
from runtime.run.stage_budget import StageBudget
from runtime.tools.executor import ToolExecutor
from runtime.tools.registry import Tool, ToolRegistry
from runtime.tools.result import ToolResult

KEY = StageKey(RunId("r-1"), 3)


def port(journal: MemoryJournal) -> QueryJournal:
    queries = LocalQueries()
    queries.register(journal_queries(journal))
    return QueryJournal(queries, SystemClock())


class Line(msgspec.Struct, frozen=True):
    text: str


class Paper:
    """What a tool writes on. With a `mood` it fails after the ink has flowed, or before."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.mood = ""
        self.looked = 0

    def write(self, _subject: object, line: Line) -> ToolResult:
        mood, self.mood = self.mood, ""
        if mood == "refuse":
            return ToolResult("error", error="no ink")
        self.lines.append(line.text)
        if mood == "die":
            raise KeyboardInterrupt("the process is gone")
        return ToolResult("ok", data={"lines": len(self.lines)})

    def look(self, _subject: object, line: Line) -> ToolResult | None:
        self.looked += 1
        return ToolResult("ok", data={"lines": len(self.lines)}) if line.text in self.lines else None


class WritingAttempts:
    """A tool that writes, and a journal that outlives the attempts that use it."""

    def __init__(self, effect: Declaration, checks: bool = True) -> None:
        self.paper = Paper()
        self.journal = MemoryJournal()
        was_done = self.paper.look if checks else None
        self.tool = Tool("write", "writes", Line, self.paper.write, "write", effect=effect, was_done=was_done)

    def attempt(self, number: int) -> ToolExecutor:
        key = msgspec.structs.replace(KEY, attempt=number)
        effects = StageEffects(port(self.journal), key)
        budget = StageBudget(Grant(tool_calls=9))
        return ToolExecutor(ToolRegistry([self.tool]), frozenset({"write"}), budget, effects=effects)

    async def write(self, attempt: ToolExecutor, text: str = "a") -> ToolResult:
        return await attempt.call("write", None, {"text": text})

    async def die_writing(self, number: int) -> None:
        self.paper.mood = "die"
        with pytest.raises(BaseException, match="the process is gone"):
            await self.write(self.attempt(number))


EVERY: tuple[Declaration, ...] = ("repeatable", "check_first", "ask")


@pytest.mark.parametrize("effect", EVERY)
async def test_what_an_earlier_attempt_has_done_is_not_done_again_and_its_result_is_the_same(
    effect: Declaration,
) -> None:
    desk = WritingAttempts(effect)
    first, second = desk.attempt(1), desk.attempt(2)
    done = [await desk.write(first, text) for text in ("a", "b", "a")]
    again = [await desk.write(second, text) for text in ("a", "b", "a")]
    assert [result.data for result in again] == [result.data for result in done]
    assert desk.paper.lines == ["a", "b", "a"]


@pytest.mark.parametrize(("effect", "lines"), [("repeatable", ["a", "a"]), ("check_first", ["a"])])
async def test_what_is_in_doubt_is_repeated_or_looked_for_as_the_tool_declares(
    effect: Declaration, lines: list[str]
) -> None:
    desk = WritingAttempts(effect)
    await desk.die_writing(1)
    assert (await desk.write(desk.attempt(2))).status == "ok"
    assert desk.paper.lines == lines
    assert desk.paper.looked == (effect == "check_first")


async def test_what_was_looked_for_and_not_found_is_done() -> None:
    desk = WritingAttempts("check_first")
    await desk.die_writing(1)
    desk.paper.lines.clear()
    assert (await desk.write(desk.attempt(2))).data == {"lines": 1}
    assert (await desk.write(desk.attempt(3))).data == {"lines": 1}
    assert desk.paper.lines == ["a"]


@pytest.mark.parametrize(("effect", "checks"), [("ask", True), ("check_first", False)])
async def test_what_is_in_doubt_and_cannot_be_looked_for_is_left_to_a_person(effect: Declaration, checks: bool) -> None:
    desk = WritingAttempts(effect, checks)
    await desk.die_writing(1)
    with pytest.raises(EffectInDoubtError, match="call 1 of hop 3 of run r-1 may have been made"):
        await desk.write(desk.attempt(2))
    assert desk.paper.lines == ["a"]


async def test_a_refusal_of_the_tool_is_the_calls_result_for_good() -> None:
    desk = WritingAttempts("ask")
    desk.paper.mood = "refuse"
    assert [(await desk.write(desk.attempt(number))).error for number in (1, 2)] == ["no ink"] * 2
    assert desk.paper.lines == []


async def test_another_question_under_the_same_number_is_another_call() -> None:
    desk = WritingAttempts("ask")
    await desk.die_writing(1)
    assert (await desk.write(desk.attempt(2), "other")).status == "ok"
    assert desk.paper.lines == ["a", "other"]


async def test_an_attempt_that_a_newer_one_has_overtaken_makes_no_call() -> None:
    desk = WritingAttempts("repeatable")
    journal, newer = port(desk.journal), msgspec.structs.replace(KEY, attempt=2)
    assert await journal.begin(KEY, "first life")
    assert await journal.begin(newer, "second life")
    with pytest.raises(FencedError):
        await desk.write(desk.attempt(1))
    assert desk.paper.lines == []
    assert (await desk.write(desk.attempt(2))).status == "ok"


async def test_an_attempt_is_begun_by_one_process_alone() -> None:
    journal = port(MemoryJournal())
    assert [await journal.begin(KEY, life) for life in ("one", "one", "two")] == [True, True, False]


async def test_reading_tools_and_refused_calls_leave_no_trace_in_the_journal() -> None:
    desk = WritingAttempts("ask")
    reader = Tool("read", "reads", Line, desk.paper.write)
    effects = StageEffects(port(desk.journal), KEY)
    tools = ToolExecutor(ToolRegistry([reader]), frozenset({"read"}), StageBudget(Grant(tool_calls=9)), effects=effects)
    assert (await tools.call("read", None, {"text": "a"})).status == "ok"
    assert (await tools.call("write", None, {"text": "a"})).status == "denied"
    assert (await desk.attempt(1).call("write", None, {"nonsense": 1})).status == "error"
    records: Any = desk.journal._records
    assert records == {}


class Away:
    """Queries that fail with what `troubles` holds, one after the other, and then are answered."""

    def __init__(self, *troubles: JeevesError) -> None:
        self._troubles = list(troubles)
        self._there = LocalQueries()
        self._there.register(journal_queries(MemoryJournal()))

    async def query(self, type_: str, body: dict[str, Any], timeout_s: float = 1.0) -> dict[str, Any]:
        if self._troubles:
            raise self._troubles.pop(0)
        return await self._there.query(type_, body, timeout_s)


async def test_a_journal_that_is_away_for_a_while_is_asked_again() -> None:
    clock = FakeClock()
    troubles = (
        StateStorageError("no room is left", problem="full"),
        StateStorageError("the server is away", problem="away"),
        HandlerLostError("the store died"),
        QueryTimeoutError("no answer"),
        CircuitOpenError("failed too often"),
    )
    begun = asyncio.create_task(QueryJournal(Away(*troubles), clock).begin(KEY, "x"))
    for _ in troubles:
        assert not begun.done()
        await clock.advance(0.5)
    assert await begun


@pytest.mark.parametrize(
    "trouble",
    [
        StateStorageError("it is damaged", problem="damaged"),
        FencedError("overtaken"),
        NoHandlerError("nobody"),
        HandlerLostError("it died 4 times", deaths=4),
    ],
)
async def test_a_trouble_of_the_journal_that_does_not_pass_is_told(trouble: JeevesError) -> None:
    with pytest.raises(type(trouble), match=trouble.message):
        await QueryJournal(Away(trouble), FakeClock()).begin(KEY, "x")
