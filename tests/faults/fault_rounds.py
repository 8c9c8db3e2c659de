"""One round: runs in flight, a fault, a probe that tells when the system works again, and what became of every run."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec

from runtime.errors import UnknownNameError
from runtime.primitives.ids import RunId
from runtime.run.envelope import InterruptResponse
from runtime.supervision.commands import ClientEvent
from tests.faults.fault_runs import KINDS, Outcome, Place, outcome_of, request
from tests.faults.fault_site import PATIENCE_S, POLL_S, Site, until

MIXED = ("line", "loop", "bounded", "fan", "asking", "line", "fan", "loop")
HELD_HOP = 2
ANSWER = InterruptResponse("the first")


class Seen(msgspec.Struct):
    """What one watcher saw of a run that was accepted."""

    kind: str
    events: list[ClientEvent] = []
    outcome: Outcome | None = None
    tool_calls: int = 0


class Round:
    """The runs of one round and when what happened, in seconds after the fault struck."""

    def __init__(self, site: Site, number: int) -> None:
        self.site = site
        self.number = number
        folder = site.folder / "rounds"
        folder.mkdir(exist_ok=True)
        name = f"{time.time_ns()}-{number}"
        self.place = Place(folder / f"{name}.notes", folder / f"{name}.records", folder / f"{name}.gate")
        self.runs: dict[RunId, Seen] = {}
        self.detection_s: float | None = None
        self.recovery_s: float | None = None
        self.findings: list[str] = []
        self.answers_itself = True
        self._struck_s = 0.0
        self._watchers: dict[RunId, asyncio.Task[None]] = {}

    async def begin(self, kinds: tuple[str, ...] = MIXED) -> None:
        """Start runs of these kinds, each with a watcher, and return when all of them wait at the gate."""
        await asyncio.gather(*(self.add(kind) for kind in kinds))
        await self.at_gate(list(self.runs))

    async def add(self, kind: str, watched: bool = True) -> RunId:
        """Start one more run; it is accepted when this returns."""
        run_id: RunId = await self.site.system.submit(request(kind, self.place))
        self.runs[run_id] = Seen(kind)
        if watched:
            self._watchers[run_id] = asyncio.create_task(self._watch(run_id))
        return run_id

    async def at_gate(self, run_ids: list[RunId], attempt: int = 1, patience_s: float = PATIENCE_S) -> None:
        """Return when each of the runs is in its held stage, in this attempt or a later one."""
        wanted = {
            (run_id, item) for run_id in run_ids for item in ((0, 1) if self.runs[run_id].kind == "fan" else (0,))
        }

        async def held() -> bool:
            there = {
                (effect.run_id, effect.item)
                for effect in self.place.effects()
                if effect.hop == HELD_HOP and effect.attempt >= attempt
            }
            return wanted <= there

        # Reading what a crowd has noted takes the processor from those who are to recover.
        poll_s = max(POLL_S, len(wanted) / 2_000)
        await until(held, f"{len(wanted)} stages are not at the gate in attempt {attempt}", patience_s, poll_s)

    def struck(self) -> None:
        """The fault strikes now: times count from here."""
        self._struck_s = time.monotonic()

    def detected(self) -> None:
        """The system knows."""
        if self.detection_s is None:
            self.detection_s = time.monotonic() - self._struck_s

    def recovered(self) -> None:
        """What was disturbed goes on, and new runs do as well."""
        self.recovery_s = time.monotonic() - self._struck_s

    async def probe(self) -> None:
        """Start a run after the fault and return when it has got to the gate."""
        await self.at_gate([await self.add("line")])

    async def end(self) -> None:
        """Open the gate, wait until every run is over, and note what each has come to."""
        self.place.open_gate()
        if self._watchers:
            await asyncio.wait(self._watchers.values(), timeout=PATIENCE_S)
        for run_id, watcher in self._watchers.items():
            if not watcher.done():
                watcher.cancel()
                self.findings.append(f"lost: {run_id} ({self.runs[run_id].kind}) has not ended")
            elif (error := watcher.exception()) is not None:
                self.findings.append(f"lost: the watcher of {run_id} got {type(error).__name__}: {error}")
        self._watchers.clear()
        await asyncio.gather(*(self._conclude(run_id) for run_id in self.runs))

    async def _conclude(self, run_id: RunId) -> None:
        seen = self.runs[run_id]

        async def envelope() -> Any:
            try:
                found = await self.site.system.envelope(run_id)
            except UnknownNameError as error:
                self.findings.append(f"lost: {error.message}")
                raise AssertionError(error.message) from error
            return found if found.lifecycle == "terminated" else None

        try:
            over = await until(envelope, f"{run_id} is not over")
        except AssertionError:
            return  # without an outcome it differs from what is expected, which `findings` reports
        seen.outcome, seen.tool_calls = outcome_of(over), over.usage.tool_calls

    async def _watch(self, run_id: RunId) -> None:
        seen = self.runs[run_id]
        async for event in self.site.system.watch(run_id):
            seen.events.append(event)
            if event.type == "interrupt.raised" and KINDS[seen.kind].asks and self.answers_itself:
                await self.site.system.answer(run_id, event.data["id"], "local", ANSWER)


async def undisturbed(site: Site) -> dict[str, Outcome]:
    """What each kind of run comes to when nothing happens."""
    calm = Round(site, 0)
    await calm.begin(tuple(KINDS))
    await calm.end()
    assert not calm.findings, calm.findings
    outcomes = {seen.kind: seen.outcome for seen in calm.runs.values() if seen.outcome is not None}
    assert outcomes["bounded"].reason == "max_iterations_exceeded"
    assert {outcomes[kind].reason for kind in KINDS if kind != "bounded"} == {"completed"}, outcomes
    return outcomes
