"""Opens the sessions of code changes of one repository, behind the tools of the kind `contract`."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from actors.capabilities.code_change.session import calls
from actors.capabilities.code_change.session.consent import project_rules
from actors.capabilities.code_change.session.owners import Owner, driver_of
from actors.capabilities.code_change.session.ports import Confirm, Similarities, no_similarities, nobody
from actors.capabilities.code_change.session.service import OWNERS
from actors.capabilities.code_change.session.sessions import Recovery
from runtime.codebase.files.consent import Consent
from runtime.errors import RunStateError
from runtime.settings import Settings, open_state_dir
from serve.mcp.changes.change_calls import ChosenCalls, OwnCalls, warm_calls
from serve.mcp.changes.door_session import DoorSession, supplied
from serve.mcp.connections import current_connection

MAX_SESSIONS = 512


class ContractHost:
    """Knows the sessions that the clients of this server drive; what holds them is opened at the first call."""

    def __init__(
        self,
        settings: Settings,
        root: str,
        confirm: Confirm = nobody,
        is_away: Callable[[str], bool] = lambda _: False,
    ) -> None:
        """Open nothing yet. `is_away`: whether a connection has no request under way."""
        self._is_away = is_away
        self._followed_by: dict[str, str] = {}
        self._settings = settings
        self._root = Path(root)
        self._confirm = confirm
        self.compare: Similarities = no_similarities
        self._owner: Owner | None = None
        self._calls = ChosenCalls(lambda: OwnCalls(settings), lambda: warm_calls(settings), self._forget_all)
        self._sessions: dict[str, DoorSession] = {}

    @property
    def live(self) -> DoorSession | None:
        """The session that the client of the current call drives, if there is one."""
        if self._owner is None:
            return None
        found = self._sessions.get(self._driver())
        return None if found is None or found.is_over else found

    @property
    def folder(self) -> Path | None:
        """The folder that the current client's session works in; None without a session."""
        return self.live.folder if self.live is not None else None

    @property
    def folders(self) -> set[Path]:
        """The folders that sessions of this server work in."""
        return {session.folder for session in self._sessions.values() if not session.is_over}

    def session(self) -> DoorSession:
        """Return the session. Raises RunStateError without one."""
        if self.live is None:
            raise RunStateError("no session is under way; call start_session first")
        return self.live

    async def start(
        self, intent: str, query: str, flags: Sequence[str], gate_level: str, recovery: Recovery
    ) -> calls.Answer:
        """Begin a session for the current client, or go on with one that was left."""
        driver = self._driver()
        call = calls.StartChange(
            driver=driver,
            root=str(self._root),
            intent=intent,
            query=query,
            flags=tuple(flags),
            gate_level=gate_level,
            recovery=recovery,
            key=secrets.token_hex(8),
        )
        told = await supplied(self._calls, call, self._confirm, self._compared)
        if "session_id" in told and "error" not in told and "recovery_available" not in told:
            self._remember(driver, told)
        return told

    def follow_on(self) -> None:
        """Let a new connection go on with the session of one that is away, if that is the only one left.

        Some clients connect anew for each call, such as the inspector at the command line. The session stays that of
        its driver: the connection that is away, should it come back, has none.
        """
        here = current_connection()
        if not here or self._owner is None or self._driver() in self._sessions:
            return
        left = [
            driver
            for driver, session in self._sessions.items()
            if not session.is_over and driver in self._followed_by and self._is_away(self._followed_by[driver])
        ]
        if len(left) == 1:
            self._followed_by[left[0]] = here

    def forget(self) -> None:
        """Forget the current client's session, which another client has taken over."""
        driver = self._driver()
        self._sessions.pop(driver, None)
        self._followed_by.pop(driver, None)

    def _forget_all(self) -> None:
        """Forget the sessions of a store that is lost, and the name whose lock was beside it."""
        self._sessions.clear()
        self._followed_by.clear()
        if self._owner is not None:
            self._owner.close()
            self._owner = None

    async def left_over(self) -> calls.Answer:
        """Return what is known of a session that the current client does not drive."""
        return await self._calls.call(calls.FindChange(driver=self._driver(), root=str(self._root)))

    async def clean_up(self) -> calls.Answer:
        """Delete the branches of earlier sessions that the person at the client agrees to delete."""
        call = calls.CleanBranches(driver=self._driver(), root=str(self._root))
        return await supplied(self._calls, call, self._confirm, self._compared)

    def beginning(self) -> list[str]:
        """Give the current client's session the allowed rules of the repository; return what is not in force."""
        rules, notes = project_rules(self._root, Consent(self._settings.state_dir))
        self.session().rules = rules
        return notes

    async def close(self) -> None:
        """Let go of the sessions; the store has them."""
        await self._calls.close()
        if self._owner is not None:
            self._owner.close()

    def _driver(self) -> str:
        here = current_connection()
        for driver, connection in self._followed_by.items():
            if connection == here:
                return driver
        own = driver_of(self._opened_owner().name, here)
        # Another connection goes on with what this one began.
        return driver_of(self._opened_owner().name, f"{here} again") if own in self._followed_by else own

    def _opened_owner(self) -> Owner:
        if self._owner is None:
            open_state_dir(self._settings.state_dir)
            self._owner = Owner(self._settings.state_dir / OWNERS)
        return self._owner

    def _remember(self, driver: str, told: calls.Answer) -> None:
        self._sessions.pop(driver, None)
        while len(self._sessions) >= MAX_SESSIONS:
            # Connections end without a word: of those the oldest go.
            oldest = next(iter(self._sessions))
            del self._sessions[oldest]
            self._followed_by.pop(oldest, None)
        session = DoorSession(self._calls, driver, self._root, told, self._confirm, self._compared)
        self._sessions[driver] = session
        if here := current_connection():
            self._followed_by[driver] = here

    async def _compared(self, query: str, names: Sequence[str]) -> Mapping[str, float]:
        return await self.compare(query, names)
