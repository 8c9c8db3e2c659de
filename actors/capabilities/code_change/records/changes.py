"""Reads and amends sessions of changes for a person at the terminal: list, answer, outcome."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from actors.capabilities.code_change.evidence.write_guard import is_ours
from actors.capabilities.code_change.records.agreements import (
    Counted,
    export_records,
    import_records,
    record_agreement,
    withdraw_agreement,
)
from actors.capabilities.code_change.session.owners import is_driven
from actors.capabilities.code_change.session.pinned_contracts import pinned
from actors.capabilities.code_change.session.service import OWNERS, WORK_TREES
from actors.capabilities.code_change.store.session_store import OutcomeRow, SessionRow, SessionStore
from runtime.codebase.files.consent import Consent
from runtime.codebase.git.commits import LaidAside, lay_aside, task_branches
from runtime.codebase.git.linked_trees import BRANCH_PREFIX, FIX_PREFIX
from runtime.codebase.git.side_branches import idle_trees
from runtime.codebase.git.tree_places import FIX_TREES
from runtime.codebase.git.writable import writable
from runtime.contracts.answers import answer_of, status_of
from runtime.contracts.contract import Contract
from runtime.contracts.decisions import answered
from runtime.contracts.session_state import SessionState
from runtime.errors import InputError, RepositoryError, RunStateError, UnknownNameError
from runtime.primitives.clock import SystemClock

# A fix has an hour (configs/pipelines/violation_fix.yaml); a work tree that was not touched for longer has no owner.
FIX_IDLE_S = 4_000.0
VERDICTS = ("success", "failure", "partial")
MAX_REASON_CHARS = 4_000


class Leftovers(NamedTuple):
    """Lists branches of earlier sessions, sessions that no server drives, and branches of fixes that were cut off.

    `young_fixes`: branches of fixes that were touched too recently to be told from those of a fix under way.
    """

    branches: tuple[str, ...]
    sessions: tuple[str, ...]
    fixes: tuple[str, ...] = ()
    young_fixes: tuple[str, ...] = ()


class Cleaned(NamedTuple):
    """Lists the branches that were deleted, and those that stay: branch → why."""

    deleted: tuple[LaidAside, ...]
    kept: dict[str, str]


class ChangeRecords:
    """Reads and amends the records of changes in an open store; `shipped`: the contract of sessions that pin none."""

    def __init__(self, store: SessionStore, state_dir: Path, shipped: Contract) -> None:
        self._store = store
        self._state_dir = state_dir
        self._shipped = shipped
        self._consent = Consent(state_dir)

    def newest(self, limit: int) -> list[SessionRow]:
        """Return the sessions of changes, the one called last first."""
        return self._store.all_sessions(limit)

    def document(self, session_id: str) -> dict[str, Any]:
        """Return where a session stands, with every decision. Raises UnknownNameError."""
        row = self._known(session_id)
        decisions = [
            {"seq": each.seq, "at_ms": each.at_ms, "kind": each.kind, **each.data}
            for each in self._store.decisions(session_id)
        ]
        return {**status_of(self._contract_of(row.state), row.state), "decisions": decisions}

    def answer(self, session_id: str, text: str, *, goes_on: bool) -> dict[str, Any]:
        """Take a person's answer to a session that waits for one. Raises InputError or RunStateError."""
        if goes_on and not text.strip():
            raise InputError("say with --text how it should go on, or end the session with --reject")
        row = self._known(session_id)
        contract = self._contract_of(row.state)
        decision = answered(contract, row.state, text, goes_on=goes_on, at_ms=SystemClock().now_ms())
        if decision.code:
            raise RunStateError(f"session {session_id} waits for no answer; it is in {row.state.phase}")
        self._store.amend(decision.state, "answered", {"text": text, "goes_on": goes_on})
        return answer_of(contract, decision)

    def cancel(self, session_id: str, reason: str) -> dict[str, Any]:
        """End a session, live or not; its branch and files stay. Raises UnknownNameError and RunStateError."""
        state = self._known(session_id).state
        if state.is_over:
            raise RunStateError(f"session {session_id} is over already; it ended as {state.outcome}")
        self._store.end(session_id, "cancelled", "cancelled", {"reason": reason[:MAX_REASON_CHARS]})
        branch = state.place.branch if state.place is not None else ""
        return {"session_id": session_id, "outcome": "cancelled", "branch": branch or None}

    def record_outcome(self, session_id: str, verdict: str, reason: str, phase: str = "") -> tuple[OutcomeRow, str]:
        """Record what became of a change, and return it with what came of its agreement, as a sentence.

        `phase`: where it went wrong; left out, it is the one that the session is in. A success adds an agreement to the
        Map; any other verdict takes back what an earlier success has added.
        Raises UnknownNameError and InputError.
        """
        if verdict not in VERDICTS:
            raise InputError(f"the outcome is one of {', '.join(VERDICTS)}, not '{verdict[:40]}'")
        if len(reason) > MAX_REASON_CHARS:
            raise InputError(f"the reason has {len(reason)} characters, at most {MAX_REASON_CHARS} are kept")
        state = self._known(session_id).state
        if phase:
            contract = self._contract_of(state)
            names = list(dict.fromkeys(contract.phase_name(key) for key in contract.order))
            if phase not in names:
                raise InputError(f"no phase is named '{phase[:40]}'; there are {', '.join(names)}")
        symbols = state.frame.symbols if state.frame is not None else ()
        row = OutcomeRow(
            session_id,
            state.repository,
            verdict,
            reason,
            SystemClock().now_ms(),
            state.query,
            phase or state.phase,
            state.explored,
            symbols,
        )
        earlier = self._store.outcome_of(session_id)
        self._store.record_outcome(row)
        if verdict == "success":
            return row, record_agreement(state, self._consent)
        return row, withdraw_agreement(state) if earlier is not None and earlier.verdict == "success" else ""

    def export_to(self, root: Path, target: Path) -> Counted:
        """Write a repository's agreements and outcomes to a new file. Raises InputError."""
        return export_records(root, self._store, self._consent, target)

    def import_from(self, root: Path, source: Path) -> Counted:
        """Add the agreements and outcomes of an exported file to a repository's. Raises InputError."""
        return import_records(root, self._store, self._consent, source)

    def leftovers(self, root: Path) -> Leftovers:
        """Return what earlier sessions left in a repository: their branches, and checkpoints that no server drives."""
        rows = self._store.open_sessions(str(root))
        driven = {row.state.session_id for row in rows if is_driven(self._state_dir / OWNERS, row.owner)}
        sessions = tuple(row.state.session_id for row in rows if row.state.session_id not in driven)
        kept = {f"{BRANCH_PREFIX}{session_id}" for session_id in self._store.open_ids().difference(sessions)}
        branches = tuple(branch for branch in task_branches(root) if branch not in kept)
        before_s = SystemClock().now_ms() / 1000 - FIX_IDLE_S
        idle = tuple(idle_trees(root, FIX_PREFIX, before_s))
        young = tuple(branch for branch in sorted(task_branches(root, FIX_PREFIX)) if branch not in idle)
        return Leftovers(branches, sessions, idle, young)

    def clean(self, root: Path, agreed: Leftovers) -> Cleaned:
        """End sessions that were left and lay their branches aside for 30 days. Raises GitWriteError.

        `agreed`: what a person was shown. What a client has resumed since is no leftover any more, and stays.
        """
        who = writable(root).identity
        now = self.leftovers(root)
        pairs = zip(agreed, now, strict=True)
        found = Leftovers(*(tuple(name for name in shown if name in left) for shown, left in pairs))
        now_s = SystemClock().now_ms() / 1000
        for session_id in found.sessions:
            self._store.end(session_id, "cleaned", "discarded", {})
        below = {WORK_TREES: found.branches, FIX_TREES: found.fixes}
        deleted: list[LaidAside] = []
        kept: dict[str, str] = {}
        for folder, branch in [(folder, branch) for folder, branches in below.items() for branch in branches]:
            try:
                deleted.append(lay_aside(root, branch, who, self._state_dir / folder, is_ours, now_s))
            except RepositoryError as error:
                kept[branch] = error.message
        return Cleaned(tuple(deleted), kept)

    def _known(self, session_id: str) -> SessionRow:
        row = self._store.get(session_id)
        if row is None:
            raise UnknownNameError(f"no session of a change has the id {session_id}; `jeeves runs list` shows them")
        return row

    def _contract_of(self, state: SessionState) -> Contract:
        """Return the contract that a session began with; the shipped one for sessions older than the store's."""
        return pinned(self._store, state, self._shipped) or self._shipped
