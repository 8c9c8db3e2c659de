"""What a stage may ask of its model: reserved before, given back after, never more than the model or the run has."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from runtime.errors import (
    BudgetExhaustedError,
    InvalidOutputError,
    ModelBrokeOffError,
    ModelDownError,
    ModelFailedError,
)
from runtime.llm.client import ModelClient
from runtime.llm.messages import Message
from runtime.llm.scripted import ScriptedModel
from runtime.llm.stage_llm import MIN_ANSWER_TOKENS, ModelAsked, StageLlm
from runtime.llm.tokens import count_messages
from runtime.primitives.clock import FakeClock
from runtime.run.bounds import Grant
from runtime.run.stage_budget import StageBudget
from tests.runtime.llm.test_model_client import models

HELLO = [Message("user", "hello")]
HELLO_TOKENS = 16 + 16 + 5


class Verdict(BaseModel):
    """A small answer."""

    model_config = ConfigDict(extra="forbid")

    verdict: Literal["yes", "no"]
    why: str = Field(max_length=40)


GOOD = '{"verdict": "yes", "why": "so it is"}'


class Asker:
    """A stage's model over a script, with what it spends."""

    def __init__(self, *script: Any, grant: Grant | None = None, room: int = 4_096, **asked: Any) -> None:
        self.model = ScriptedModel(script, room)
        self.clock = FakeClock()
        client = ModelClient(models(), {"main": self.model}, self.clock)
        self.budget = StageBudget(grant or Grant(llm_calls=9))
        use = ModelAsked("planner", **asked)
        until_ms = self.clock.now_ms() + 100_000
        self.llm = StageLlm(client, use, self.budget, "r-1", "ann", self.clock, until_ms)

    @property
    def spent(self) -> tuple[int, int, int]:
        return (self.budget.llm_calls, self.budget.tokens_in, self.budget.tokens_out)


async def test_a_call_is_counted_with_the_tokens_that_it_took() -> None:
    asker = Asker("a word")
    assert (await asker.llm.generate(HELLO)).text == "a word"
    assert asker.spent == (1, HELLO_TOKENS, 6)
    (request,) = asker.model.requests
    assert (request.user_id, request.sampling.max_tokens) == ("ann", 100)


@pytest.mark.parametrize(("tokens", "is_made"), [(HELLO_TOKENS + 99, False), (HELLO_TOKENS + 100, True)])
async def test_prompt_and_longest_answer_are_reserved_before_anything_is_sent(tokens: int, is_made: bool) -> None:
    asker = Asker("a word", grant=Grant(llm_calls=1, tokens=tokens))
    if is_made:
        await asker.llm.generate(HELLO)
    else:
        with pytest.raises(BudgetExhaustedError):
            await asker.llm.generate(HELLO)
    assert len(asker.model.requests) == int(is_made)


async def test_what_a_call_did_not_take_can_be_reserved_again() -> None:
    asker = Asker("abc", grant=Grant(llm_calls=2, tokens=HELLO_TOKENS + 100 + HELLO_TOKENS + 3))
    await asker.llm.generate(HELLO)
    await asker.llm.generate(HELLO)
    assert asker.spent == (2, 2 * HELLO_TOKENS, 6)


async def test_the_calls_of_a_run_are_not_exceeded() -> None:
    asker = Asker("abc", grant=Grant(llm_calls=1))
    await asker.llm.generate(HELLO)
    with pytest.raises(BudgetExhaustedError) as caught:
        await asker.llm.generate(HELLO)
    assert caught.value.values["bound"] == "llm_calls"
    assert len(asker.model.requests) == 1


@pytest.mark.parametrize(
    ("error", "tokens_in"),
    [
        (ModelDownError("down", permanent=True), 0),
        (ModelBrokeOffError("cut"), HELLO_TOKENS),
        (ModelBrokeOffError("cut", tokens_in=9, tokens_out=4), 9),
    ],
)
async def test_a_failed_call_counts_and_costs_what_it_may_have_taken(error: Exception, tokens_in: int) -> None:
    asker = Asker(error)
    with pytest.raises(ModelFailedError):
        await asker.llm.generate(HELLO)
    assert asker.spent[:2] == (1, tokens_in)


async def test_a_model_that_hangs_leaves_time_for_who_stands_in() -> None:
    asker = Asker("late")
    asker.model.hold.clear()
    task = asyncio.create_task(asker.llm.generate(HELLO))
    await asker.clock.advance(79.9)
    assert not task.done()
    await asker.clock.advance(0.2)
    with pytest.raises(ModelBrokeOffError, match="within the time of its stage"):
        await task
    assert asker.model.called_off == 1


@pytest.mark.parametrize("missing", [-1, 0, 1])
async def test_a_prompt_that_leaves_no_room_for_an_answer_is_never_sent(missing: int) -> None:
    asker = Asker("x" * 200, room=256)
    text = "x" * (256 - 32 - MIN_ANSWER_TOKENS + missing)
    if missing > 0:
        with pytest.raises(ModelFailedError, match="the model takes 256 with the answer"):
            await asker.llm.generate([Message("user", text)])
    else:
        done = await asker.llm.generate([Message("user", text)])
        assert done.tokens_in + done.tokens_out <= 256
    assert len(asker.model.requests) == int(missing <= 0)


async def test_an_agents_own_settings_lower_the_answer_and_set_the_temperature() -> None:
    asker = Asker("x", max_tokens=20, temperature=0.7)
    await asker.llm.generate(HELLO)
    assert asker.model.requests[0].sampling.max_tokens == 20
    assert asker.model.requests[0].sampling.temperature == 0.7
    raised = Asker("x", max_tokens=5_000)
    await raised.llm.generate(HELLO)
    assert raised.model.requests[0].sampling.max_tokens == 100


@pytest.mark.parametrize("text", [GOOD, f"Here it is:\n```json\n{GOOD}\n```\nbye", f"{GOOD} and more"])
async def test_an_object_is_read_out_of_what_a_model_puts_around_it(text: str) -> None:
    answered = await Asker(text).llm.generate_object(HELLO, Verdict)
    assert (answered.object.verdict, answered.calls) == ("yes", 1)


BAD = [
    "",
    "no idea",
    "{",
    '{"verdict": "maybe", "why": "?"}',
    '{"verdict": "yes"}',
    "[1]",
    '{"verdict": "yes", "x": 1}',
]


@pytest.mark.parametrize("bad", BAD)
async def test_an_answer_that_does_not_fit_is_mended_once_with_words_that_say_what_is_wrong(bad: str) -> None:
    asker = Asker(bad, GOOD)
    answered = await asker.llm.generate_object(HELLO, Verdict)
    assert (answered.object.verdict, answered.calls, asker.budget.llm_calls) == ("yes", 2, 2)
    again = asker.model.requests[1].messages
    assert [message.role for message in again] == ["user", "assistant", "user"]
    assert "cannot be used: " in again[-1].content


@pytest.mark.parametrize("bad", BAD)
async def test_a_second_answer_that_does_not_fit_is_the_end(bad: str) -> None:
    asker = Asker(bad)
    with pytest.raises(InvalidOutputError):
        await asker.llm.generate_object(HELLO, Verdict)
    assert asker.budget.llm_calls == 2


async def test_without_a_call_left_nothing_is_mended_and_the_run_is_not_at_its_bound() -> None:
    asker = Asker("no idea", grant=Grant(llm_calls=1))
    with pytest.raises(InvalidOutputError, match="no call is left"):
        await asker.llm.generate_object(HELLO, Verdict)


async def test_a_request_for_mending_fits_the_model_however_long_the_bad_answer_was() -> None:
    asker = Asker("y" * 500, room=400)
    with pytest.raises(InvalidOutputError):
        await asker.llm.generate_object(HELLO, Verdict)
    for request in asker.model.requests:
        assert count_messages(asker.model.counter, request.messages) + request.sampling.max_tokens <= 400


async def test_a_cut_off_answer_is_told_to_be_brief() -> None:
    asker = Asker("z" * 500, GOOD)
    await asker.llm.generate_object(HELLO, Verdict)
    assert "cut off at 100 tokens" in asker.model.requests[1].messages[-1].content


async def test_who_watches_an_answer_sees_all_of_it_so_far_and_a_second_try_from_its_beginning() -> None:
    seen: list[str] = []
    asker = Asker("no object, and some forty characters of words.", GOOD)
    await asker.llm.generate_object(HELLO, Verdict, on_written=seen.append)
    assert seen == ["no object, and some forty characters of ", "no object, and some forty characters of words.", GOOD]


class Fallen(Asker):
    """A stage whose role has fallbacks: one model for each script."""

    def __init__(self, *scripts: list[Any], grant: Grant | None = None) -> None:
        super().__init__("unused", grant=grant)
        names = tuple(f"m{number}" for number in range(len(scripts)))
        self.models = [ScriptedModel(script) for script in scripts]
        client = ModelClient(models(names), dict(zip(names, self.models, strict=True)), self.clock)
        until_ms = self.clock.now_ms() + 100_000
        self.llm = StageLlm(client, ModelAsked("planner"), self.budget, "r-1", "ann", self.clock, until_ms)

    @property
    def asked(self) -> list[int]:
        return [len(model.requests) for model in self.models]


def cut(**values: Any) -> ModelBrokeOffError:
    return ModelBrokeOffError("cut", **values)


async def test_where_an_answer_breaks_off_the_fallback_is_asked_under_a_reservation_of_its_own() -> None:
    asker = Fallen([cut(tokens_in=9, tokens_out=4)], [GOOD])
    assert (await asker.llm.generate(HELLO)).text == GOOD
    assert asker.asked == [1, 1]
    assert asker.spent == (2, 9 + HELLO_TOKENS, 4 + len(GOOD))


async def test_fallbacks_that_break_off_are_asked_once_each_and_the_last_one_is_heard() -> None:
    asker = Fallen([cut()], [ModelDownError("away", permanent=True)], [ModelBrokeOffError("cut, too")])
    with pytest.raises(ModelBrokeOffError, match="cut, too"):
        await asker.llm.generate(HELLO)
    assert asker.asked == [1, 1, 1]


@pytest.mark.parametrize(("calls", "is_asked"), [(1, False), (2, True)])
async def test_a_fallback_for_which_no_call_is_left_is_not_asked(calls: int, is_asked: bool) -> None:
    asker = Fallen([cut()], [GOOD], grant=Grant(llm_calls=calls))
    if is_asked:
        await asker.llm.generate(HELLO)
    else:
        with pytest.raises(ModelBrokeOffError):
            await asker.llm.generate(HELLO)
    assert asker.asked == [1, int(is_asked)]


async def test_when_the_time_of_the_stage_is_over_no_fallback_is_asked() -> None:
    asker = Fallen(["late"], [GOOD])
    asker.models[0].hold.clear()
    task = asyncio.create_task(asker.llm.generate(HELLO))
    await asker.clock.advance(81)
    with pytest.raises(ModelBrokeOffError, match="within the time of its stage"):
        await task
    assert asker.asked == [1, 0]
