"""Accepted runs are everybody's: what a killed system left is continued by the next one, wherever its log lies."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.addresses import shard_of
from runtime.errors import OwnedError, UnknownNameError
from runtime.primitives.ids import RunId
from runtime.run.envelope import InterruptResponse, Request
from runtime.settings import RaySettings
from runtime.store.opening import open_run_log, run_log_names
from runtime.store.options import StoreOptions
from runtime.supervision.events import RunAdopted
from tests.actors.system_process import LINE, SystemProcess
from tests.conformance.hosts import system_spec
from tests.postgres_server import MISSING, PostgresServer, binaries

pytestmark = [pytest.mark.ray, pytest.mark.long, pytest.mark.timeout(180)]

PATIENCE_S = 60.0
SIX = 6


def request(number: int = 0, user_id: str = "local", **script: Any) -> Request:
    """A run whose first stage hangs in its first attempt, and ends when it is issued again."""
    played = {"a": [[{"hang": 0}, {"give": {}}]], "b": [{"give": {"needed": 1}}], **script}
    return Request("line", f"question {number}", user_id=user_id, metadata={"script": played})


@contextmanager
def system_up(state_dir: Path, **spec: Any) -> Any:
    from actors.cluster import start_local
    from actors.system_actors import SystemSpec, start_system

    with start_local(RaySettings(), state_dir):
        yield start_system(SystemSpec(**{**system_spec(state_dir, (LINE,)), **spec}))


async def soon(work: Awaitable[Any]) -> Any:
    return await asyncio.wait_for(asyncio.ensure_future(_awaited(work)), PATIENCE_S)


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


async def until(condition: Callable[[], Awaitable[Any]]) -> Any:
    deadline_s = time.monotonic() + PATIENCE_S
    while not (found := await condition()):
        assert time.monotonic() < deadline_s
        await asyncio.sleep(0.1)
    return found


async def end_of(system: Any, run_id: str) -> str | None:
    async def watched() -> None:
        async for _ in system.watch(RunId(run_id)):
            pass

    await soon(watched())
    reason: str | None = (await system.envelope(RunId(run_id))).terminal_reason
    return reason


def adoptions(store: StoreOptions, run_id: str) -> list[int]:
    """How often a run was adopted, for each log that has it."""
    found = []
    for name in run_log_names(store):
        log = open_run_log(store, name, readonly=True)
        events = log.events(RunId(run_id))
        log.close()
        if events:
            found.append(sum(isinstance(event.payload, RunAdopted) for event in events))
    return found


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2), (3, 2)])
async def test_runs_of_a_killed_system_end_whatever_the_number_of_shards_was(
    tmp_path: Path, before: int, after: int
) -> None:
    asked = [request(number) for number in range(SIX)]
    killed = SystemProcess(tmp_path, asked, shards=before)
    killed.kill()
    assert {shard_of(RunId(run_id), before) for run_id in killed.run_ids} == set(range(before))
    with system_up(tmp_path, shards=after) as system:
        ended = [await end_of(system, run_id) for run_id in killed.run_ids]
        assert ended == ["completed"] * len(killed.run_ids)
    store = StoreOptions(folder=str(tmp_path))
    assert [adoptions(store, run_id) for run_id in killed.run_ids] == [[1]] * len(killed.run_ids)


@pytest.mark.parametrize("keeper", [None, "service"])
async def test_runs_of_another_kind_of_system_are_adopted(tmp_path: Path, keeper: str | None) -> None:
    killed = SystemProcess(tmp_path, [request()], keeper=keeper)
    killed.kill()
    with system_up(tmp_path) as system:
        assert await end_of(system, killed.run_ids[0]) == "completed"
    assert adoptions(StoreOptions(folder=str(tmp_path)), killed.run_ids[0]) == [1]


async def test_a_living_owner_keeps_its_runs_and_others_may_look_at_them(tmp_path: Path) -> None:
    living = SystemProcess(tmp_path, [request()], keeper=None)
    run_id = RunId(living.run_ids[0])
    try:
        with system_up(tmp_path) as system:
            await system.ready()
            assert (await system.envelope(run_id)).lifecycle == "running"
            assert [event.type for event in (await system.events(run_id))[0]] == ["run.accepted", "stage.started"]
            with pytest.raises(OwnedError) as caught:
                await system.cancel(run_id, "not ours")
            assert "alive" in caught.value.message
            assert await system.running() == 0
            living.kill()
            assert await end_of(system, run_id) == "completed"
            with pytest.raises(UnknownNameError):
                await system.envelope(RunId("r-nobody"))
    finally:
        living.kill()


async def test_a_run_that_waits_is_answered_by_the_next_system_and_forked_there(tmp_path: Path) -> None:
    asks = request(a=[{"interrupt": "confirmation"}])
    killed = SystemProcess(tmp_path, [msgspec.structs.replace(asks, wait=True)], keeper=None)
    killed.kill()
    run_id = RunId(killed.run_ids[0])
    with system_up(tmp_path, shards=2) as system:
        question = (await system.envelope(run_id)).interrupt
        await soon(system.answer(run_id, question.id, "local", InterruptResponse(approved=False)))
        assert await end_of(system, run_id) == "denied_by_policy"
        forked = await soon(system.fork(run_id, 2))
        await soon(system.cancel(forked, "seen enough"))
        assert (await system.envelope(forked)).terminal_reason == "user_cancelled"
        assert await system.submit(asks, run_id) == run_id


async def test_an_adopted_log_is_released_when_its_runs_are_over(tmp_path: Path) -> None:
    killed = SystemProcess(tmp_path, [request()], keeper=None)
    killed.kill()
    store = StoreOptions(folder=str(tmp_path))
    with system_up(tmp_path) as system:
        assert await end_of(system, killed.run_ids[0]) == "completed"

        async def is_free() -> bool:
            log = open_run_log(store, "one-off-0-0", readonly=True)
            try:
                return log.lease(round(time.time() * 1000)) is None
            finally:
                log.close()

        await until(is_free)
        assert (await system.envelope(RunId(killed.run_ids[0]))).terminal_reason == "completed"


async def test_a_run_without_an_owner_for_too_long_is_closed_unless_it_is_durable(tmp_path: Path) -> None:
    asked = [request(), msgspec.structs.replace(request(1), durable=True)]
    killed = SystemProcess(tmp_path, asked, keeper=None)
    killed.kill()
    with system_up(tmp_path, abandoned_after_s=0) as system:
        assert [await end_of(system, run_id) for run_id in killed.run_ids] == ["user_cancelled", "completed"]
        detail = (await system.envelope(RunId(killed.run_ids[0]))).terminal_detail
        assert detail.startswith("abandoned: ")


@pytest.mark.skipif(binaries() is None, reason=MISSING)
async def test_on_a_server_the_runs_of_a_killed_system_are_adopted_once_by_one_of_several(tmp_path: Path) -> None:
    server = PostgresServer(binaries())  # type: ignore[arg-type]
    others = []
    try:
        store = StoreOptions(folder=str(tmp_path), backend="postgres", dsn=server.dsn)
        given = msgspec.to_builtins(store)
        killed = SystemProcess(tmp_path / "a", [request(number) for number in range(SIX)], store=given, shards=2)
        killed.kill()
        others = [SystemProcess(tmp_path / name, [], store=given) for name in ("b", "c")]
        with system_up(tmp_path / "d", store=given, keeper="service", shards=2) as system:
            assert [await end_of(system, run_id) for run_id in killed.run_ids] == ["completed"] * len(killed.run_ids)
        assert [adoptions(store, run_id) for run_id in killed.run_ids] == [[1]] * len(killed.run_ids)
    finally:
        for other in others:
            other.kill()
        server.close()
