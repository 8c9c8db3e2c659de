"""What a stage may spend: reserved before it is spent, exact when eight race for it, and a refusal is final."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.agents.capability import StageContext, StageResult
from runtime.errors import BudgetExhaustedError
from runtime.run.bounds import Grant
from runtime.run.envelope import Envelope
from runtime.run.stage_budget import ASKED_TOOL_CALLS, StageBudget
from runtime.run.stage_view import StageView
from runtime.supervision.events import BudgetRequested
from runtime.testing import PipelineBuilder
from runtime.tools.registry import Tool
from runtime.tools.result import ToolResult
from tests.runtime.hosting.hosted import Hosted
from tests.runtime.hosting.recorded import TOOLS, NoParameters

BRANCHES = tuple(f"b{number}" for number in range(8))


class Purse:
    """What a run has left; notes each ask, and whether two were ever under way at once."""

    def __init__(self, **left: int) -> None:
        self.left = {"llm_calls": 0, "tool_calls": 0, "tokens": 0, **left}
        self.asked: list[Grant] = []
        self.most_at_once = 0
        self._now = 0

    async def more(self, asked: Grant) -> Grant:
        self.asked.append(asked)
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        await asyncio.sleep(0)
        self._now -= 1
        return Grant(
            self._take("llm_calls", asked.llm_calls),
            self._take("tool_calls", asked.tool_calls),
            self._take("tokens", asked.tokens or 0),
        )

    def _take(self, name: str, wanted: int) -> int:
        given = min(wanted, self.left[name])
        self.left[name] -= given
        return given


async def took(budget: StageBudget, tokens: int = 0) -> bool:
    """Whether a model call could be reserved."""
    try:
        await budget.take_llm_call(tokens)
    except BudgetExhaustedError:
        return False
    return True


@pytest.mark.parametrize("granted", [0, 1, 5])
async def test_a_grant_of_n_permits_exactly_n_calls(granted: int) -> None:
    budget = StageBudget(Grant(llm_calls=granted, tool_calls=granted))
    assert [await budget.take_tool_call() for _ in range(granted + 2)] == [True] * granted + [False] * 2
    assert [await took(budget) for _ in range(granted + 2)] == [True] * granted + [False] * 2
    assert (budget.tool_calls, budget.llm_calls) == (granted, granted)


async def test_more_is_asked_for_only_when_the_grant_is_used_up() -> None:
    purse = Purse(tool_calls=20, llm_calls=2)
    budget = StageBudget(Grant(llm_calls=1, tool_calls=2), purse.more)
    for _ in range(2):
        await budget.take_tool_call()
    await budget.take_llm_call(0)
    assert purse.asked == []
    await budget.take_tool_call()
    await budget.take_llm_call(0)
    assert purse.asked == [Grant(tool_calls=ASKED_TOOL_CALLS), Grant(llm_calls=1)]


@pytest.mark.parametrize("left", [0, 1, 7, 8, 9, 40])
async def test_eight_who_race_get_together_what_there_is_and_ask_one_after_the_other(left: int) -> None:
    purse = Purse(tool_calls=left)
    budget = StageBudget(Grant(), purse.more)
    given = await asyncio.gather(*(budget.take_tool_call() for _ in range(8)))
    assert sum(given) == min(8, left) == budget.tool_calls
    assert purse.most_at_once == 1


async def test_a_refusal_is_final_and_nothing_is_asked_for_twice() -> None:
    purse = Purse()
    budget = StageBudget(Grant(), purse.more)
    assert await asyncio.gather(*(budget.take_tool_call() for _ in range(8))) == [False] * 8
    assert await asyncio.gather(*(took(budget) for _ in range(8))) == [False] * 8
    assert purse.asked == [Grant(tool_calls=ASKED_TOOL_CALLS), Grant(llm_calls=1)]
    purse.left = {"llm_calls": 9, "tool_calls": 9, "tokens": 9}
    assert not await budget.take_tool_call()
    assert not await took(budget)


async def test_a_part_of_what_was_asked_for_is_used_and_then_asked_for_once_more() -> None:
    purse = Purse(tool_calls=3)
    budget = StageBudget(Grant(), purse.more)
    assert [await budget.take_tool_call() for _ in range(5)] == [True] * 3 + [False] * 2
    assert len(purse.asked) == 2


async def test_a_refused_model_call_names_its_bound() -> None:
    with pytest.raises(BudgetExhaustedError, match="0 model calls made, none is left") as caught:
        await StageBudget(Grant()).take_llm_call(10)
    assert caught.value.values == {"bound": "llm_calls"}
    with pytest.raises(BudgetExhaustedError, match="0 tokens spent, 10 more would be too many") as caught:
        await StageBudget(Grant(llm_calls=1, tokens=9)).take_llm_call(10)
    assert caught.value.values == {"bound": "tokens"}


async def test_a_model_call_without_tokens_for_it_is_not_counted() -> None:
    budget = StageBudget(Grant(llm_calls=1, tokens=9))
    assert not await took(budget, 10)
    assert budget.llm_calls == 0
    assert await took(budget, 9)


async def test_tokens_are_reserved_before_they_are_spent_also_by_calls_side_by_side() -> None:
    budget = StageBudget(Grant(llm_calls=8, tokens=30))
    assert [await took(budget, 10) for _ in range(4)] == [True, True, True, False]
    budget.book_tokens(10, 3, 2)
    assert (budget.tokens_in, budget.tokens_out) == (3, 2)
    assert await took(budget, 5)
    assert not await took(budget, 1)


async def test_without_a_bound_on_tokens_any_number_is_taken() -> None:
    budget = StageBudget(Grant(llm_calls=1, tokens=None))
    assert await took(budget, 10**9)


async def test_tokens_that_are_missing_are_asked_for_and_no_more() -> None:
    purse = Purse(tokens=7)
    budget = StageBudget(Grant(llm_calls=2, tokens=5), purse.more)
    assert await took(budget, 12)
    assert purse.asked == [Grant(tokens=7)]
    assert not await took(budget, 1)


async def test_who_is_cancelled_while_asking_does_not_hold_up_the_others() -> None:
    asked = asyncio.Event()

    async def never(_asked: Grant) -> Grant:
        asked.set()
        await asyncio.Event().wait()
        return Grant()

    budget = StageBudget(Grant(), never)
    first = asyncio.create_task(budget.take_tool_call())
    await asked.wait()
    second = asyncio.create_task(budget.take_tool_call())
    asked.clear()
    first.cancel()
    await asked.wait()
    second.cancel()
    for task in (first, second):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert budget.tool_calls == 0


amounts = st.lists(st.integers(0, 12), min_size=1, max_size=12)


@given(st.integers(0, 40), st.integers(0, 40), amounts)
def test_whatever_is_taken_and_given_back_no_more_tokens_are_out_than_there_are(
    granted: int, left: int, calls: list[int]
) -> None:
    async def spend() -> None:
        budget = StageBudget(Grant(llm_calls=99, tokens=granted), Purse(tokens=left).more)
        out = 0
        for number, tokens in enumerate(calls):
            if not await took(budget, tokens):
                continue
            out += tokens
            assert out <= granted + left
            if number % 2:
                budget.book_tokens(tokens, tokens // 2, 0)
                out -= tokens - tokens // 2

    asyncio.run(spend())


# --- whole runs: eight branches at once


class Counter:
    """A tool that counts its calls."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def tool(self) -> Tool:
        def look(_subject: Any, _parameters: Any) -> ToolResult:
            self.calls.append(1)
            return ToolResult("ok")

        return Tool("look", "Looks.", NoParameters, look)


async def raced(step: Any, tools: Sequence[Tool] = (), has_llm: bool = False, **bounds: int) -> tuple[Hosted, Envelope]:
    """A run of eight branches that all do the same at once."""
    builder = PipelineBuilder.parallel(**bounds)
    model = {"has_llm": True, "model_role": "fast"} if has_llm else {}
    for branch in BRANCHES:
        builder.stage(branch, error_next="end", **model, **(TOOLS if tools else {}))
    kit = Hosted(builder.build(), {branch: [step] for branch in BRANCHES}, tools=tools)
    run_id = await kit.submit()
    return kit, await kit.settle(run_id, 0.01, most=2_000)


@pytest.mark.parametrize("bound", [0, 1, 7, 8, 9, 20, 63, 64, 65])
async def test_eight_branches_that_race_make_together_exactly_as_many_tool_calls_as_the_run_permits(bound: int) -> None:
    counter = Counter()

    async def eight_at_once(context: StageContext, _view: StageView) -> StageResult:
        results = await asyncio.gather(*(context.tools.call("look", None, {}) for _ in range(8)))
        return StageResult({"ok": [result.status for result in results].count("ok")})

    _, envelope = await raced(eight_at_once, [counter.tool()], max_tool_calls=bound)
    assert len(counter.calls) == min(64, bound) == envelope.usage.tool_calls
    assert sum(output["ok"] for output in envelope.outputs.values()) == len(counter.calls)
    assert envelope.terminal_reason == "completed"


@settings(max_examples=15)
@given(st.integers(0, 80), st.lists(st.integers(0, 14), min_size=8, max_size=8))
def test_whatever_eight_branches_want_they_never_make_more_tool_calls_than_permitted(
    bound: int, wanted: list[int]
) -> None:
    async def race() -> None:
        counter = Counter()

        async def greedy(context: StageContext, _view: StageView) -> StageResult:
            number = wanted[context.key.hop - 1]
            results = await asyncio.gather(*(context.tools.call("look", None, {}) for _ in range(number)))
            return StageResult({"ok": [result.status for result in results].count("ok")})

        kit, envelope = await raced(greedy, [counter.tool()], max_tool_calls=bound)
        assert len(counter.calls) == envelope.usage.tool_calls <= bound
        asked = [e for e in kit.log.events(envelope.run_id) if isinstance(e.payload, BudgetRequested)]
        assert len(asked) <= 8 * 3

    asyncio.run(race())


@pytest.mark.parametrize("bound", [0, 1, 8, 9, 16, 23, 24, 25])
async def test_eight_branches_that_race_for_model_calls_never_make_more_than_the_run_permits(bound: int) -> None:
    made: list[int] = []

    async def three_at_once(context: StageContext, _view: StageView) -> StageResult:
        assert context.budget is not None
        given = await asyncio.gather(*(took(context.budget) for _ in range(3)))
        made.extend([1] * sum(given))
        return StageResult({})

    _, envelope = await raced(three_at_once, has_llm=True, max_llm_calls=bound)
    assert len(made) == min(bound, 24) == envelope.usage.llm_calls


async def test_a_refused_model_call_that_nobody_catches_ends_the_run_by_its_bound() -> None:
    async def two(context: StageContext, _view: StageView) -> StageResult:
        await context.budget.take_llm_call(0)
        await context.budget.take_llm_call(0)
        return StageResult({})

    _, envelope = await raced(two, has_llm=True, max_llm_calls=8)
    assert envelope.terminal_reason == "max_llm_calls_exceeded"
    assert envelope.usage.llm_calls <= 8


@pytest.mark.parametrize("bound", [0, 99, 100, 101, 2_000, 100_000])
async def test_eight_branches_that_race_for_tokens_never_reserve_more_than_the_run_permits(bound: int) -> None:
    spent: list[int] = []

    async def side_by_side(context: StageContext, _view: StageView) -> StageResult:
        async def call() -> None:
            if await took(context.budget, 100):
                await asyncio.sleep(0)
                context.budget.book_tokens(100, 60, 40)
                spent.append(100)

        await asyncio.gather(*(call() for _ in range(4)))
        return StageResult({})

    _, envelope = await raced(side_by_side, has_llm=True, max_llm_calls=99, max_tokens=bound)
    assert sum(spent) == envelope.usage.tokens_in + envelope.usage.tokens_out <= bound
    assert bound < 100 or spent
