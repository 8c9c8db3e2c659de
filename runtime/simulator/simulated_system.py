"""Simulates a whole system with its crashes: store, supervisors, agents of stages, callers of runs.

There is always a supervisor: one that died is restarted, and one that was stopped is replaced once its lease is over.
The stopped one resumes later without knowing it.
"""

from __future__ import annotations

from runtime.hosting.report_inbox import Arrival, ReportInbox
from runtime.hosting.run_table import RunTable
from runtime.hosting.supervisor_host import SupervisorHost
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.ids import MessageId, RunId
from runtime.run.envelope import Envelope
from runtime.simulator.agent import Habits, SimulatedAgent, Workplace
from runtime.simulator.clients import Caller
from runtime.simulator.faults import LIVES_OF_AN_AGENT, Fault, FaultPlan
from runtime.simulator.ground_truth import Books
from runtime.simulator.scenarios import Scenario
from runtime.simulator.storage import Disk, DiskJournal, NoJournal, WriteBehind
from runtime.simulator.supervisor import AGENTS, LEASE_MS, SUPERVISOR, OpenHost, Supervisor, open_host
from runtime.simulator.world import Process, WallClock, World

MOST_SKEW_MS = 10_000
PROTECTIONS = ("dedup", "fencing", "journal", "write_ahead", "reserve", "join")


class TrustingInbox(ReportInbox):
    """Simulates broken deduplication in a supervisor: every copy of a report is new."""

    def arrives(self, report_id: MessageId) -> Arrival:
        return "new"


def trusting_host(table: RunTable) -> SupervisorHost:
    """Build a host that does not detect duplicate reports."""
    return SupervisorHost(table, AGENTS, table.check_owner, TrustingInbox())


class System:
    """Runs one scenario under one plan of faults, with at most one protection `broken`, or with another host."""

    def __init__(
        self, scenario: Scenario, plan: FaultPlan, broken: str | None = None, host_over: OpenHost = open_host
    ) -> None:
        self.scenario = scenario
        self.broken = broken
        self._host_over = host_over
        self.world = World(plan, self._strike)
        self.disk = Disk(self.world, is_fenced=broken != "fencing")
        self.journal = (NoJournal if broken == "journal" else DiskJournal)(self.world, self.disk)
        self.books = Books(self._effect_made)
        self._clock = WallClock(self.world)
        habits = Habits(dedup=broken != "dedup", fencing=broken != "fencing", reserve=broken != "reserve")
        self._place = Workplace(self.world, self.journal, self.books, habits, scenario.config.is_parallel)
        self.config = _without_joins(scenario.installed) if broken == "join" else scenario.installed
        self._supervisors: list[Supervisor] = []
        self._processes: list[Process] = []
        self._logs: dict[int, WriteBehind] = {}
        self._started = 0
        self._struck_writes: set[int] = set()
        self._agents: dict[str, SimulatedAgent] = {}
        self._start_supervisor()
        for stage in scenario.scripts:
            self._start_agent(stage, 1)
        self.callers = {run.run_id: Caller(self.world, run, self._run_ended) for run in scenario.runs}
        self._running = set(self.callers)
        for caller in self.callers.values():
            self.world.processes[caller.address] = caller
            self._processes.append(caller)

    def run(self) -> None:
        """Run the world until it ends."""
        self.world.run()

    def dismantle(self) -> None:
        """Clear all parts, so that no reference cycle is left for the garbage collector."""
        for part in (*self._processes, self.world):
            vars(part).clear()
        vars(self).clear()

    def envelope(self, run_id: RunId) -> Envelope:
        """Return the envelope of a run in the newest supervisor. Raises UnknownNameError."""
        return (self._serving() or self._supervisors[-1]).envelope(run_id)

    def _run_ended(self, run_id: RunId) -> None:
        self._running.discard(run_id)
        if not self._running:
            self.world.end_soon()

    # -- supervisors -------------------------------------------------------------------------------------------------

    def _start_supervisor(self) -> None:
        self._started += 1
        name = f"supervisor-{self._started}"
        log = self.disk
        behind = WriteBehind(self.disk, self.world) if self.broken == "write_ahead" else None

        def open_table() -> RunTable:
            pipelines = {self.config.name: self.config}
            return RunTable(pipelines, behind or log, self._clock, self.scenario.quotas, owner=name)

        host_over = trusting_host if self.broken == "dedup" else self._host_over
        supervisor = Supervisor(self.world, open_table, self._recorded, self._died, host_over)
        if behind is not None:
            self._logs[id(supervisor)] = behind
        self._supervisors.append(supervisor)
        self._processes.append(supervisor)
        self.world.processes[SUPERVISOR] = supervisor

    def _serving(self) -> Supervisor | None:
        """Return the supervisor that owns the disk or is about to take it over; a deposed one may not know yet."""
        owners = [one for one in self._supervisors if one.is_alive and one.epoch in (0, self.disk.epoch)]
        return max((one for one in owners if not one.is_stopped), key=lambda one: one.epoch, default=None)

    def _start_if_none(self) -> None:
        if self._serving() is None:
            self._start_supervisor()

    def _died(self, supervisor: Supervisor, down_ms: int = LEASE_MS) -> None:
        behind = self._logs.get(id(supervisor))
        if behind is not None:
            behind.lose()
        self.world.schedule(down_ms, None, self._start_if_none)
        self._address()

    def _stop(self, supervisor: Supervisor, fault: Fault) -> None:
        supervisor.stop()
        self.world.schedule(fault.span_ms, None, self._wake, (supervisor, fault.which % 2 == 0))
        self.world.schedule(LEASE_MS, None, self._start_if_none)

    def _wake(self, supervisor: Supervisor, takes_the_address: bool) -> None:
        """Resume a stopped supervisor; for a while, messages may even reach it instead of the new one."""
        if not supervisor.is_alive:
            return
        if takes_the_address:
            self.world.processes[SUPERVISOR] = supervisor
            self.world.schedule(LEASE_MS, None, self._address)
        supervisor.wake()
        if not takes_the_address:
            self._address()

    def _address(self) -> None:
        """Route messages to the newest owner."""
        self.world.processes[SUPERVISOR] = self._serving() or self._supervisors[-1]

    def _recorded(self, supervisor: Supervisor) -> None:
        """Crash the supervisor between a write and its consequences, if the plan says so for this write."""
        write = self.disk.writes
        fault = self.world.plan.at_write.get(write)
        if fault is not None and fault.kind == "crash_after_append" and write not in self._struck_writes:
            self._struck_writes.add(write)
            self.world.faults[fault.kind] += 1
            supervisor.die(fault.span_ms)

    # -- agents ------------------------------------------------------------------------------------------------------

    def _start_agent(self, stage: str, life: int) -> None:
        agent = SimulatedAgent(self._place, stage, self.scenario.scripts[stage], life, self.disk.epoch)
        self._agents[stage] = agent
        self._processes.append(agent)
        self.world.processes[stage] = agent

    def _crash_agent(self, agent: Process, fault: Fault) -> None:
        if not isinstance(agent, SimulatedAgent) or not agent.is_alive or agent.life >= LIVES_OF_AN_AGENT:
            return
        self.world.faults[fault.kind] += 1
        agent.die()
        self.world.schedule(fault.span_ms, None, self._start_agent, (agent.address, agent.life + 1))

    def _effect_made(self, number: int, by: Process) -> None:
        fault = self.world.plan.at_effect.get(number)
        if fault is not None:
            self._crash_agent(by, fault)

    # -- faults ------------------------------------------------------------------------------------------------------

    def _strike(self, fault: Fault) -> None:
        """Inject a fault that the plan has for a step."""
        if fault.kind == "crash_agent":
            busy = [agent for agent in self._agents.values() if agent.is_busy] or list(self._agents.values())
            self._crash_agent(busy[fault.which % len(busy)], fault)
            return
        supervisor = self._serving()
        if fault.kind in {"crash_supervisor", "stop_supervisor"} and supervisor is None:
            return
        self.world.faults[fault.kind] += 1
        if fault.kind == "crash_supervisor" and supervisor is not None:
            supervisor.die(fault.span_ms)
        elif fault.kind == "stop_supervisor" and supervisor is not None:
            self._stop(supervisor, fault)
        elif fault.kind == "crash_bus":
            self.world.crash_bus(fault.span_ms)
        elif fault.kind == "crash_store":
            self.disk.crash(fault.span_ms)
        elif fault.kind == "clock_jump":
            skew_ms = self.world.wall_skew_ms + fault.span_ms
            self.world.wall_skew_ms = max(-MOST_SKEW_MS, min(MOST_SKEW_MS, skew_ms))
        elif fault.kind == "reconnect":
            for caller in self.callers.values():
                caller.reconnect(fault.which % (len(caller.seen) + 1))


def _without_joins(config: PipelineConfig) -> PipelineConfig:
    """Return the same pipeline with every join `any`, so that one finished requirement starts a stage."""
    parts = config.model_dump(by_alias=True)
    agents = [{**agent, "join_strategy": "any"} for agent in parts["agents"]]
    return PipelineConfig.model_validate({**parts, "agents": agents})
