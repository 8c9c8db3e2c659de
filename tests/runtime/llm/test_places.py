"""Concurrent calls of a model over all processes: never more than permitted, in turns, whoever dies."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bus.queries import LocalQueries
from runtime.errors import BusError, HandlerLostError, ModelBusyError
from runtime.llm.client import ModelClient
from runtime.llm.place_table import LEASE_S, Claim, PlaceTable
from runtime.llm.places import PATIENCE_S, RENEW_S, LocalPlaces, PlaceService, SharedPlaces
from runtime.llm.scripted import ScriptedModel
from runtime.primitives.clock import FakeClock
from tests.runtime.llm.endpoint import asked
from tests.runtime.llm.test_model_client import models

ANN, BOB = "user:ann", "address:192.0.2.1"


def claim(ticket: str, user_id: str = ANN, places: int = 2, deployment: str = "main") -> Claim:
    return Claim(ticket, deployment, places, user_id)


@pytest.mark.parametrize(("held", "granted"), [(1, True), (2, False), (3, False)])
def test_of_two_places_exactly_two_are_granted(held: int, granted: bool) -> None:
    table = PlaceTable()
    for number in range(held):
        table.enter(claim(f"t{number}"), 0)
    assert (table.enter(claim("one more"), 0) == ["one more"]) is granted


def test_who_asks_again_holds_one_place_and_keeps_the_place_in_the_queue() -> None:
    table = PlaceTable()
    for ticket in ("a", "a", "b", "c", "d", "c"):
        table.enter(claim(ticket), 0)
    assert table.counts() == {"main": (2, 2, 2)}
    assert table.leave("main", "a", 0) == ["c"]


def test_places_that_become_free_go_by_turns_over_users() -> None:
    table = PlaceTable()
    for number in range(100):
        table.enter(claim(f"ann-{number}", places=1), 0)
    table.enter(claim("bob", BOB, places=1), 0)
    order = [*table.leave("main", "ann-0", 0), *table.leave("main", "ann-1", 0), *table.leave("main", "bob", 0)]
    assert order == ["ann-1", "bob", "ann-2"]


def test_the_place_of_one_who_died_is_free_when_the_lease_ends_and_not_before() -> None:
    table = PlaceTable()
    table.enter(claim("dead", places=1), 0)
    table.enter(claim("alive", places=1), 1)
    assert table.grant(LEASE_S - 0.001) == []
    assert table.grant(LEASE_S) == ["alive"]


def test_a_lease_that_is_renewed_does_not_end() -> None:
    table = PlaceTable()
    table.enter(claim("a", places=1), 0)
    for number in range(1, 10):
        table.renew([claim("a", places=1)], number * RENEW_S)
    assert table.enter(claim("b", places=1), 10 * RENEW_S) == []


def test_one_who_waits_and_dies_is_not_granted_a_place() -> None:
    table = PlaceTable()
    table.enter(claim("a", places=1), 0)
    table.enter(claim("dead", places=1), 0)
    table.renew([claim("a", places=1)], LEASE_S)
    assert table.leave("main", "a", LEASE_S) == []
    assert table.counts() == {}


def test_a_new_table_takes_in_what_is_held_before_it_grants_anything() -> None:
    table = PlaceTable(closed_until_s=6)
    assert table.enter(claim("new", places=1), 0) == []
    table.renew([claim("old", places=1)], 5)
    assert table.grant(6) == []
    assert table.leave("main", "old", 7) == ["new"]


def test_deployments_and_those_that_nobody_uses_do_not_mix() -> None:
    table = PlaceTable()
    assert table.enter(claim("a", places=1), 0) == ["a"]
    assert table.enter(claim("b", places=1, deployment="other"), 0) == ["b"]
    table.leave("main", "a", 0)
    assert table.counts() == {"other": (1, 1, 0)}
    assert table.leave("nowhere", "a", 0) == []


STEPS = st.tuples(
    st.sampled_from(["enter", "leave", "renew", "grant"]), st.integers(0, 9), st.sampled_from([0.0, 1.0, 6.0, 15.0])
)


@given(st.integers(1, 3), st.lists(STEPS, max_size=80))
def test_whatever_is_asked_places_are_granted_up_to_their_number_and_none_is_left_free(
    places: int, steps: list[tuple[str, int, float]]
) -> None:
    table, now_s, until_s = PlaceTable(), 0.0, dict[str, float]()
    for step, number, later_s in steps:
        now_s += later_s
        until_s = {ticket: end_s for ticket, end_s in until_s.items() if end_s > now_s}
        ticket, each = f"t{number}", claim(f"t{number}", (ANN, BOB)[number % 2], places)
        granted: list[str] = []
        if step == "enter":
            if ticket in until_s:
                until_s[ticket] = now_s + LEASE_S
            granted = table.enter(each, now_s)
        elif step == "leave":
            until_s.pop(ticket, None)
            granted = table.leave("main", ticket, now_s)
        elif step == "renew" and ticket in until_s:
            table.renew([each], now_s)
            until_s[ticket] = now_s + LEASE_S
        else:
            granted = table.grant(now_s)
        until_s |= dict.fromkeys(granted, now_s + LEASE_S)
        table.grant(now_s)
        held, _, waiting = table.counts().get("main", (0, places, 0))
        assert held == len(until_s) <= places
        assert held == places or not waiting


class System:
    """Processes that share a handler of queries, which can be away or die."""

    def __init__(self, clock: FakeClock, concurrent: int = 2) -> None:
        self.clock = clock
        self.concurrent = concurrent
        self.service = PlaceService(clock)
        self.is_away = False
        self.asked: list[str] = []

    async def query(self, type_: str, body: dict[str, Any], timeout_s: float = 30.0) -> dict[str, Any]:
        self.asked.append(type_)
        if self.is_away:
            raise HandlerLostError("the store died")
        local = LocalQueries()
        local.register(self.service.queries())
        return await local.query(type_, body, timeout_s)

    def places(self) -> SharedPlaces:
        return SharedPlaces({"main": self.concurrent}, LocalPlaces({"vllm": 1}), self, self.clock)


class Calls:
    """Calls that hold a place until they are let go."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self.order: list[str] = []
        self.go_on = asyncio.Event()

    async def make(self, places: SharedPlaces, user_id: str = ANN, deployment: str = "main") -> None:
        async with places.place(deployment, user_id):
            self.now += 1
            self.most = max(self.most, self.now)
            self.order.append(user_id)
            try:
                await self.go_on.wait()
            finally:
                self.now -= 1


async def cancelled(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_two_processes_share_the_places_of_an_endpoint() -> None:
    clock = FakeClock()
    system, calls = System(clock), Calls()
    processes = [system.places(), system.places()]
    tasks = [asyncio.create_task(calls.make(process)) for process in processes for _ in range(4)]
    await clock.advance(1)
    assert calls.now == 2
    calls.go_on.set()
    await clock.advance(1)
    await asyncio.gather(*tasks)
    assert (calls.most, len(calls.order)) == (2, 8)
    await asyncio.gather(*(process.close() for process in processes))
    assert system.service.counts() == {}


async def test_two_clients_of_one_model_file_make_as_many_calls_at_once_as_it_permits() -> None:
    clock, model = FakeClock(), ScriptedModel(["hello"] * 8)
    model.hold.clear()
    system = System(clock, concurrent=3)
    files = models(concurrent=3)
    clients = [ModelClient(files, {"main": model}, clock, places=system.places()) for _ in range(2)]
    tasks = [asyncio.create_task(client.complete("default", asked())) for client in clients for _ in range(4)]
    await clock.advance(1)
    assert len(model.requests) == 3
    model.hold.set()
    await clock.advance(1)
    assert len(await asyncio.gather(*tasks)) == 8
    await asyncio.gather(*(client.close() for client in clients))


async def test_a_flood_of_one_user_in_one_process_lets_anothers_call_in_another_go_next() -> None:
    clock = FakeClock()
    system, calls = System(clock, concurrent=1), Calls()
    flood, other = system.places(), system.places()
    tasks = [asyncio.create_task(calls.make(flood, BOB)) for _ in range(50)]
    await clock.advance(0.1)
    tasks.append(asyncio.create_task(calls.make(other, ANN)))
    await clock.advance(0.1)
    calls.go_on.set()
    await clock.advance(0.1)
    await asyncio.gather(*tasks)
    assert calls.order.index(ANN) == 2


async def test_a_call_that_takes_longer_than_a_lease_keeps_its_place() -> None:
    clock = FakeClock()
    system, calls = System(clock, concurrent=1), Calls()
    tasks = [asyncio.create_task(calls.make(system.places())) for _ in range(2)]
    for _ in range(12):
        await clock.advance(RENEW_S)
    assert calls.most == 1
    calls.go_on.set()
    await clock.advance(1)
    await asyncio.gather(*tasks)


async def test_the_places_of_a_process_that_was_killed_are_free_after_a_lease() -> None:
    clock = FakeClock()
    system, calls = System(clock, concurrent=1), Calls()
    await system.query("model.enter", {"claim": claim("of the dead", places=1)})
    task = asyncio.create_task(calls.make(system.places()))
    await clock.advance(LEASE_S - 1)
    assert calls.now == 0
    await clock.advance(2)
    assert calls.now == 1
    await cancelled([task])


async def test_a_call_that_is_cancelled_while_it_waits_or_works_gives_its_place_back() -> None:
    clock = FakeClock()
    system, calls = System(clock, concurrent=1), Calls()
    places = system.places()
    works, waits = (asyncio.create_task(calls.make(places)) for _ in range(2))
    await clock.advance(0.1)
    await cancelled([waits])
    await clock.advance(0.1)
    assert system.service.counts() == {"main": (1, 1, 0)}
    await cancelled([works])
    await clock.advance(0.1)
    assert system.service.counts() == {}


async def test_when_the_service_dies_calls_go_on_and_its_successor_grants_no_place_twice() -> None:
    clock = FakeClock()
    system, calls = System(clock, concurrent=1), Calls()
    places = system.places()
    tasks = [asyncio.create_task(calls.make(places)) for _ in range(2)]
    await clock.advance(1)
    system.service = PlaceService(clock, is_restarted=True)
    tasks.append(asyncio.create_task(calls.make(places)))
    for _ in range(8):
        await clock.advance(RENEW_S)
    assert calls.most == 1
    calls.go_on.set()
    await clock.advance(RENEW_S + 1)
    await asyncio.gather(*tasks)
    assert calls.most == 1


async def test_a_call_waits_for_a_service_that_is_away_a_while_and_is_refused_as_busy_after_half_a_minute() -> None:
    clock = FakeClock()
    system, calls = System(clock), Calls()
    system.is_away = True
    waits = asyncio.create_task(calls.make(system.places()))
    await clock.advance(PATIENCE_S / 2)
    system.is_away = False
    await clock.advance(1)
    assert calls.now == 1
    await cancelled([waits])
    system.is_away = True
    refused = asyncio.create_task(calls.make(system.places()))
    for _ in range(8):
        await clock.advance(PATIENCE_S / 4)
    with pytest.raises(ModelBusyError, match="nobody hands out the places of deployment 'main': the store died"):
        await refused


async def test_a_deployment_whose_server_limits_itself_is_not_asked_for() -> None:
    clock = FakeClock()
    system, calls = System(clock), Calls()
    tasks = [asyncio.create_task(calls.make(system.places(), deployment="vllm")) for _ in range(2)]
    await clock.advance(0.1)
    assert (calls.now, system.asked) == (2, [])
    await cancelled(tasks)


async def test_nothing_is_renewed_while_nothing_is_held() -> None:
    clock = FakeClock()
    system, calls = System(clock), Calls()
    calls.go_on.set()
    places = system.places()
    await calls.make(places)
    for _ in range(4):
        await clock.advance(RENEW_S)
    with suppress(BusError):
        await places.close()
    assert "model.renew" not in system.asked
