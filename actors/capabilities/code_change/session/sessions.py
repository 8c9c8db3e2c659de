"""Starts and resumes sessions of changes: at most one live one for each repository."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from actors.capabilities.code_change.session.live_session import Answer, LiveSession
from actors.capabilities.code_change.session.lost_work_trees import gone_work_tree
from actors.capabilities.code_change.session.owners import server_of
from actors.capabilities.code_change.session.pinned_contracts import pinned
from actors.capabilities.code_change.session.ports import Ports
from actors.capabilities.code_change.session.start_files import MAX_PINNED, uncommitted_at_start
from actors.capabilities.code_change.session.steering import steering_of
from actors.capabilities.code_change.session.workplaces import (
    first_place,
    laid_aside,
    own_edits,
    watched_place,
)
from actors.capabilities.code_change.store.session_store import SessionRow
from runtime.codebase.git.commits import task_branches
from runtime.codebase.git.linked_trees import BRANCH_PREFIX
from runtime.codebase.git.writable import writable
from runtime.contracts.answers import standing
from runtime.contracts.contract import Contract
from runtime.contracts.decisions import started
from runtime.contracts.due_checks import checks_left_out
from runtime.contracts.payloads import is_text, visible
from runtime.contracts.phase_order import columns, has_trait, long_flags, problems_of_start, without_gate
from runtime.contracts.session_state import SESSION_PREFIX, SessionState
from runtime.errors import GitWriteError, RepositoryError
from runtime.primitives.ids import new_run_id
from runtime.primitives.own_threads import in_own_thread

# So many left branches are told at once, since a person has to see all of them; others wait for the next session.
MAX_STALE = 50
Recovery = Literal["", "resume", "discard"]

# Key of an answer whose door has to make the index of the repository anew.
REBUILDS = "rebuilds_index"
LIVE_MS = 30 * 60_000
MAX_QUERY_CHARS = 20_000
NOTHING_LEFT = "no session was left in this repository; leave `recovery` and the flag resume out to begin one"
NOT_AGREED = "clean: a person has to agree, and did not; they can run `jeeves clean --repo {root}`"
NOBODY_AGREED = "You drive it, and nobody at this client agreed to drop it. "
YOURS = (
    "You drive it: go on with it (get_session_status says where it stands); if the person wants it dropped, call with "
    "`recovery`: discard, and they are asked. "
)
ON_TASK_BRANCH = (
    "{root} is on {branch}, which an earlier session made and nothing resumes; switch to the branch that the change "
    "shall go to (git switch …), then start again"
)
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
            flags, gate = without_gate(self._contract, flags)
            gate_level = gate or gate_level
            named = long_flags(self._contract, flags)
            found = await in_own_thread(self._ports.store.open_sessions, str(self._root))
            cleans = has_trait(self._contract, named, "clean")
            if key and found and (found[0].owner, found[0].state.last_key) == (self._ports.owner, key):
                return await self._resumed(found[0])
            if recovery == "resume" or has_trait(self._contract, named, "resume"):
                return await self._resumed(found[0]) if found else _refused(NOTHING_LEFT)
            if found and not await self._may_go(found[0], is_wished=cleans or recovery == "discard"):
                return self._left_over(found[0], is_wished=cleans or recovery == "discard")
            if problems := self._problems(intent, query, named, gate_level):
                return _refused(*problems)
            try:
                cleaned = await self._cleaned(found) if cleans else []
            except RepositoryError as error:
                return _refused(error.message)
            if cleaned is None:
                return _refused(NOT_AGREED.format(root=self._root))
            for row in found:
                await self._discarded(row)
            told = await self._begun(intent, query, named, gate_level, key)
            return {**told, "notes": [*cleaned, *told.get("notes", ())]} if cleaned else told

    async def _may_go(self, row: SessionRow, *, is_wished: bool) -> bool:
        """Return whether a session may be dropped: one that was left, or this client's own if the person agrees."""
        if not is_wished or not self._is_live(row):
            return is_wished
        if row.owner != self._ports.owner:
            return False
        phase = self._contract.phase_name(row.state.phase)
        question = f"Drop session {row.state.session_id}, which is in {phase}? Its branch and your files stay."
        return bool(await self._ports.confirm(question))

    def _problems(self, intent: str, query: str, flags: Sequence[str], gate_level: str) -> list[str]:
        problems = problems_of_start(self._contract, intent, flags, gate_level)
        if not query.strip() or len(query) > MAX_QUERY_CHARS:
            problems.append(f"query: {len(query)} characters, 1 to {MAX_QUERY_CHARS} expected")
        elif not visible(query):
            problems.append("query: it shows nothing, it holds invisible characters alone; send the request in words")
        elif not is_text(query):
            problems.append("query: it holds halves of characters (lone surrogates); send valid Unicode")
        return problems

    async def _cleaned(self, found: Sequence[SessionRow]) -> list[str] | None:
        """Delete what a person agrees to of the branches and checkpoints that earlier sessions left.

        Return how each branch comes back; None where nobody agreed. Raises RepositoryError.
        """
        left = [row.state.session_id for row in found]
        ours = {f"{BRANCH_PREFIX}{session_id}" for session_id in left}
        stale = await in_own_thread(self._ports.stale_in, str(self._root))
        branches = [name for name in await in_own_thread(task_branches, self._root) if name in stale or name in ours]
        if not branches and not left:
            return []
        listed = [f"branches {', '.join(branches)}"] if branches else []
        listed += [f"checkpoints of {', '.join(left)}"] if left else []
        if not await self._ports.confirm(f"Delete what earlier sessions left: {'; '.join(listed)}?"):
            return None
        for row in found:
            await self._discarded(row)
        done = await in_own_thread(laid_aside, self._root, branches, self._ports)
        notes = [f"branch {row['branch']} was deleted; `{row['restore']}` brings it back" for row in done["deleted"]]
        return notes + [f"branch {row['branch']} stays: {row['reason']}" for row in done.get("kept", ())]

    async def left_over(self) -> Answer:
        """Return what is known of a session that this process does not drive, or that there is none."""
        found = await in_own_thread(self._ports.store.open_sessions, str(self._root))
        if found:
            return self._left_over(found[0])
        told: Answer = {"phase": "NONE", "instruction": "No session is under way; start_session begins one."}
        last = await in_own_thread(self._ports.store.last_session, str(self._root))
        if last is None:
            return told
        kept = standing(self._contract, last.state)
        return {**told, "last_session": {key: kept[key] for key in ("session_id", "outcome", "merged") if key in kept}}

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
            state = state.with_(steering=await in_own_thread(steering_of, self._root))
            state, further = await in_own_thread(self._pinned, state)
        except RepositoryError as error:
            return _refused(error.message)
        state = started(self._contract, state).state
        pinned_text = self._contract.model_dump_json()
        await in_own_thread(self._ports.store.create, state, self._ports.owner, pinned_text, further)
        self._live = LiveSession(self._contract, state, self._ports)
        if (said := checks_left_out(self._contract, state)) is not None:
            notes = [*notes, said]
        hints = await self._live.hints()
        told = standing(self._contract, state)
        if has_trait(self._contract, flags, "rebuild"):
            told[REBUILDS] = True
        return {**told, **({"hints": hints} if hints else {}), **({"notes": notes} if notes else {})}

    def _pinned(self, state: SessionState) -> tuple[SessionState, dict[str, str]]:
        """Return the state with what is not committed, where an impact analysis will have to account for it.

        And what of that is too much to be carried along.
        """
        passes = columns(self._contract, state.intent, state.flags)
        looks = any(passes[key] for key, rule in self._contract.phases.items() if rule.duty == "impact")
        base = state.place.base_commit if state.place is not None else ""
        found = list((uncommitted_at_start(self._root, base) if looks else {}).items())
        return state.with_(uncommitted=dict(found[:MAX_PINNED])), dict(found[MAX_PINNED:])

    def _placed(self, state: SessionState) -> tuple[SessionState, list[str]]:
        """Return the state with its place, and what to know of it; what is to be changed must be writable."""
        passes = columns(self._contract, state.intent, state.flags)
        changes = any(passes[key] for key in self._contract.phases if self._contract.phases[key].duty == "plan")
        if not changes:
            try:
                return state.with_(place=watched_place(self._root)), []
            except RepositoryError:
                # What is only looked at need not be in git.
                return state, []
        place = writable(self._root)
        placed = state.with_(place=first_place(self._root))
        if placed.place is None or not placed.place.base_commit:
            raise GitWriteError(f"branch {place.branch} of {self._root} has no commit yet; make a first one")
        stays = has_trait(self._contract, placed.flags, "no_branch")
        if not stays and place.branch.startswith(BRANCH_PREFIX):
            raise GitWriteError(ON_TASK_BRANCH.format(root=self._root, branch=place.branch))
        if stays:
            placed = placed.with_(own_edits=own_edits(self._root, placed.place.base_commit))
        hooks = ", ".join(place.hooks)
        notes = [HOOKS.format(hooks=hooks)] if hooks else []
        return placed.with_(stale_branches=self._ports.stale_of(placed)[:MAX_STALE]), notes

    def _left_over(self, row: SessionRow, *, is_wished: bool = False) -> Answer:
        state = row.state
        told: dict[str, Any] = {
            "session_id": state.session_id,
            "phase": self._contract.phase_name(state.phase),
            "query": state.query,
        }
        if self._is_live(row):
            problem = (
                f"session {state.session_id} is live in {told['phase']}; one repository has one session at a time. "
            )
            if row.owner == self._ports.owner:
                problem += NOBODY_AGREED if is_wished else YOURS
            elif self._is_of_our_server(row):
                problem += (
                    "Another client of this server drives it; `recovery`: resume takes it over from that client. "
                )
            problem += f"A person ends it with `jeeves runs cancel {state.session_id}`"
            return {**told, "error": {"code": "session_live", "problems": [problem]}}
        instruction = (
            "A session was left unfinished. Ask the person whether to go on with it or to drop it, then call "
            "start_session again with `recovery`: resume or discard. Discarding keeps its branch for 30 days."
        )
        lost = gone_work_tree(state, self._ports.work_trees)
        return {
            **({"notes": [lost]} if lost is not None else {}),
            **told,
            "recovery_available": True,
            "instruction": instruction,
        }

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
            return await self._restored(live)
        contract = await in_own_thread(pinned, self._ports.store, row.state, self._contract)
        if contract is None:
            return _refused(
                f"session {row.state.session_id} was begun under another contract; bring that one back, or discard it"
            )
        taken = await in_own_thread(self._ports.store.take_over, row.state.session_id, self._ports.owner)
        assert taken is not None
        live = LiveSession(contract, taken.state, self._ports)
        told = await self._restored(live)
        if "error" not in told:
            self._live = live
        return told

    async def _restored(self, live: LiveSession) -> Answer:
        """Return where a session stands that is resumed; what it lost comes first, and it tells it from then on."""
        try:
            found = await live.restore()
        except RepositoryError as error:
            return _refused(error.message)
        told = {**await live.status(), "resumed": True}
        return {"notes": [*found, *told.pop("notes", ())], **told} if found else told

    async def _discarded(self, row: SessionRow) -> None:
        """End a session that was left; its branch stays and counts as stale from now on."""
        await in_own_thread(self._ports.store.end, row.state.session_id, "discarded", "discarded", {})


def _refused(*problems: str) -> Answer:
    return {"error": {"code": "start_refused", "problems": list(problems)}}
