"""Declares the host of sessions as a service, opened alike on the bus and in the process of a door."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from actors.capabilities.code_change.session.calls import CALLS
from actors.capabilities.code_change.session.owners import is_driven
from actors.capabilities.code_change.session.ports import Ports
from actors.capabilities.code_change.session.session_host import MemoryLimits, SessionHost
from actors.capabilities.code_change.store.session_store import CODE_CHANGES
from runtime.agents.hosted_service import HostedService, OpenPart
from runtime.codebase.files.consent import Consent
from runtime.codebase.parsing.trial_process import guard_parsing
from runtime.contracts.loading import load_contract
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import Address

WORK_TREES = "work_trees"
OWNERS = "change_servers"


def open_host(settings: Mapping[str, Any], part: OpenPart) -> SessionHost:
    """Return a host of sessions. `settings`: state_dir, contract (a path), sessions_in_memory and session_idle_s.

    Raises StateStorageError, and DocumentFaults for a contract with faults.
    """
    # What an agent has just written is parsed here, where the sessions of others are as well.
    guard_parsing()
    state_dir = Path(settings["state_dir"])
    ports = Ports(part(CODE_CHANGES), SystemClock(), state_dir / WORK_TREES, "", partial(is_driven, state_dir / OWNERS))
    limits = MemoryLimits(int(settings["sessions_in_memory"]), float(settings["session_idle_s"]))
    return SessionHost(load_contract(Path(settings["contract"])), Consent(state_dir), ports, limits)


CHANGE_SESSIONS = HostedService(Address("code_change"), tuple(CALLS), open_host)
