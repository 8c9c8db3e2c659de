"""What a supervisor on Ray promises its agents and its users, each in a test that a host without it fails.

Which fault of the host each of them catches is in docs/decisions/007-one-supervisor-host.md.
"""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import pytest

from actors.addresses import RUN_STAGE
from runtime.agents.reporter import RECORDED, REPORT, Report
from runtime.bus.frames import Frame, Header, encode_frame
from runtime.primitives.ids import Address, MessageId, RunId, StageKey, new_message_id
from runtime.run.envelope import Request
from runtime.store.run_log import SqliteRunLog
from runtime.supervision.events import ToolCalled
from runtime.testing import PipelineBuilder
from tests.actors.stand_in import StandIn
from tests.conformance.hosts import ClusterUp, ran

pytestmark = [pytest.mark.ray, pytest.mark.timeout(120)]

TOOLS = {"has_tools": True, "tool_access": "all", "allowed_tools": ["note", "record"], "timeout_s": 600}
PAIR = PipelineBuilder("pair", capability="sample").stage("a", default_next="b", **TOOLS).stage("b", **TOOLS).build()
AGENT_A, AGENT_B = Address("agent:pair.a"), Address("agent:pair.b")
PATIENCE_S = 30
SAID_AGAIN_AFTER_S = 1
USERS = itertools.count(1)

Found = TypeVar("Found")


@pytest.fixture(scope="module")
def state_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("promises")


@pytest.fixture(scope="module")
def system(state_dir: Path) -> Iterator[Any]:
    with ClusterUp(state_dir, (PAIR,), {"quotas": {"running_per_user": 1}}) as running:
        yield running


def actor(name: str) -> Any:
    import ray

    return ray.get_actor(name, namespace="jeeves")


async def soon(awaited: Awaitable[Found]) -> Found:
    return await asyncio.wait_for(awaited, PATIENCE_S)


class Post(NamedTuple):
    """The agent of stage a in the hands of a test: what it is sent, and the means to report in its name."""

    stand_in: Any
    process_id: str

    async def report_tool_call(self, run_id: RunId, report_id: str) -> None:
        """Send the bus a report that the first stage of a run has called a tool."""
        key = StageKey(run_id, 1)
        report = Report(key, AGENT_A, self.process_id, (ToolCalled(key, "note", "ok"),))
        header = Header(
            message_id=new_message_id(),
            kind="command",
            type=REPORT,
            source=AGENT_A,
            target=Address("supervisor"),
            correlation_id=MessageId(report_id),
            run_id=run_id,
        )
        frame = encode_frame(Frame(header, msgspec.msgpack.encode(report)))
        assert await actor("bus").deliver_all.remote([frame]) == ["accepted"]

    async def acknowledged(self, report_id: str, at_least: int = 1) -> list[str]:
        """Wait for acknowledgements of a report; all that were acknowledged until then, in that order."""
        found: list[str] = await self.stand_in.taken.remote(RECORDED, report_id, at_least)
        return found

    async def reported(self, run_id: RunId, report_id: str) -> list[str]:
        """Report a tool call again and again until that is acknowledged; all that was acknowledged."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                await self.report_tool_call(run_id, report_id)
                try:
                    return await asyncio.wait_for(self.acknowledged(report_id), SAID_AGAIN_AFTER_S)
                except TimeoutError:
                    # Not acknowledged in time: said again, until the timeout around the loop ends it.
                    continue


@asynccontextmanager
async def in_place_of(address: Address) -> AsyncIterator[Post]:
    """Have the bus hand over to a stand-in what is sent to an agent; the agent lives on, and nobody is told."""
    import ray

    agent, bus = actor(address), actor("bus")
    process_id = await agent.process_id.remote()
    stand_in: Any = ray.remote(StandIn).options(num_cpus=0, max_concurrency=100).remote(process_id)
    await bus.connect.remote(address, stand_in, process_id, (), ())
    try:
        yield Post(stand_in, process_id)
    finally:
        await bus.connect.remote(address, agent, process_id, (), ())
        ray.kill(stand_in)


def log_file(state_dir: Path) -> Path:
    return state_dir / "runs" / "supervisor-0.sqlite"


@contextmanager
def log_refuses(state_dir: Path, run_id: RunId) -> Iterator[None]:
    """Have SQLite refuse every further event of one run."""
    log = sqlite3.connect(log_file(state_dir), timeout=PATIENCE_S, isolation_level=None)
    try:
        log.execute(
            f"CREATE TRIGGER refused BEFORE INSERT ON run_events WHEN NEW.run_id = '{run_id}'"
            " BEGIN SELECT RAISE(ABORT, 'no event of this run is taken'); END"
        )
        yield
    finally:
        log.execute("DROP TRIGGER IF EXISTS refused")
        log.close()


def request(user_id: str | None = None, **script: dict[str, Any]) -> Request:
    """A request of a user who has made no other, unless one is named: a user has one run at a time."""
    user_id = user_id or f"user-{next(USERS)}"
    return Request(
        "pair", "why?", user_id=user_id, metadata={"script": {stage: [step] for stage, step in script.items()}}
    )


def work(notes: Path, gate: Path | None = None, records: Path | None = None) -> dict[str, Any]:
    """A step that notes its attempt as it begins, and waits for the gate."""
    told = {"notes": notes, "gate": gate, "records": records}
    return {"work": {name: str(path) for name, path in told.items() if path is not None} | {"give": {}}}


def lines_of(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


async def line_in(file: Path, line: str) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while line not in lines_of(file):
        assert time.monotonic() < deadline_s, lines_of(file)
        await asyncio.sleep(0.02)


async def at_work(system: Any, request: Request) -> RunId:
    """A run whose first stage has started."""
    run_id: RunId = await system.submit(request)

    async def started() -> None:
        async for event in system.watch(run_id):
            if event.type == "stage.started":
                return

    await soon(started())
    return run_id


async def ended(system: Any, run_id: RunId) -> tuple[str | None, str]:
    async def watched() -> list[str]:
        return [event.type async for event in system.watch(run_id)]

    events = await soon(watched())
    run = ran(await system.envelope(run_id), events)
    return run.reason, run.stages


def tool_calls_of(state_dir: Path, run_id: RunId) -> int:
    log = SqliteRunLog(log_file(state_dir))
    events = log.events(run_id)
    log.close()
    return sum(isinstance(event.payload, ToolCalled) for event in events)


@pytest.mark.long
async def test_a_report_that_comes_again_is_acknowledged_again_and_counts_once(system: Any, state_dir: Path) -> None:
    await system.ready()
    run_id = await at_work(system, request(a={"hang": 0}))
    async with in_place_of(AGENT_A) as agent:
        for times in (1, 2, 3):
            await agent.report_tool_call(run_id, "said-again")
            assert await soon(agent.acknowledged("said-again", times)) == ["said-again"] * times
    shown = [event.type for event in (await system.events(run_id))[0]]
    assert (shown.count("tool.called"), tool_calls_of(state_dir, run_id)) == (1, 1)
    await system.cancel(run_id, "seen enough")


@pytest.mark.long
async def test_a_report_that_cannot_be_recorded_is_not_acknowledged(system: Any, state_dir: Path) -> None:
    await system.ready()
    refused, other = [await at_work(system, request(a={"hang": 0})) for _ in range(2)]
    async with in_place_of(AGENT_A) as agent:
        with log_refuses(state_dir, refused):
            await agent.report_tool_call(refused, "refused")
            # What is acknowledged comes in the order in which it was reported.
            assert "refused" not in await agent.reported(other, "taken")
            assert tool_calls_of(state_dir, refused) == 0
        assert "refused" in await agent.reported(refused, "refused")
    assert tool_calls_of(state_dir, refused) == 1
    for run_id in (refused, other):
        await system.cancel(run_id, "seen enough")


@pytest.mark.long
async def test_no_stage_begins_before_it_is_recorded_that_it_may(system: Any, state_dir: Path, tmp_path: Path) -> None:
    await system.ready()
    notes, records = tmp_path / "notes", tmp_path / "records"
    gates = [tmp_path / "gate-of-the-refused", tmp_path / "gate-of-the-other"]
    refused, other = [await at_work(system, request(a=work(notes, gate, records), b=work(notes))) for gate in gates]
    with log_refuses(state_dir, refused):
        gates[0].touch()
        await line_in(records, f"{refused} 1 0 1")
        # Whose first stage ends later goes on to the second, with the same supervisor and the same agents.
        gates[1].touch()
        assert await ended(system, other) == ("completed", "a b")
        assert f"{other} 2 0 1" in lines_of(notes)
        assert f"{refused} 2 0 1" not in lines_of(notes)
    assert await ended(system, refused) == ("completed", "a b")
    assert lines_of(notes).count(f"{refused} 2 0 1") == 1


@pytest.mark.long
async def test_a_stage_that_was_lost_on_its_way_is_sent_again(system: Any, tmp_path: Path) -> None:
    await system.ready()
    async with in_place_of(AGENT_B) as agent:
        run_id = await system.submit(request(a={"give": {}}, b=work(tmp_path / "notes")))
        await soon(agent.stand_in.taken.remote(RUN_STAGE, f"run:{run_id}/2/0/1", 1))
    assert await ended(system, run_id) == ("completed", "a b")
    assert lines_of(tmp_path / "notes") == [f"{run_id} 2 0 1"]


async def test_a_run_that_waits_for_room_begins_when_the_one_before_it_ends(system: Any, tmp_path: Path) -> None:
    await system.ready()
    notes, gate = tmp_path / "notes", tmp_path / "gate"
    first = await at_work(system, request("ada", a=work(notes, gate), b=work(notes)))
    second = await system.submit(request("ada", a=work(notes), b=work(notes)))
    assert (await system.envelope(second)).lifecycle == "ready"
    gate.touch()
    assert await ended(system, first) == ("completed", "a b")
    assert await ended(system, second) == ("completed", "a b")
    assert lines_of(notes) == [f"{run_id} {hop} 0 1" for run_id in (first, second) for hop in (1, 2)]
