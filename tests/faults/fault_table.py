"""The faults by name: where they strike, how, and within which time the system has to work again."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from tests.faults import fault_strikes
from tests.faults.fault_checks import DOUBLED, findings
from tests.faults.fault_nodes import FarSite, node_removed
from tests.faults.fault_places import (
    LocalSite,
    PostgresSite,
    SmallDiskSite,
    clock_stepped,
    postgres_away,
    postgres_restarted,
)
from tests.faults.fault_rounds import MIXED, Round
from tests.faults.fault_runs import Outcome
from tests.faults.fault_site import Site

ASKING = ("asking",) * 6

Strike = Callable[[Round], Awaitable[None]]


class Fault(NamedTuple):
    """One fault. `is_calm`: no agent and no supervisor dies of it. `within_s`: the longest recovery that is allowed."""

    strike: Strike
    kinds: tuple[str, ...] = MIXED
    site: Callable[[Path], Site] = Site
    is_calm: bool = False
    within_s: float | None = None


class Record(msgspec.Struct):
    """What became of one round."""

    accepted: int
    ended: int
    lost: int
    doubled: int
    detection_s: float | None
    recovery_s: float | None
    findings: list[str]


async def _killed_agent(around: Round) -> None:
    await fault_strikes.killed(around, fault_strikes.one_of_the_agents(around))


async def _stopped_agent(around: Round) -> None:
    await fault_strikes.stopped(around, fault_strikes.one_of_the_agents(around))


def _on(strike: Callable[[Round, str], Awaitable[None]], name: str) -> Strike:
    return lambda around: strike(around, name)


FAULTS: dict[str, Fault] = {
    "kill-agent": Fault(_killed_agent, within_s=5),
    "kill-supervisor": Fault(_on(fault_strikes.killed, "supervisor"), within_s=10),
    "kill-supervisor-1000": Fault(fault_strikes.crowded_supervisor_killed, kinds=(), within_s=10),
    "kill-bus": Fault(_on(fault_strikes.killed, "bus"), is_calm=True, within_s=10),
    "kill-store": Fault(_on(fault_strikes.killed, "store"), is_calm=True, within_s=15),
    "kill-index": Fault(_on(fault_strikes.killed, "index"), is_calm=True, within_s=15),
    "stop-agent": Fault(_stopped_agent, within_s=15),
    "stop-supervisor": Fault(_on(fault_strikes.stopped, "supervisor"), within_s=15),
    "stop-bus": Fault(_on(fault_strikes.stopped, "bus"), is_calm=True, within_s=15),
    "two-supervisors": Fault(fault_strikes.supervised_twice, within_s=15),
    "answers": Fault(fault_strikes.answered_often, kinds=ASKING),
    "clock-step": Fault(clock_stepped, site=LocalSite, is_calm=True),
    "disk-full": Fault(fault_strikes.disk_filled, site=SmallDiskSite, within_s=20),
    "postgres-restart": Fault(postgres_restarted, site=PostgresSite, within_s=20),
    "postgres-away": Fault(postgres_away, site=PostgresSite, within_s=40),
    "node-removed": Fault(node_removed, site=FarSite, within_s=30),
}


async def one_round(site: Site, fault: Fault, number: int, expected: Mapping[str, Outcome]) -> Record:
    """Strike once, and say what became of the runs. What breaks the round itself is a finding, too."""
    around = Round(site, number)
    await around.begin(fault.kinds)
    try:
        await fault.strike(around)
    except AssertionError as error:
        around.findings.append(f"not recovered: {error}")
    if not fault_strikes.flows(around):
        around.recovered()
    # What keeps the round from ending is among its findings already.
    with contextlib.suppress(AssertionError):
        await around.end()
    if fault_strikes.flows(around):
        around.recovered()
    found = findings(around, expected, fault.is_calm)
    if fault.within_s is not None and (around.recovery_s or 0) > fault.within_s:
        found.append(f"slow: recovered after {around.recovery_s:.1f} s, allowed {fault.within_s:g} s")
    if site.cluster is not None:
        await fault_strikes.services_are_back(around)
    over = sum(seen.outcome is not None for seen in around.runs.values())
    doubled = sum(finding.startswith(DOUBLED) for finding in found)
    lost = len(around.runs) - over
    return Record(len(around.runs), over, lost, doubled, around.detection_s, around.recovery_s, found)
