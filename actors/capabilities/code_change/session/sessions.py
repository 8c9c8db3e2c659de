"""Starts and resumes sessions of changes: at most one live one for each repository."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from actors.capabilities.code_change.session.hints import hints_of
from actors.capabilities.code_change.session.live_session import Answer, LiveSession
from actors.capabilities.code_change.session.owners import server_of
from actors.capabilities.code_change.session.pinned_contracts import pinned
from actors.capabilities.code_change.session.ports import Ports
from actors.capabilities.code_change.session.workplaces import first_place, own_edits, with_work_tree
from actors.capabilities.code_change.store.session_store import SessionRow
from runtime.codebase.git.writable import writable
from runtime.contracts.answers import standing
from runtime.contracts.contract import END, Contract
from runtime.contracts.decisions import started
from runtime.contracts.payloads import is_text
from runtime.contracts.phase_order import columns, has_trait, long_flags, problems_of_start
from runtime.contracts.session_state import SESSION_PREFIX, SessionState
from runtime.errors import GitWriteError, RepositoryError
from runtime.primitives.ids import new_run_id
from runtime.primitives.own_threads import in_own_thread

Recovery = Literal["", "resume", "discard"]

LIVE_MS = 30 * 60_000
MAX_QUERY_CHARS = 20_000
HOOKS = (
    "the hooks of this repository ({hooks}) are not run by this server's commit and merge; do yourself what they check "
    "and tell the person. The operator can have them run as `checks` of the contract"
)


class ChangeSessions:
    """Keeps the sessions that this process owns, for one repository at `root` under one contract."""

    def __init__(self, contract: Contract, root: Path, ports: Ports, live: LiveSession | None = None) -> None:
        """Create it; `live`: the session that this owner drives there already."""
        self._contract = contract
        self._root = root
        self._ports = ports
        self._live = live
        self._lock = asyncio.Lock()

    @property
    def live(self) -> LiveSession | None:
        """The session that this process drives; None without one, or when it is over."""
        return None if self._live is None or self._live.state.is_over else self._live

    async def start(
        self,
        intent: str,
        query: str,
        flags: Sequence[str] = (),
        gate_level: str = "auto",
        recovery: Recovery = "",
        key: str = "",
    ) -> Answer:
        """Begin a session, or go on with one that was left; the answer says which, or why neither can be.

        A call under the `key` of the one that began the session is answered with where it stands.
        """
        async with self._lock:
            named = long_flags(self._contract, flags)
            problems = problems_of_start(self._contract, intent, named, gate_level)
            if not query.strip() or len(query) > MAX_QUERY_CHARS:
                problems.append(f"query: {len(query)} characters, 1 to {MAX_QUERY_CHARS} expected")
            elif not is_text(query):
                problems.append("query: it holds halves of characters (lone surrogates); send valid Unicode")
            found = await in_own_thread(self._ports.store.open_sessions, str(self._root))
            wants_resume = recovery == "resume" or "resume" in named
            if key and found and (found[0].owner, found[0].state.last_key) == (self._ports.owner, key):
                return await self._resumed(found[0])
            if found and not wants_resume and (recovery != "discard" or self._is_live(found[0])):
                return self._left_over(found[0])
            if found and wants_resume:
                return await self._resumed(found[0])
            if problems:
                return _refused(*problems)
            for row in found:
                await self._discarded(row)
            return await self._begun(intent, query, named, gate_level, key)

    async def left_over(self) -> Answer:
        """Return what is known of a session that this process does not drive, or that there is none."""
        found = await in_own_thread(self._ports.store.open_sessions, str(self._root))
        if found:
            return self._left_over(found[0])
        return {"phase": "NONE", "instruction": "No session is under way; start_session begins one."}

    async def _begun(self, intent: str, query: str, flags: tuple[str, ...], gate_level: str, key: str) -> Answer:
        session_id = SESSION_PREFIX + new_run_id(self._ports.clock.now_ms()).removeprefix("r-")
        now_ms = self._ports.clock.now_ms()
        state = SessionState(
            session_id,
            str(self._root),
            intent,
            query,
            self._contract.digest,
            flags=flags,
            gate_level=gate_level,
            started_at_ms=now_ms,
            changed_at_ms=now_ms,
            last_key=key,
        )
        try:
            state, notes = await in_own_thread(self._placed, state)
        except RepositoryError as error:
            return _refused(error.message)
        state = started(self._contract, state).state
        pinned_text = self._contract.model_dump_json()
        await in_own_thread(self._ports.store.create, state, self._ports.owner, pinned_text)
        self._live = LiveSession(self._contract, state, self._ports)
        outcomes = await in_own_thread(self._ports.store.outcomes, str(self._root))
        hints = hints_of(query, outcomes)
        told = standing(self._contract, state)
        return {**told, **({"hints": hints} if hints else {}), **({"notes": notes} if notes else {})}

    def _placed(self, state: SessionState) -> tuple[SessionState, list[str]]:
        """Return the state with its place, and what to know of it; what is to be changed must be writable."""
        passes = columns(self._contract, state.intent, state.flags)
        changes = any(passes[key] for key in self._contract.phases if self._contract.phases[key].duty == "plan")
        if not changes:
            try:
                return state.with_(place=first_place(self._root)), []
            except RepositoryError:
                # What is only looked at need not be in git.
                return state, []
        place = writable(self._root)
        placed = state.with_(place=first_place(self._root))
        if placed.place is None or not placed.place.base_commit:
            raise GitWriteError(f"branch {place.branch} of {self._root} has no commit yet; make a first one")
        if has_trait(self._contract, placed, "no_branch"):
            placed = placed.with_(own_edits=own_edits(self._root, placed.place.base_commit))
        hooks = ", ".join(place.hooks)
        notes = [HOOKS.format(hooks=hooks)] if hooks else []
        return placed.with_(stale_branches=self._ports.stale_of(placed)), notes

    def _left_over(self, row: SessionRow) -> Answer:
        state = row.state
        told: dict[str, Any] = {
            "session_id": state.session_id,
            "phase": self._contract.phase_name(state.phase),
            "query": state.query,
        }
        if self._is_live(row):
            problem = f"session {state.session_id} is live in {told['phase']}; one repository has one session at a time"
            if self._is_of_our_server(row):
                problem += (
                    ". Another client of this server drives it; `recovery`: resume takes it over from that client"
                )
            return {**told, "error": {"code": "session_live", "problems": [problem]}}
        instruction = (
            "A session was left unfinished. Ask the person whether to go on with it or to drop it, then call "
            "start_session again with `recovery`: resume or discard. Discarding keeps its branch for 30 days."
        )
        return {**told, "recovery_available": True, "instruction": instruction}

    def _is_live(self, row: SessionRow) -> bool:
        is_called = self._ports.clock.now_ms() - row.touched_ms < LIVE_MS
        return is_called and (row.owner == self._ports.owner or self._ports.is_alive(row.owner))

    def _is_of_our_server(self, row: SessionRow) -> bool:
        return server_of(row.owner) == server_of(self._ports.owner)

    async def _resumed(self, row: SessionRow) -> Answer:
        if self._is_live(row) and not self._is_of_our_server(row):
            return self._left_over(row)
        live = self.live
        if live is not None and row.owner == self._ports.owner and live.state.session_id == row.state.session_id:
            # A second driver of one session would not wait for the calls of the first.
            try:
                await live.restore()
            except RepositoryError as error:
                return _refused(error.message)
            return {**await live.status(), "resumed": True}
        contract = await in_own_thread(pinned, self._ports.store, row.state, self._contract)
        if contract is None:
            return _refused(
                f"session {row.state.session_id} was begun under another contract; bring that one back, or discard it"
            )
        taken = await in_own_thread(self._ports.store.take_over, row.state.session_id, self._ports.owner)
        assert taken is not None
        try:
            state = await in_own_thread(with_work_tree, taken.state)
        except RepositoryError as error:
            return _refused(error.message)
        self._live = LiveSession(contract, state, self._ports)
        return {**await self._live.status(), "resumed": True}

    async def _discarded(self, row: SessionRow) -> None:
        """End a session that was left; its branch stays and counts as stale from now on."""
        taken = await in_own_thread(self._ports.store.take_over, row.state.session_id, self._ports.owner)
        assert taken is not None
        ended = taken.state.with_(phase=END, outcome="discarded")
        await in_own_thread(self._ports.store.keep, ended, self._ports.owner, "discarded", {})


def _refused(*problems: str) -> Answer:
    return {"error": {"code": "start_refused", "problems": list(problems)}}
