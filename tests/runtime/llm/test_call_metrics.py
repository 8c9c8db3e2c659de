"""What is counted of model calls, in a process and over several, and what Prometheus is shown of it."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from runtime.bus.circuit_breaker import BreakerRules
from runtime.errors import ModelBrokeOffError, ModelBusyError, ModelDownError, ModelFailedError, ModelRefusedError
from runtime.llm.call_metrics import ModelStats, together
from runtime.llm.client import ModelClient
from runtime.llm.messages import Completion
from runtime.llm.scripted import ScriptedModel
from runtime.primitives.clock import FakeClock
from serve.http.answering.http_metrics import MOST_LIVES, ModelMetrics
from serve.http.answering.model_state import ANSWERS, ModelState
from tests.runtime.llm.endpoint import asked
from tests.runtime.llm.test_model_client import client_of, models


async def said(client: ModelClient, clock: FakeClock) -> None:
    """One request, while the clock goes on; that it fails is no matter here."""
    task = asyncio.create_task(client.complete("default", asked()))
    while not task.done():
        await clock.advance(0.25)
    if task.exception() is not None:
        assert isinstance(task.exception(), ModelFailedError)


def shown(*stats: ModelStats) -> dict[str, float]:
    """Name with labels → value, as Prometheus reads them, after each process has said its last word."""
    registry = CollectorRegistry()
    metrics = ModelMetrics(registry)
    for number, each in enumerate(stats):
        metrics.update({f"life-{number}": msgspec.msgpack.decode(msgspec.msgpack.encode(each), type=ModelStats)})
    return scraped(registry)


def scraped(registry: CollectorRegistry) -> dict[str, float]:
    lines = generate_latest(registry).decode().splitlines()
    return {
        name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))
    }


def calls(outcome: str, deployment: str = "main") -> str:
    return f'jeeves_model_calls_total{{deployment="{deployment}",outcome="{outcome}",role="default"}}'


def tokens(kind: str) -> str:
    return f'jeeves_model_tokens_total{{deployment="main",kind="{kind}",role="default"}}'


@pytest.mark.parametrize(
    ("error", "outcome", "count"),
    [
        (ModelDownError("away"), "down", 3),
        (ModelBusyError("full", retry_after_s=1), "busy", 3),
        (ModelRefusedError("no"), "refused", 1),
        (ModelBrokeOffError("cut"), "broke_off", 1),
    ],
)
async def test_calls_are_counted_by_how_they_ended_and_retries_beside_them(
    error: Exception, outcome: str, count: int
) -> None:
    clock = FakeClock()
    client = client_of(clock, main=ScriptedModel([error]))
    await said(client, clock)
    found = shown(client.stats())
    assert found[calls(outcome)] == count
    assert found.get('jeeves_model_retries_total{deployment="main",role="default"}', 0) == count - 1


async def test_what_was_served_is_counted_with_its_tokens_and_times() -> None:
    class Cached(ScriptedModel):
        async def stream(self, request: Any) -> Any:
            await clock.sleep(0.3)
            async for piece in super().stream(request):
                yield msgspec.structs.replace(piece, tokens_cached=16) if isinstance(piece, Completion) else piece

    clock = FakeClock()
    client = client_of(clock, main=Cached(["hello"]))
    await said(client, clock)
    await said(client, clock)
    found = shown(client.stats())
    assert found[calls("served")] == 2
    assert (found[tokens("in")], found[tokens("cached")], found[tokens("out")]) == (2 * 37, 2 * 16, 2 * 5)
    for name in ("first_text", "call"):
        at_most = {
            le: found[f'jeeves_model_{name}_seconds_bucket{{deployment="main",le="{le}"}}'] for le in (0.25, 0.5)
        }
        assert at_most == {0.25: 0, 0.5: 2}
        assert found[f'jeeves_model_{name}_seconds_count{{deployment="main"}}'] == 2
        assert found[f'jeeves_model_{name}_seconds_sum{{deployment="main"}}'] == pytest.approx(0.6)


async def test_a_call_that_is_called_off_is_counted_as_that() -> None:
    clock, model = FakeClock(), ScriptedModel(["late"])
    model.hold.clear()
    client = client_of(clock, main=model)
    task = asyncio.create_task(client.complete("default", asked()))
    await clock.advance(1)
    task.cancel()
    await asyncio.wait({task})
    assert shown(client.stats())[calls("cancelled")] == 1


async def test_fallbacks_and_open_breakers_are_seen() -> None:
    clock = FakeClock()
    main, spare = ScriptedModel([ModelDownError("away", permanent=True)]), ScriptedModel(["spare"])
    client = client_of(clock, breaker=BreakerRules(failure_threshold=2), main=main, spare=spare)
    for _ in range(3):
        await said(client, clock)
    found = shown(client.stats())
    assert found['jeeves_model_fallbacks_total{deployment="main",role="default"}'] == 3
    assert (found[calls("down")], found[calls("stopped")], found[calls("served", "spare")]) == (2, 1, 3)
    assert found['jeeves_model_breaker_state{deployment="main"}'] == 2
    assert found['jeeves_model_breaker_state{deployment="spare"}'] == 0


async def stats_of(*script: Any) -> ModelStats:
    clock = FakeClock()
    client = client_of(clock, main=ScriptedModel(script), breaker=BreakerRules(failure_threshold=1))
    await said(client, clock)
    return client.stats()


async def test_processes_are_added_up_and_the_worst_breaker_counts() -> None:
    well, ill = await stats_of("hello"), await stats_of(ModelBrokeOffError("cut"))
    assert shown(well, ill, well)[calls("served")] == 2
    assert together([well, ill, well]).breakers == {"main": "open"}
    assert together([]).counters["jeeves_model_calls"] == []


async def test_numbers_never_fall_when_processes_go_or_do_not_answer() -> None:
    registry, well = CollectorRegistry(), await stats_of("hello")
    metrics = ModelMetrics(registry)
    for number in range(MOST_LIVES + 20):
        metrics.update({f"life-{number}": well})
    assert scraped(registry)[calls("served")] == MOST_LIVES + 20
    metrics.update({})
    assert scraped(registry)[calls("served")] == MOST_LIVES + 20


async def test_a_role_is_without_a_model_when_none_of_its_deployments_answers() -> None:
    down, well = ScriptedModel([ModelDownError("away")]), ScriptedModel(["hello"])
    for main, spare, missing in ((well, down, []), (down, well, []), (down, down, ["default"])):
        state = ModelState(models(("main", "spare")), {"main": main, "spare": spare})
        told = await state.look()
        assert told["main"] == (ANSWERS if main is well else "away")
        assert state.roles_without(told) == missing
