"""Sessions of changes are the same in a door's process and behind the bus of a warm system, and outlive their host."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.capabilities.code_change.session import calls
from actors.capabilities.code_change.session.service import CHANGE_SESSIONS
from actors.capabilities.code_change.session.session_host import RAISED
from runtime.bus.queries import error_from_wire
from runtime.errors import FencedError, UnknownNameError
from runtime.settings import RaySettings, Settings
from serve.contributions import CHANGE_SESSIONS as SPEC
from serve.mcp.changes.change_calls import OwnCalls
from serve.wiring import change_settings
from tests.capabilities.code_change.host_site import Driver
from tests.capabilities.code_change.played_agent import CHANGED, git, repository
from tests.conformance.hosts import PIPELINES, system_spec


class BusCalls:
    """Sends calls over the bus, as the door of a warm system does."""

    def __init__(self, system: Any) -> None:
        self.system = system

    async def call(self, call: calls.Call) -> calls.Answer:
        told: dict[str, Any] = await self.system.query(calls.name_of(call), msgspec.to_builtins(call), 60.0)
        if RAISED in told:
            raise error_from_wire(told[RAISED])
        return told

    async def close(self) -> None:
        return None


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from actors.cluster import start_local
    from actors.system_actors import SystemSpec, start_system

    state_dir = tmp_path_factory.mktemp("changes")
    cluster = start_local(RaySettings(), state_dir)
    services = {SPEC: change_settings(Settings(state_dir=state_dir))}
    yield start_system(SystemSpec(**system_spec(state_dir, PIPELINES[:1]), services=services))
    cluster.shutdown()


@pytest.fixture(params=["own", pytest.param("bus", marks=pytest.mark.ray)])
async def carrier(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    if request.param == "own":
        own = OwnCalls(Settings(state_dir=tmp_path / "state"))
        yield own
        await own.close()
        return
    system = request.getfixturevalue("system")
    await system.ready()
    yield BusCalls(system)


class TestSessions:
    async def test_a_change_is_led_to_its_end(self, carrier: Any, tmp_path: Path) -> None:
        driver = Driver(carrier, repository(tmp_path / "project"))
        assert (await driver.start())["step"] == 3
        assert (await driver.finish())["outcome"] == "completed"
        assert (driver.root / "load.py").read_text() == CHANGED

    async def test_a_refusal_is_an_answer_and_changes_nothing(self, carrier: Any, tmp_path: Path) -> None:
        driver = Driver(carrier, repository(tmp_path / "project"))
        await driver.start()
        payloads: list[object] = [{"x": 1}, [], None, {"x": 10**40}, {"x": "\ud800"}, {"summary": float("nan")}]
        for payload in payloads:
            told = await driver.submit(payload)
            assert (told["error"]["code"], told["step"]) == ("payload_mismatch", 3)

    async def test_a_text_that_takes_a_parser_gigabytes_is_judged_by_its_lines(
        self, carrier: Any, tmp_path: Path
    ) -> None:
        """16 KB of C without a bracket take 10 GB at their end."""
        driver = Driver(carrier, repository(tmp_path / "project"))
        await driver.start()
        await driver.go_to(13)
        await driver.carrier.call(calls.CheckTarget(driver=driver.name, session_id=driver.session_id, file="deep.c"))
        (driver.root / "deep.c").write_text(("x=>" * 100 + "\n") * 60)
        task = driver.last["next_task"]
        proven = [{"item": each["item"], "status": "done", "evidence": "deep.c:1"} for each in task["checklist"]]
        payload = {"task_id": task["id"], "checklist": proven, "tools_used": ["check_write_target"], "summary": "done"}
        assert (await driver.submit(payload))["step"] == 14

    async def test_many_refusals_close_no_circuit(self, carrier: Any, tmp_path: Path) -> None:
        driver = Driver(carrier, repository(tmp_path / "project"))
        await driver.start()
        stranger = Driver(carrier, driver.root, "stranger")
        stranger.last = dict(driver.last)
        for _ in range(8):
            with pytest.raises(FencedError, match="taken over by another client"):
                await stranger.status()
        assert (await driver.status())["step"] == 3

    async def test_an_unknown_session_is_told(self, carrier: Any, tmp_path: Path) -> None:
        driver = Driver(carrier, tmp_path)
        driver.last = {"session_id": "c-nobody"}
        with pytest.raises(UnknownNameError, match="c-nobody"):
            await driver.status()

    async def test_a_session_left_by_a_client_that_died_is_resumed(self, carrier: Any, tmp_path: Path) -> None:
        root = repository(tmp_path / "project")
        first = Driver(carrier, root, "dead")
        await first.start()
        await first.go_to(13)
        second = Driver(carrier, root, "dead-too")
        # Neither holds the lock of an owner: this test's driver is one that has died.
        assert (await second.start())["recovery_available"] is True
        assert (await second.start(recovery="resume"))["step"] == 13
        await second.finish()
        assert (root / "load.py").read_text() == CHANGED

    async def test_a_start_that_is_delivered_twice_begins_one_session(self, carrier: Any, tmp_path: Path) -> None:
        driver = Driver(carrier, repository(tmp_path / "project"))
        first = await driver.start(key="k1")
        again = await Driver(carrier, driver.root).start(key="k1")
        assert (again["session_id"], again["step"]) == (first["session_id"], 3)

    async def test_the_door_is_asked_for_what_only_it_can_supply(self, carrier: Any, tmp_path: Path) -> None:
        root = repository(tmp_path / "project")
        git(root, "branch", "llm_task_old")
        driver = Driver(carrier, root)
        await driver.start()
        payload = {"choice": "delete", "tools_used": [], "summary": "old"}
        question = (await driver.submit(payload))[calls.ASKS][calls.ASKS_PERSON]
        await driver.submit(payload, supplied=calls.Supplied({question: True}))
        await driver.go_to(4)
        frame = await driver._step_4()
        asked = (await driver.submit(frame))[calls.ASKS][calls.ASKS_LIKENESS]
        assert asked["names"] == ["load"]
        assert (await driver.submit(frame, supplied=calls.Supplied(likeness={"load": 0.0})))["step"] == 5


def actor_of_host() -> Any:
    import ray

    return ray.get_actor(CHANGE_SESSIONS.address, namespace="jeeves")


async def pid_of_host() -> int:
    pid: int = await actor_of_host().__ray_call__.remote(lambda _: os.getpid())
    return pid


@pytest.mark.long
@pytest.mark.ray
@pytest.mark.timeout(120)
async def test_a_session_goes_on_after_its_host_was_killed_between_two_submissions(system: Any, tmp_path: Path) -> None:
    await system.ready()
    driver = Driver(BusCalls(system), repository(tmp_path / "project"))
    await driver.start()
    for step in (5, 13, 18):
        await driver.go_to(step)
        killed = await pid_of_host()
        os.kill(killed, signal.SIGKILL)
        assert (await driver.status())["step"] == step
        assert await pid_of_host() not in {killed}
    assert (await driver.finish())["outcome"] == "completed"
    assert (driver.root / "load.py").read_text() == CHANGED


@pytest.mark.long
@pytest.mark.ray
@pytest.mark.timeout(120)
async def test_a_submission_whose_host_is_killed_meanwhile_is_taken_once(system: Any, tmp_path: Path) -> None:
    await system.ready()
    driver = Driver(BusCalls(system), repository(tmp_path / "project"))
    await driver.start()
    await driver.go_to(17)
    submitting = asyncio.create_task(driver.step())
    await asyncio.sleep(0)
    os.kill(await pid_of_host(), signal.SIGKILL)
    await submitting
    assert driver.last["step"] == 18
    await driver.finish()
    assert git(driver.root, "log", "--format=%s", "--no-merges").splitlines() == ["Retry", "first"]
