"""The faults on a running system, as functions of a round: each strikes, and returns when the system works again."""

from __future__ import annotations

import asyncio
import functools
import os
import secrets
import signal
import time
from typing import Any

import msgspec

from actors.log_owner import LEASE_MS
from runtime.errors import InterruptError, StateStorageError
from runtime.hosting.failure_detector import HANGS_AFTER_S
from runtime.primitives.ids import RunId
from runtime.run.envelope import InterruptResponse
from tests.faults.fault_rounds import ANSWER, Round
from tests.faults.fault_runs import KINDS
from tests.faults.fault_site import KEEPER, SERVICES, actor, answer_of, go_on, kill, until

STOPPED_S = (5.0, 10.0, 15.0, 30.0)
SURELY_NOTICED_S = HANGS_AFTER_S + 3.0
CROWD = 1_000
OTHER = InterruptResponse("the second")
FULL_S = 2.0
FILLER = "filler"


def flows(around: Round) -> bool:
    """Every other round is struck while its runs flow; in the others they wait at the gate."""
    return around.number % 2 == 1


def one_of_the_agents(around: Round) -> str:
    """Whom to strike: who holds most runs at the gate, or, where they flow, each agent in turn."""
    agents = around.site.agents
    return agents[around.number // 2 % len(agents)] if flows(around) else "agent:steps.b"


def held_by(around: Round, name: str) -> list[RunId]:
    """The runs whose held stage is issued again when that process goes."""
    if name == "supervisor":
        return list(around.runs)
    return [run_id for run_id, seen in around.runs.items() if name == f"agent:{KINDS[seen.kind].pipeline}.b"]


async def killed(around: Round, name: str) -> None:
    """SIGKILL to the process of an actor."""
    site, pid = around.site, await around.site.pid(name)
    held = held_by(around, name)
    if flows(around):
        around.place.open_gate()
        await asyncio.sleep(around.number % 5 * 0.03)  # strike at another step each time
    around.struck()
    kill([pid])
    await site.noticed(name, pid)
    around.detected()
    await around.probe()
    if not flows(around):
        await around.at_gate(held, attempt=2)
    if name in ("index", "store"):
        await site.another(name, pid)


async def stopped(around: Round, name: str, span_s: float | None = None) -> None:
    """SIGSTOP to the process of an actor, and SIGCONT some seconds later: longer than a process may hang, or not."""
    site, pid = around.site, await around.site.pid(name)
    span_s = STOPPED_S[around.number % len(STOPPED_S)] if span_s is None else span_s
    held = held_by(around, name)
    if flows(around):
        around.place.open_gate()
    around.struck()
    os.kill(pid, signal.SIGSTOP)
    waking = asyncio.get_running_loop().call_later(span_s, go_on, pid)
    try:
        if span_s > SURELY_NOTICED_S:
            await site.noticed(name, pid, span_s)
            around.detected()
        await around.probe()
        if span_s > SURELY_NOTICED_S and not flows(around):
            await around.at_gate(held, attempt=2)
        if name == "bus":
            await site.settled()
    finally:
        if around.detection_s is not None:
            waking.cancel()
            go_on(pid)


async def crowded_supervisor_killed(around: Round) -> None:
    """SIGKILL to the supervisor of a thousand runs in flight; each is to be issued again."""
    for _ in range(CROWD // 100):
        await asyncio.gather(*(around.add("crowd", watched=False) for _ in range(100)))
    held = list(around.runs)
    await around.at_gate(held)
    pid = await around.site.pid("supervisor")
    around.struck()
    kill([pid])
    await around.site.noticed("supervisor", pid)
    around.detected()
    await around.probe()
    await around.at_gate(held, attempt=2)


async def supervised_twice(around: Round) -> None:
    """Another supervisor wants the log; then one takes it by force: the deposed one writes nothing more, and ends."""
    site = around.site
    refusal = await _rival(around)
    if "holds" not in refusal:
        around.findings.append(f"one owner: a second supervisor was not refused: {refusal}")
    pid = await site.pid("supervisor")
    log = site.open_log()
    try:
        around.struck()
        log.take_over("a rival", time.time_ns() // 1_000_000, LEASE_MS, force=True)
        before = {run_id: len(log.events(run_id)) for run_id in around.runs}
        around.place.open_gate()
        await site.noticed("supervisor", pid)
        around.detected()
        for run_id, count in before.items():
            if len(log.events(run_id)) != count:
                around.findings.append(f"one owner: {run_id} was written by a supervisor that was deposed")
    finally:
        log.close()
    await around.probe()


async def _rival(around: Round) -> str:
    """What a supervisor of another system gets for wanting the same log."""
    import ray

    from actors.supervisor_actor import SupervisorActor
    from runtime.pipeline.config import as_wire

    site = around.site
    ownership = {
        "system_id": secrets.token_hex(8),
        "store": msgspec.to_builtins(site.store),
        "log_names": [f"{KEEPER}-0"],
    }
    options = {"name": f"rival-{around.number}", "namespace": "jeeves", "num_cpus": 0}
    pipelines = [as_wire(pipeline) for pipeline in site.pipelines]
    remote: Any = ray.remote(SupervisorActor)
    rival = remote.options(**options).remote("rival", pipelines, ownership)
    try:
        await rival.ping.remote()
    except ray.exceptions.RayActorError as error:
        return str(error)
    ray.kill(rival)
    return "it came up"


async def answered_often(around: Round) -> None:
    """Every question is answered three times at once, by a stranger too, and once more when the run is over."""
    around.answers_itself = False
    around.place.open_gate()
    asked = {run_id: await _question(around, run_id) for run_id in around.runs}
    around.struck()
    told = [
        (run_id, text, asyncio.create_task(_told(around, run_id, question, user, text)))
        for run_id, question in asked.items()
        for user, text in (("local", ANSWER), ("local", OTHER), ("local", ANSWER), ("stranger", OTHER))
    ]
    if flows(around):
        kill([await around.site.pid("supervisor")])
    taken = [(run_id, text) for run_id, text, telling in told if await telling]
    around.detected()
    await around.end()
    for run_id, question in asked.items():
        texts = {text.text for taken_by, text in taken if taken_by == run_id}
        if len(texts) != 1:
            around.findings.append(f"answered twice: {run_id} took {sorted(texts)}")
        late = InterruptResponse("too late")
        if await _told(around, run_id, question, "local", late):
            around.findings.append(f"answered twice: {run_id} took an answer after its end")


async def _question(around: Round, run_id: RunId) -> str:
    async def raised() -> str | None:
        events = around.runs[run_id].events
        return next((event.data["id"] for event in events if event.type == "interrupt.raised"), None)

    found: str = await until(raised, f"{run_id} asks nothing")
    return found


async def _told(around: Round, run_id: RunId, question: str, user: str, response: InterruptResponse) -> bool:
    """True when the system says that it took the answer."""
    try:
        await around.site.system.answer(run_id, question, user, response)
    except InterruptError:
        return False
    return True


async def disk_filled(around: Round) -> None:
    """No room for the run log, for a while: what was accepted goes on when there is room again."""
    folder = around.site.store.folder
    filler = os.path.join(folder, FILLER)  # noqa: PTH118 - a raw file is written below
    around.struck()
    with open(filler, "wb", buffering=0) as file:  # noqa: ASYNC230, PTH123 - a small file in memory
        for size in (65_536, 4_096, 512):
            _fill(file, size)
    around.place.open_gate()
    await until(lambda: _refused(around), "a full disk refuses nobody")
    around.detected()
    await asyncio.sleep(FULL_S)
    if flows(around):
        kill([await around.site.pid("supervisor")])
        await asyncio.sleep(FULL_S)
    around.struck()
    os.unlink(filler)  # noqa: PTH108
    await around.probe()


def _fill(file: Any, size: int) -> None:
    block = b"x" * size
    try:
        while file.write(block) == size:
            pass
    except OSError:
        return  # the disk is full, which is what was wanted


async def _refused(around: Round) -> bool:
    """True when a run was refused for want of room."""
    try:
        await around.add("line")
    except StateStorageError:
        return True
    return False


async def services_are_back(around: Round) -> None:
    """Return when every actor answers, so that the next round begins in peace."""
    for name in (*SERVICES, *around.site.agents):
        await until(functools.partial(answer_of, actor(name).process_id.remote), f"{name} does not answer")
    await around.site.settled()
