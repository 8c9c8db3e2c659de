"""Drives the runs of one log: its lease, run table, host and shell."""

from __future__ import annotations

from collections.abc import Mapping

from actors.addresses import agent_address, place_of
from actors.host_shell import HostShell
from actors.log_owner import LogOwner
from runtime.bus.endpoint import Endpoint
from runtime.hosting.command_dispatch import Directory
from runtime.hosting.limits.limits_service import Limits
from runtime.hosting.run_meter import RunMeter
from runtime.hosting.run_table import RunTable
from runtime.hosting.run_watchers import RunWatchers
from runtime.hosting.supervisor_host import SupervisorHost
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.clock import Clock
from runtime.primitives.ids import Address, StageKey, StageName


class DrivenLog:
    """Drives the runs of the log that `owner` has acquired. `begin` recovers them; nothing happens before.

    `calls_models`: False when the agents reason without models. `meter` counts what is recorded.
    """

    def __init__(
        self,
        owner: LogOwner,
        pipelines: Mapping[str, PipelineConfig],
        limits: Limits,
        endpoint: Endpoint,
        clock: Clock,
        calls_models: bool = True,
        meter: RunMeter | None = None,
    ) -> None:
        self.owner = owner
        # Doors take requests from the rates, at the limits service.
        quotas, epoch = limits.of_runs(), owner.epoch
        self.table = RunTable(pipelines, owner.log, clock, quotas, epoch=epoch, calls_models=calls_models, meter=meter)
        self.host = SupervisorHost(self.table, AGENTS, owner.renew)
        self.watchers = RunWatchers(self.table, clock)
        self.shell = HostShell(self.host, endpoint, clock, owner.epoch, self.watchers.changed)

    def begin(self, takes_up: bool) -> None:
        """Start to drive; with `takes_up`, continue the unfinished runs of the log."""
        self.shell.act(self.host.begin(takes_up))
        self.shell.spawn(self.shell.send_again())

    def close(self) -> None:
        """Stop driving, release the log and close it."""
        self.shell.close()
        self.owner.release()
        self.owner.log.close()


def _address_of(config: PipelineConfig, stage: StageName, key: StageKey) -> Address:
    return agent_address(config.name, stage, key, config.stages[stage].replicas)


def _stage_of(address: Address) -> StageName | None:
    place = place_of(address)
    return None if place is None else StageName(place.stage)


AGENTS = Directory(_address_of, _stage_of)
