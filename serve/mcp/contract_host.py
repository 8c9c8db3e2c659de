"""Opens the sessions of code changes of one repository, behind the tools of the kind `contract`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from actors.capabilities.code_change.session.consent import contract_of, project_rules
from actors.capabilities.code_change.session.live_session import LiveSession
from actors.capabilities.code_change.session.owners import Owner
from actors.capabilities.code_change.session.ports import Confirm, Ports, Similarities, no_similarities, nobody
from actors.capabilities.code_change.session.sessions import ChangeSessions
from actors.capabilities.code_change.store.session_store import CODE_CHANGES
from runtime.codebase.files.consent import Consent
from runtime.contracts.contract import Contract
from runtime.contracts.loading import load_contract
from runtime.errors import RunStateError
from runtime.primitives.clock import SystemClock
from runtime.settings import Settings, open_state_dir
from runtime.store.opening import Stores, open_store
from runtime.store.options import store_options

SHIPPED = Path(__file__).resolve().parents[2] / "configs" / "contracts" / "code_change.yaml"
WORK_TREES = "work_trees"
OWNERS = "change_servers"


class ContractHost:
    """Holds the sessions of one repository; the store is opened at the first call."""

    def __init__(self, settings: Settings, root: str, confirm: Confirm = nobody) -> None:
        self._settings = settings
        self._confirm = confirm
        self.compare: Similarities = no_similarities
        self._owner: Owner | None = None
        self._root = Path(root)
        self._stores: Stores | None = None
        self._sessions: ChangeSessions | None = None
        self._contract: Contract | None = None
        self._notes: list[str] = []

    @property
    def contract(self) -> Contract:
        """The contract in force: the shipped one, or the repository's own where the operator allowed it."""
        if self._contract is None:
            self._contract, self._notes = contract_of(self._root, load_contract(SHIPPED), self._consent)
        return self._contract

    @property
    def _consent(self) -> Consent:
        return Consent(self._settings.state_dir)

    @property
    def live(self) -> LiveSession | None:
        """The session that this server drives, if there is one."""
        return self._sessions.live if self._sessions is not None else None

    @property
    def folder(self) -> Path | None:
        """The folder that the session works in; None without a session."""
        return self.live.folder if self.live is not None else None

    def session(self) -> LiveSession:
        """Return the session. Raises RunStateError without one."""
        if self.live is None:
            raise RunStateError("no session is under way; call start_session first")
        return self.live

    def sessions(self) -> ChangeSessions:
        """Return the sessions of the repository, opened at the first call. Raises StateStorageError."""
        if self._sessions is None:
            clock = SystemClock()
            open_state_dir(self._settings.state_dir)
            self._owner = Owner(self._settings.state_dir / OWNERS)
            self._stores = open_store(store_options(self._settings), clock)
            ports = Ports(
                self._stores.part(CODE_CHANGES),
                clock,
                self._settings.state_dir / WORK_TREES,
                self._owner.name,
                self._owner.is_alive,
                self._compared,
                self._confirm,
            )
            self._sessions = ChangeSessions(self.contract, self._root, ports)
        return self._sessions

    async def _compared(self, query: str, names: Sequence[str]) -> Mapping[str, float]:
        return await self.compare(query, names)

    def beginning(self) -> Mapping[str, Any]:
        """Return what a new session is told of the repository: its allowed rules, and what is not in force."""
        rules, notes = project_rules(self._root, self._consent)
        return {"project_rules": rules, "notes": [*self._notes, *notes]}

    def close(self) -> None:
        """Close the store."""
        if self._stores is not None:
            self._stores.close()
        if self._owner is not None:
            self._owner.close()
