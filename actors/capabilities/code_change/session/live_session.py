"""Holds one session: judges submissions one at a time, keeps each decision, logs the use of tools."""

from __future__ import annotations

import asyncio
import functools
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from actors.capabilities.code_change.evidence.write_guard import unpermitted, write_refusal
from actors.capabilities.code_change.evidence.written_places import with_plain_places
from actors.capabilities.code_change.session.change_base import (
    refuse_foreign_tree,
    session_base,
    session_changes,
    stood_before,
)
from actors.capabilities.code_change.session.change_notes import (
    caches_note,
    filter_refusal,
    hollow_note,
    ignored_refusal,
    lost_tests_note,
    main_tree_note,
    submodules_note,
)
from actors.capabilities.code_change.session.hints import hints_of
from actors.capabilities.code_change.session.lost_branches import lost_branch
from actors.capabilities.code_change.session.lost_work_trees import lost_edits, with_work_tree
from actors.capabilities.code_change.session.missing_repository import missing_repository
from actors.capabilities.code_change.session.ports import Ports
from actors.capabilities.code_change.session.reviewed_tree import tree_told
from actors.capabilities.code_change.session.start_files import MAX_PINNED, taken_from_sight
from actors.capabilities.code_change.session.steering import LOOKS, PUT_BACK, STEERED, looks, steered, with_warning
from actors.capabilities.code_change.session.workplaces import observed, performed
from runtime.codebase.git.work_trees import printable
from runtime.contracts.answers import answer_of, standing, status_of
from runtime.contracts.contract import END, Contract
from runtime.contracts.decisions import Decision, answered, demands_of, submitted
from runtime.contracts.obeyed_files import obeyed
from runtime.contracts.phase_order import skipped
from runtime.contracts.session_state import SessionState, ToolUse
from runtime.contracts.shared_evidence import doubts_of, skips_of, unclaimed
from runtime.errors import GitWriteError, RepositoryError
from runtime.primitives.own_threads import in_own_thread

Answer = dict[str, Any]
Shown = Mapping[str, Sequence[tuple[int, int]]]

ASKED_OF_PERSON = frozenset({"delete", "merge"})
MAX_TARGETS = 20
MAX_TOLD_FILES = 200
# Submissions in a row that were refused, from which on the agent is told to ask the person.
STUCK_AFTER = 5
STUCK = (
    "{count} submissions in a row were refused here. Do not guess on: tell the person what stands in the way; "
    "`jeeves runs show {session}` shows it, and `jeeves runs cancel {session}` ends the session"
)


class LiveSession:
    """Drives a session that this process owns; calls wait for one another."""

    def __init__(self, contract: Contract, state: SessionState, ports: Ports) -> None:
        self._contract = contract
        self._state = state
        self._ports = ports
        self._lock = asyncio.Lock()
        self._refused = 0

    @property
    def state(self) -> SessionState:
        """The session as it was last kept."""
        return self._state

    @property
    def driver(self) -> str:
        """The client on whose behalf the session is driven."""
        return self._ports.owner

    @property
    def folder(self) -> Path:
        """The folder that the session's tools read."""
        return Path(self._state.place.folder if self._state.place is not None else self._state.repository)

    async def submit(self, payload: object, compaction_count: object = None, key: str = "") -> Answer:
        """Judge a submission, carry out what it leads to, and keep it before it is answered.

        One under the `key` of the last that was kept is answered with where the session stands. Raises FencedError when
        another client has taken the session over.
        """
        async with self._lock:
            if key and key == self._state.last_key:
                return standing(self._contract, self._state)
            count = self._state.compaction_count if compaction_count is None else compaction_count
            try:
                return await self._submitted(payload, count, key)
            except RepositoryError as error:
                told = standing(self._contract, self._state)
                why = await in_own_thread(missing_repository, self._state)
                return {**told, "error": {"code": "git_refused", "problems": [why or error.message]}}

    async def restore(self) -> Sequence[str]:
        """Make the session's branch and work tree anew where they are gone; return what was. Raises GitWriteError."""
        async with self._lock:
            known = self._state.warnings
            state = await in_own_thread(with_work_tree, self._state, self._ports.work_trees)
            if state != self._state:
                await self._keep(state)
            return [warning for warning in state.warnings if warning not in known]

    async def _reread(self) -> None:
        """Take over what a person decided meanwhile by another process: an answer, or that the session ends."""
        if self._state.is_over:
            return
        row = await in_own_thread(self._ports.store.get, self._state.session_id)
        if row is None:
            return
        is_answered = self._state.waits_for_person and row.owner == self._ports.owner
        if is_answered or row.state.is_over:
            self._state = row.state

    async def _submitted(self, payload: object, count: object, key: str) -> Answer:
        await self._reread()
        before = self._state
        if (lost := await in_own_thread(lost_branch, before)) is not None:
            raise GitWriteError(lost)
        await in_own_thread(refuse_foreign_tree, before)
        payload = await in_own_thread(with_plain_places, payload, self.folder)
        demands = demands_of(self._contract, before, payload)
        given = payload if isinstance(payload, Mapping) else {}
        seen = await observed(self._contract, before, given, demands, self._ports)
        decision = submitted(self._contract, before, payload, count, seen, self._ports.clock.now_ms())
        if decision.effects and (refusal := await self._unconfirmed(decision)) is not None:
            return refusal
        state = decision.state
        if decision.effects:
            # git must not be touched for a session that somebody else drives by now.
            await in_own_thread(self._ports.store.check_owner, before.session_id, self._ports.owner)
        for effect in decision.effects:
            state = await in_own_thread(performed, effect, state, self._ports)
        if state != before:
            record = {
                "phase": before.phase,
                "code": decision.code,
                "problems": list(decision.problems),
                "to": state.phase,
            }
            await self._keep(_closed(state.with_(last_key=key)), "submitted", record)
        notes = decision.notes
        if before.phase in self._contract.phases and self._contract.phases[before.phase].duty == "commit":
            moved = await in_own_thread(submodules_note, before)
            notes = (*notes, moved) if moved is not None else notes
        if (note := await in_own_thread(main_tree_note, self._state)) is not None:
            notes = (*notes, note)
        notes = (*notes, *await self._steering_notes(before))
        self._refused = self._refused + 1 if decision.code == "payload_mismatch" else 0
        if self._refused and self._refused % STUCK_AFTER == 0:
            notes = (*notes, STUCK.format(count=self._refused, session=before.session_id))
            stuck: Answer = {"phase": before.phase, "count": self._refused, "problems": list(decision.problems)}
            await self._keep(self._state, "stuck", stuck)
        kept = Decision(self._state, decision.code, decision.problems, notes, (), decision.is_recalled)
        return answer_of(self._contract, kept)

    async def _steering_notes(self, before: SessionState) -> list[str]:
        """Return that files were changed that steer the tools; the session tells it from then on."""
        files = () if self._state.is_over else await in_own_thread(steered, before)
        told = with_warning(self._state, files)
        if told == self._state:
            return []
        await self._keep(told)
        return [f"{STEERED.format(files=', '.join(files))}; tell the person"]

    async def _unconfirmed(self, decision: Decision) -> Answer | None:
        """Ask a person before branches are deleted or merged; return the refusal where none agreed."""
        choice = next((effect.choice for effect in decision.effects if effect.kind == "branches"), "")
        if choice not in ASKED_OF_PERSON:
            return None
        branches = ", ".join(self._state.stale_branches)
        if await self._ports.confirm(f"{choice.capitalize()} the branches of earlier sessions: {branches}?"):
            return None
        told = standing(self._contract, self._state)
        problem = (
            f"choice: a person has to agree to {choice}, and did not; submit `continue`, or let a person run "
            f"`jeeves clean --repo {self._state.repository}`"
        )
        return {**told, "error": {"code": "not_confirmed", "problems": [problem]}}

    async def answer(self, text: str, *, goes_on: bool) -> Answer:
        """Take a person's answer to an escalation."""
        async with self._lock:
            now_ms = self._ports.clock.now_ms()
            decision = answered(self._contract, self._state, text, goes_on=goes_on, at_ms=now_ms)
            if not decision.code:
                await self._keep(_closed(decision.state), "answered", {"text": text, "goes_on": goes_on})
            return answer_of(self._contract, decision)

    async def status(self) -> Answer:
        """Return where the session stands with all that an agent may have forgotten."""
        async with self._lock:
            await self._reread()
            told = status_of(self._contract, self._state)
            if hints := await self.hints():
                told["hints"] = hints
            note = await in_own_thread(main_tree_note, self._state)
            return {**told, "notes": [note]} if note is not None else told

    async def hints(self) -> list[str]:
        """Return what became of earlier changes of the repository for a like request."""
        outcomes = await in_own_thread(self._ports.store.outcomes, self._state.repository)
        return hints_of(self._state.query, outcomes)

    def refusal_of(self, tool: str) -> Answer | None:
        """Return what answers a tool that is out of its phase; None where it may be called."""
        if self._state.is_over or self._contract.is_permitted(tool, self._state.phase):
            return None
        told = standing(self._contract, self._state)
        allowed = ", ".join(self._contract.tools_in(self._state.phase))
        problem = f"{tool} may not be called in {told['phase']}; permitted now: {allowed}"
        return {**told, "error": {"code": "out_of_phase", "problems": [problem]}}

    async def steering_refusal(self, tool: str) -> Answer | None:
        """Return what answers a tool that looks at the index after a file that steers it was changed; else None."""
        if self._state.is_over or not looks(self._contract, tool):
            return None
        async with self._lock:
            files = await in_own_thread(steered, self._state)
            if not files:
                return None
            await self._keep(with_warning(self._state, files))
        problem = STEERED.format(files=", ".join(files)) + PUT_BACK.format(session=self._state.session_id)
        return {**standing(self._contract, self._state), "error": {"code": "steered", "problems": [problem]}}

    async def record(
        self,
        tool: str,
        targets: Sequence[str] = (),
        shown: Shown | None = None,
        must_verify: Sequence[str] = (),
        *,
        refused: bool = False,
        **fields: Any,
    ) -> Mapping[str, str]:
        """Enter a call of a tool in the session's log, with the files it was about and the lines that it showed.

        `must_verify`: files to be added to those that an impact analysis has to account for; `refused`: the call was
        about what is not permitted, or not there. Return the files that it has to account for besides, each with why.
        """
        async with self._lock:
            # What was changed since the call was permitted steered its answer: that proves no look at anything.
            is_vain, has_looked = refused, looks(self._contract, tool)
            if has_looked and len(await in_own_thread(steered, self._state)) > 0:
                refused, must_verify = True, ()
            besides = {} if is_vain else await self._taken_from_sight(tool, targets)
            if must_verify or besides:
                fields["must_verify"] = tuple(dict.fromkeys((*self._state.must_verify, *must_verify, *besides)))
            rule = self._contract.tools.get(tool)
            named = tuple(printable(target) for target in targets[:MAX_TARGETS])
            use = ToolUse(tool, self._state.visit, rule.kind if rule is not None else "", named, refused)
            ranges = {printable(file): tuple(tuple(pair) for pair in pairs) for file, pairs in (shown or {}).items()}
            await self._keep(self._state.with_use(use, ranges).with_(**fields))  # type: ignore[arg-type]
            return besides

    async def _taken_from_sight(self, tool: str, targets: Sequence[str]) -> Mapping[str, str]:
        phase = self._contract.phases.get(self._state.phase)
        if phase is None or phase.duty != "impact" or tool not in LOOKS:
            return {}
        try:
            further: Mapping[str, str] = {}
            if len(self._state.uncommitted) >= MAX_PINNED:
                further = await in_own_thread(self._ports.store.start_files, self._state.session_id)
            return await in_own_thread(taken_from_sight, self._state, targets, further)
        except RepositoryError:
            # What is only looked at need not be in order.
            return {}

    async def check_write_target(self, file: str) -> Answer:
        """Say whether a file may be written, and remember it."""
        why = await in_own_thread(self._write_refusal, file)
        if why is not None:
            await self.record("check_write_target", [file], refused=True)
            return {"file": printable(file), "permitted": False, "reason": why}
        permitted = tuple(dict.fromkeys((*self._state.permitted, file)))
        await self.record("check_write_target", [file], permitted=permitted)
        return {"file": file, "permitted": True, "workspace": str(self.folder)}

    def _write_refusal(self, file: str) -> str | None:
        is_unexplored = "EXPLORATION" in skipped(self._contract, self._state)
        stood = functools.partial(stood_before, self._state)
        try:
            why = missing_repository(self._state) or write_refusal(
                self._state,
                file,
                self.folder,
                stood,
                reads_count=is_unexplored,
                protected=self._contract.protected_paths,
            )
        except RepositoryError as error:
            return error.message
        return why or filter_refusal(self.folder, file) or ignored_refusal(self.folder, file)

    async def add_explored_files(self, files: Sequence[str]) -> Answer:
        """Add files that a tool of this session has shown to those that were explored."""
        unseen = [file for file in files if file not in self._state.shown]
        if unseen:
            listed = ", ".join(map(printable, unseen[:MAX_TARGETS]))
            return {"added": [], "error": f"no tool of this session showed {listed}; read them first"}
        explored = tuple(dict.fromkeys((*self._state.explored, *files)))
        await self.record("add_explored_files", files, explored=explored)
        return {"added": list(files), "explored_files": len(explored)}

    async def review_changes(self) -> Answer:
        """List what differs from the commit that the change began at, with what may not be in it."""
        place = self._state.place
        if place is None or not place.base_commit:
            return {"files": [], "note": "nothing can differ: there is no commit to compare with"}
        changed = await in_own_thread(session_changes, self._state, self.folder)
        base = await in_own_thread(session_base, place)
        forbidden = list(unpermitted(self._state, changed.changes, self.folder))
        tree = await in_own_thread(tree_told, self._state, forbidden)
        await self.record("review_changes", changed.files, told_tree=tree)
        told: Answer = {
            "base_commit": base,
            "files": [{"file": change.file, "how": change.how} for change in changed.changes[:MAX_TOLD_FILES]],
            "count": len(changed.changes),
            "difference": f"git -C {shlex.quote(str(self.folder))} diff {base[:12]}, and the new files",
        }
        if (moved := await in_own_thread(submodules_note, self._state)) is not None:
            told["note"] = moved
        if not changed.files and (gone := lost_edits(self._state)) is not None:
            told["lost"] = gone
        if caches := await in_own_thread(caches_note, self.folder):
            told["left_out"] = caches
        if lost := await in_own_thread(lost_tests_note, self._state, changed):
            told["tests"] = lost
        tasks = self._state.tasks
        left = [unclaimed(tasks, changed.files), skips_of(tasks)] if tasks else []
        left += [obeyed(changed.files), await in_own_thread(hollow_note, self._state, changed)]
        if doubts := [*filter(None, left), *doubts_of(tasks)]:
            told["doubtful_evidence"] = doubts
        return {**told, "unpermitted": forbidden[:MAX_TOLD_FILES]} if forbidden else told

    async def _keep(self, state: SessionState, kind: str = "", data: dict[str, Any] | None = None) -> None:
        await in_own_thread(self._ports.store.keep, state, self._ports.owner, kind, data)
        self._state = state


def _closed(state: SessionState) -> SessionState:
    """Return a session as it is kept: of one that is over its closing record."""
    return state.ended(state.outcome) if state.phase == END else state
