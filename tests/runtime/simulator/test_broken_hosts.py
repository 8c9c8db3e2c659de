"""The simulator drives the host that ships: one that breaks a promise is caught, each by the seed beside it."""

from __future__ import annotations

from collections import Counter

import pytest

from runtime.agents.reporter import Report
from runtime.hosting.group_commit import Job
from runtime.hosting.host_outputs import Output, Reply, ReportRecorded, SendStage
from runtime.hosting.supervisor_host import SupervisorHost
from runtime.primitives.ids import Address, MessageId, RunId, StageKey
from runtime.run.envelope import Request
from runtime.simulator.campaign import prepare
from runtime.simulator.invariants import findings
from runtime.simulator.simulated_system import System, trusting_host
from runtime.simulator.supervisor import AGENTS, OpenHost, open_host
from runtime.supervision.commands import Command
from runtime.supervision.events import Payload


class AcknowledgesFirst(SupervisorHost):
    """Acknowledges a report before it is recorded."""

    def on_report(self, report_id: MessageId, report: Report, origin: object = None) -> list[Output]:
        outputs = super().on_report(report_id, report, origin)
        return [ReportRecorded(report_id, report.agent, report.key.run_id, origin), *outputs]


class SendsFirst(SupervisorHost):
    """Sends what follows from a report before it is recorded."""

    def _handle_all(self, report: Report) -> list[Command]:
        self._carry_out(report.key.run_id, super()._handle_all(report))
        return []


class RepliesFirst(SupervisorHost):
    """Accepts a request before it is recorded."""

    def submit(self, token: object, request: Request, run_id: RunId | None = None) -> list[Output]:
        return [Reply(token, run_id), *super().submit(token, request, run_id)]


class ForgetsTheLost(SupervisorHost):
    """Issues nothing again when a process died."""

    def _lose(self, address: Address, lost: dict[RunId, tuple[StageKey, ...]], origin: object) -> None:
        return None


class TriesOnce(SupervisorHost):
    """Gives up what nobody would say again when its write fails."""

    def _record_event(self, run_id: RunId, payload: Payload, origin: object = None) -> None:
        def then(commands: list[Command]) -> None:
            self._carry_out(run_id, commands, origin)

        self._records.add(Job(lambda: self._table.handle(run_id, payload), then, lambda _: None))


class SendsOnce(SupervisorHost):
    """Sends a stage once, whether it arrives or not."""

    def due(self, now_ms: int) -> list[SendStage]:
        return []


class NeverAdmits(SupervisorHost):
    """Lets nobody begin who waits for room."""

    def _admit(self) -> None:
        return None


class TakesNothingUp(SupervisorHost):
    """Leaves alone what its former process did not finish."""

    def _take_up_some(self) -> None:
        self._recovered()


def broken(kind: type[SupervisorHost]) -> OpenHost:
    return lambda table: kind(table, AGENTS, table.check_owner)


BROKEN: dict[str, tuple[OpenHost, int]] = {
    "acknowledges before it records": (broken(AcknowledgesFirst), 20),
    "sends before it records": (broken(SendsFirst), 180),
    "replies before it records": (broken(RepliesFirst), 1),
    "looks for no doubles": (trusting_host, 339),
    "forgets what died with a process": (broken(ForgetsTheLost), 1),
    "tries once what nobody says again": (broken(TriesOnce), 3),
    "sends a stage once": (broken(SendsOnce), 3),
    "admits nobody": (broken(NeverAdmits), 33),
    "takes nothing up": (broken(TakesNothingUp), 1),
}


def violations(seed: int, host_over: OpenHost) -> list[str]:
    scenario, twin, plan = prepare(seed)
    system = System(scenario, plan, host_over=host_over)
    system.run()
    found = [name for name, _ in findings(system, twin, Counter())]
    system.dismantle()
    twin.dismantle()
    return found


@pytest.mark.parametrize("how", BROKEN)
def test_a_host_that_breaks_a_promise_is_caught(how: str) -> None:
    host_over, seed = BROKEN[how]
    assert violations(seed, open_host) == []
    assert violations(seed, host_over), f"nothing is violated by a host that {how}; another seed may show it"
