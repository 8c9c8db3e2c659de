"""Retries, breakers, fallbacks and turns of the model client, with scripted models and a clock that tests turn."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bus.circuit_breaker import BreakerRules
from runtime.errors import ModelBrokeOffError, ModelBusyError, ModelDownError, ModelFailedError, ModelRefusedError
from runtime.llm.client import ModelClient, RetryRules
from runtime.llm.fair_share import FairShare
from runtime.llm.messages import Completion
from runtime.llm.model_file import ModelsFile
from runtime.llm.scripted import ScriptedModel
from runtime.primitives.clock import FakeClock
from tests.runtime.llm.endpoint import asked

BUSY = ModelBusyError("busy", retry_after_s=None)
DOWN = ModelDownError("down")


def models(names: tuple[str, ...] = ("main",), concurrent: int = 32, **roles: Any) -> ModelsFile:
    """A model file with endpoints of these names; the role `default` uses the first and falls back to the others."""
    deployment = {"backend": "openai", "model": "m", "base_url": "http://x", "max_model_len": 4096}
    default = {"deployment": names[0], "fallbacks": names[1:], "max_tokens": 100}
    return ModelsFile.model_validate(
        {
            "deployments": {name: {**deployment, "concurrent": concurrent} for name in names},
            "roles": {"default": default, **roles},
        }
    )


def client_of(
    clock: FakeClock, concurrent: int = 32, breaker: BreakerRules | None = None, **backends: Any
) -> ModelClient:
    return ModelClient(models(tuple(backends), concurrent), backends, clock, breaker=breaker)


async def in_time(clock: FakeClock, client: ModelClient, seconds: float = 100.0) -> Completion:
    """The completion of one request while the clock goes on."""
    task = asyncio.create_task(client.complete("default", asked()))
    for _ in range(int(seconds * 4)):
        await clock.advance(0.25)
        if task.done():
            break
    return await task


@pytest.mark.parametrize(("failures", "ends"), [(0, True), (1, True), (2, True), (3, False)])
async def test_a_deployment_that_served_nothing_is_asked_three_times(failures: int, ends: bool) -> None:
    clock = FakeClock()
    model = ScriptedModel([*[DOWN] * failures, "hello"])
    client = client_of(clock, main=model)
    if ends:
        assert (await in_time(clock, client)).text == "hello"
        assert len(model.requests) == failures + 1
    else:
        with pytest.raises(ModelDownError):
            await in_time(clock, client)
        assert len(model.requests) == 3


@pytest.mark.parametrize("is_watched", [True, False])
async def test_a_backend_is_told_whether_somebody_watches_the_answer_grow(is_watched: bool) -> None:
    async def on_text(_text: str) -> None:
        """Somebody watches."""

    model = ScriptedModel(["hello"])
    await client_of(FakeClock(), main=model).complete("default", asked(), on_text if is_watched else None)
    assert [request.in_pieces for request in model.requests] == [is_watched]


@pytest.mark.parametrize("asked_s", [0.0, 2.0, 30.0])
async def test_a_busy_server_is_asked_again_when_it_said_and_not_before(asked_s: float) -> None:
    clock, model = FakeClock(), ScriptedModel([ModelBusyError("busy", retry_after_s=asked_s), "hello"])
    task = asyncio.create_task(client_of(clock, main=model).complete("default", asked()))
    await clock.advance(max(0.0, asked_s - 0.01))
    assert len(model.requests) == (1 if asked_s else 2)
    await clock.advance(0.02)
    assert (await task).text == "hello"


async def test_a_server_that_wants_to_be_left_alone_for_long_is_not_waited_for() -> None:
    clock = FakeClock()
    main, spare = ScriptedModel([ModelBusyError("busy", retry_after_s=30.5)]), ScriptedModel(["spare"])
    assert (await client_of(clock, main=main, spare=spare).complete("default", asked())).text == "spare"
    assert len(main.requests) == 1


@pytest.mark.parametrize(("failed", "pause_s"), [(1, 0.5), (2, 1.0), (3, None)])
def test_pauses_grow_and_end(failed: int, pause_s: float | None) -> None:
    assert RetryRules().pause_s(failed, BUSY) == pause_s


def test_pauses_have_a_ceiling() -> None:
    assert RetryRules(max_attempts=99).pause_s(50, DOWN) == 8.0


async def test_what_cannot_help_is_not_tried_again() -> None:
    for error in (ModelRefusedError("no"), ModelDownError("certificate", permanent=True)):
        model = ScriptedModel([error, "never"])
        with pytest.raises(type(error)):
            await client_of(FakeClock(), main=model).complete("default", asked())
        assert len(model.requests) == 1


async def test_an_answer_that_broke_off_is_not_asked_for_again_under_the_same_reservation() -> None:
    main, spare = ScriptedModel([ModelBrokeOffError("cut", tokens_in=5)]), ScriptedModel(["spare"])
    with pytest.raises(ModelBrokeOffError):
        await client_of(FakeClock(), main=main, spare=spare).complete("default", asked())
    assert (len(main.requests), len(spare.requests)) == (1, 0)


async def test_fallbacks_are_tried_in_order_and_the_last_word_is_the_last_ones() -> None:
    refusals: dict[str, Any] = {name: ScriptedModel([ModelRefusedError(name)]) for name in ("one", "two", "three")}
    with pytest.raises(ModelRefusedError, match="three"):
        await client_of(FakeClock(), **refusals).complete("default", asked())
    refusals["two"] = ScriptedModel(["from two"])
    assert (await client_of(FakeClock(), **refusals).complete("default", asked())).text == "from two"


async def test_a_deployment_that_keeps_failing_is_left_alone_and_then_tried_with_one_request() -> None:
    clock = FakeClock()
    model = ScriptedModel([*[ModelBrokeOffError("cut")] * 3, "well again"])
    client = client_of(clock, main=model, breaker=BreakerRules(failure_threshold=3, reset_timeout_s=30))
    for expected in ("closed", "closed", "open"):
        with pytest.raises(ModelBrokeOffError):
            await client.complete("default", asked())
        assert client.stats().breakers["main"] == expected
    with pytest.raises(ModelDownError, match="'main' failed too often"):
        await client.complete("default", asked())
    assert len(model.requests) == 3
    await clock.advance(30)
    assert (await client.complete("default", asked())).text == "well again"
    assert client.stats().breakers["main"] == "closed"


async def test_refusals_and_busy_servers_open_no_breaker() -> None:
    clock = FakeClock()
    model = ScriptedModel([ModelRefusedError("no")])
    client = client_of(clock, main=model, breaker=BreakerRules(failure_threshold=1))
    for _ in range(3):
        with pytest.raises(ModelRefusedError):
            await client.complete("default", asked())
    assert client.stats().breakers["main"] == "closed"


async def test_calling_off_reaches_the_model_and_frees_the_place() -> None:
    model = ScriptedModel(["hello"])
    model.hold.clear()
    client = client_of(FakeClock(), 1, main=model)
    first = asyncio.create_task(client.complete("default", asked()))
    second = asyncio.create_task(client.complete("default", asked()))
    await asyncio.sleep(0.01)
    assert len(model.requests) == 1
    first.cancel()
    await asyncio.wait({first})
    assert model.called_off == 1
    model.hold.set()
    assert (await second).text == "hello"


async def test_text_is_shown_while_it_is_written() -> None:
    seen: list[str] = []

    async def show(text: str) -> None:
        seen.append(text)

    done = await client_of(FakeClock(), main=ScriptedModel(["word " * 30])).complete(
        "default", asked(max_tokens=200), show
    )
    assert len(seen) > 1
    assert "".join(seen) == done.text


async def test_a_client_closes_its_backends() -> None:
    model = ScriptedModel(["x"])
    await client_of(FakeClock(), main=model).close()
    assert model.closed


def test_a_role_that_is_not_named_uses_the_default() -> None:
    told = models(("main",), planner={"deployment": "main", "max_tokens": 7})
    assert (told.role("planner").max_tokens, told.role("critic").max_tokens) == (7, 100)


def test_prompts_are_cut_for_the_smallest_model_that_may_get_them() -> None:
    client = client_of(FakeClock(), main=ScriptedModel(["x"], 9_000), spare=ScriptedModel(["x"], 2_000))
    assert client.backend("default").max_model_len == 2_000


async def served_in_order(places: int, users: list[str]) -> list[int]:
    """The numbers of calls in the order in which they got a place, when all wait before the first ends."""
    share, order = FairShare(places), list[int]()
    gate = asyncio.Event()

    async def call(number: int, user: str) -> None:
        async with share.place(user):
            order.append(number)
            await gate.wait()

    tasks = [asyncio.create_task(call(number, user)) for number, user in enumerate(users)]
    for _ in range(3):
        await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*tasks)
    assert share.waiting == 0
    return order


async def test_a_user_with_one_call_does_not_wait_behind_all_of_a_user_with_many() -> None:
    assert await served_in_order(1, ["many"] * 6 + ["one"]) == [0, 1, 6, 2, 3, 4, 5]


@given(st.integers(1, 4), st.lists(st.sampled_from("abc"), min_size=1, max_size=20))
def test_everybody_is_served_once_and_a_users_calls_keep_their_order(places: int, users: list[str]) -> None:
    order = asyncio.run(served_in_order(places, users))
    assert sorted(order) == list(range(len(users)))
    for user in set(users):
        own = [number for number in order if users[number] == user]
        assert own == sorted(own)


@pytest.mark.parametrize("moment", ["waiting", "just let in"])
async def test_who_goes_away_while_waiting_leaves_no_place_taken(moment: str) -> None:
    share = FairShare(1)
    async with share.place("a"):
        leaver = asyncio.create_task(_hold(share, "b"))
        stayer = asyncio.create_task(_hold(share, "c"))
        await asyncio.sleep(0)
        if moment == "waiting":
            leaver.cancel()
            await asyncio.sleep(0)
    leaver.cancel()
    async with asyncio.timeout(5):
        await stayer
        await asyncio.wait({leaver})
        async with share.place("d"):
            pass


async def _hold(share: FairShare, user: str) -> None:
    async with share.place(user):
        await asyncio.sleep(0)


@pytest.mark.parametrize("places", [0, -1])
def test_a_model_without_places_is_refused(places: int) -> None:
    with pytest.raises(ValueError, match="a place or more"):
        FairShare(places)


def test_every_model_error_is_a_failure_of_the_model() -> None:
    assert all(issubclass(kind, ModelFailedError) for kind in (ModelBusyError, ModelDownError, ModelBrokeOffError))
