"""Hosts the sessions of any number of repositories, of which those that idle are in the store alone.

A session is addressed by its id. It is loaded with the call that needs it, and leaves memory when it was idle for long,
or when others were called since and too many are there. Calls of one session wait for one another, those of different
sessions do not.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import msgspec

from actors.capabilities.code_change.session import calls
from actors.capabilities.code_change.session.consent import contract_of
from actors.capabilities.code_change.session.live_session import LiveSession
from actors.capabilities.code_change.session.pinned_contracts import pinned
from actors.capabilities.code_change.session.ports import Ports
from actors.capabilities.code_change.session.sessions import ChangeSessions
from actors.capabilities.code_change.session.workplaces import laid_aside
from runtime.bus.queries import QueryHandler, error_to_wire
from runtime.codebase.files.consent import Consent
from runtime.codebase.git.commits import task_branches
from runtime.contracts.contract import Contract
from runtime.errors import FencedError, InputError, JeevesError, RepositoryError, RunStateError, UnknownNameError
from runtime.primitives.background_tasks import spawn
from runtime.primitives.own_threads import in_own_thread

RAISED = "raised"
RESUMING = frozenset({"resume", "--resume", "-r"})

_RECOVERABLE = (
    "a session can go on with each recoverable branch, so it is not deleted here: start_session names the session and "
    "asks whether to resume or discard it"
)
log = logging.getLogger(__name__)

_NOTHING = calls.Supplied()
_SUPPLIED: ContextVar[calls.Supplied] = ContextVar("supplied", default=_NOTHING)


class MemoryLimits(msgspec.Struct, frozen=True):
    """Bounds the sessions in memory: their number, and after how many idle seconds one leaves it."""

    sessions: int = 32
    idle_s: float = 600.0


class AskedError(Exception):
    """Ends a call that has to be made again with what its door supplies."""

    def __init__(self, kind: str, asked: Any) -> None:
        super().__init__(kind)
        self.answer: calls.Answer = {calls.ASKS: {kind: asked}}


@dataclass(slots=True)
class _Seat:
    """Holds the place of a session: its users keep it in memory."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    session: LiveSession | None = None
    users: int = 0
    used_s: float = 0.0


class SessionHost:
    """Answers the calls of `calls.CALLS`, for any number of repositories and drivers."""

    def __init__(self, shipped: Contract, consent: Consent, ports: Ports, limits: MemoryLimits | None = None) -> None:
        """Create a host. `ports`: its owner, confirm and similarities are replaced by what each call brings."""
        self._shipped = shipped
        self._consent = consent
        self._ports = replace(ports, confirm=_said, similarities=_likeness)
        self._limits = limits or MemoryLimits()
        self._seats: OrderedDict[str, _Seat] = OrderedDict()
        self._starting: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_sweeping = False
        self._handlers: Mapping[type, Callable[[Any], Awaitable[calls.Answer]]] = {
            calls.StartChange: self._start,
            calls.FindChange: self._find,
            calls.CleanBranches: self._clean,
            calls.SubmitPhase: self._submit,
            calls.ChangeStatus: self._status,
            calls.AnswerEscalation: self._answer,
            calls.PermitTool: self._permit,
            calls.RecordUse: self._record,
            calls.CheckTarget: self._check,
            calls.AddExplored: self._explored,
            calls.ReviewChanges: self._review,
        }

    @property
    def in_memory(self) -> int:
        """The number of sessions in memory."""
        return sum(seat.session is not None for seat in self._seats.values())

    def queries(self) -> dict[str, QueryHandler]:
        """Return the handlers of the queries by type; errors are answers, so that no breaker counts a refusal."""
        return {name: partial(self._handled, kind) for name, kind in calls.CALLS.items()}

    async def call(self, call: calls.Call) -> calls.Answer:
        """Return the answer to a call. A caller that is cancelled leaves it to end by itself: nothing is done by half.

        Raises FencedError, UnknownNameError and StateStorageError.
        """
        done: asyncio.Future[calls.Answer] = asyncio.get_running_loop().create_future()
        spawn(self._tasks, self._settled(call, done))
        return await done

    async def close(self) -> None:
        """Wait for calls under way, and forget all sessions; the store has them."""
        working = [task for task in self._tasks if not task.done()]
        for task in working:
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)
        self._seats.clear()

    async def _settled(self, call: calls.Call, done: asyncio.Future[calls.Answer]) -> None:
        try:
            answer = await self._handlers[type(call)](call)
        except AskedError as asked:
            answer = asked.answer
        except BaseException as error:
            if done.done():
                log.warning("change.unheard_failure", extra={"call": calls.name_of(call), "reason": repr(error)})
            elif isinstance(error, asyncio.CancelledError):
                done.cancel()
                raise
            else:
                done.set_exception(error)
            return
        if not done.done():
            done.set_result(answer)

    async def _handled(self, kind: type[calls.Call], body: dict[str, Any]) -> dict[str, Any]:
        try:
            return await self.call(msgspec.convert(body, kind))
        except JeevesError as error:
            return {RAISED: error_to_wire(error)}

    async def _start(self, call: calls.StartChange) -> calls.Answer:
        _SUPPLIED.set(call.supplied)
        lock = self._starting.setdefault(call.root, asyncio.Lock())
        async with lock:
            root = Path(call.root)
            try:
                contract, notes = await in_own_thread(contract_of, root, self._shipped, self._consent)
            except InputError as error:
                if call.recovery != "resume" and not RESUMING & {*call.flags}:
                    return {"error": {"code": "start_refused", "problems": [error.message]}}
                # A session goes on under the contract that it was begun with.
                contract, notes = self._shipped, [error.message]
            sessions = ChangeSessions(contract, root, replace(self._ports, owner=call.driver), self._live_of(call))
            told = await sessions.start(call.intent, call.query, call.flags, call.gate_level, call.recovery, call.key)
            if sessions.live is not None:
                self._seat(sessions.live.state.session_id).session = sessions.live
        self._trim()
        return {**told, "notes": [*told.get("notes", ()), *notes]} if notes and "error" not in told else told

    def _live_of(self, call: calls.StartChange) -> LiveSession | None:
        """Return the session in memory that the caller drives in a repository already."""
        for seat in self._seats.values():
            live = seat.session
            is_of_caller = live is not None and (live.driver, live.state.repository) == (call.driver, call.root)
            if is_of_caller and live is not None and not live.state.is_over:
                return live
        return None

    async def _find(self, call: calls.FindChange) -> calls.Answer:
        ports = replace(self._ports, owner=call.driver)
        return await ChangeSessions(self._shipped, Path(call.root), ports).left_over()

    async def _clean(self, call: calls.CleanBranches) -> calls.Answer:
        root = Path(call.root)
        try:
            stale = await in_own_thread(self._ports.stale_in, call.root)
            kept = [name for name in await in_own_thread(task_branches, root) if name not in stale]
            stays = {"recoverable": kept, "note": _RECOVERABLE} if kept else {}
            if not stale:
                return {"deleted": [], **(stays or {"note": "the repository has no branch of an earlier session"})}
            _SUPPLIED.set(call.supplied)
            if not await _said(
                f"Delete the branches of earlier sessions, which nothing can resume: {', '.join(stale)}?"
            ):
                problem = f"a person has to agree, and did not; they can run `jeeves clean --repo {call.root}`"
                refused = {"code": "not_confirmed", "problems": [problem]}
                return {"deleted": [], "stale": list(stale), **stays, "error": refused}
            return {**await in_own_thread(laid_aside, root, stale, self._ports), **stays}
        except RepositoryError as error:
            return {"deleted": [], "error": {"code": "git_refused", "problems": [error.message]}}

    async def _submit(self, call: calls.SubmitPhase) -> calls.Answer:
        given = json.loads(call.submission)
        _SUPPLIED.set(call.supplied)
        async with self._session(call) as session:
            return await session.submit(given["payload"], given["compaction_count"], call.key)

    async def _status(self, call: calls.ChangeStatus) -> calls.Answer:
        async with self._session(call) as session:
            return await session.status()

    async def _answer(self, call: calls.AnswerEscalation) -> calls.Answer:
        async with self._session(call) as session:
            return await session.answer(call.text, goes_on=call.goes_on)

    async def _permit(self, call: calls.PermitTool) -> calls.Answer:
        async with self._session(call) as session:
            return session.refusal_of(call.tool) or await session.steering_refusal(call.tool) or {}

    async def _record(self, call: calls.RecordUse) -> calls.Answer:
        async with self._session(call) as session:
            if call.is_vain:
                return dict(await session.record(call.tool, call.targets, refused=True))
            return dict(await session.record(call.tool, call.targets, call.shown, must_verify=call.must_verify))

    async def _check(self, call: calls.CheckTarget) -> calls.Answer:
        async with self._session(call) as session:
            return await session.check_write_target(call.file)

    async def _explored(self, call: calls.AddExplored) -> calls.Answer:
        async with self._session(call) as session:
            return await session.add_explored_files(call.files)

    async def _review(self, call: calls.ReviewChanges) -> calls.Answer:
        async with self._session(call) as session:
            return await session.review_changes()

    @asynccontextmanager
    async def _session(self, call: Any) -> AsyncIterator[LiveSession]:
        """Yield a session that its caller drives, loaded if it is not in memory, and keep it there meanwhile."""
        seat = self._seat(call.session_id)
        seat.users += 1
        try:
            async with seat.lock:
                session = seat.session
                if session is None or session.driver != call.driver:
                    session = await self._loaded(call.session_id, call.driver)
                    seat.session = session
            yield session
        except FencedError:
            if seat.session is not None and seat.session.driver == call.driver:
                seat.session = None
            raise
        finally:
            seat.users -= 1
            seat.used_s = self._ports.clock.monotonic_s()
            self._trim()

    async def _loaded(self, session_id: str, driver: str) -> LiveSession:
        row = await in_own_thread(self._ports.store.get, session_id)
        if row is None:
            raise UnknownNameError(f"no session of a change has the id {session_id}; `jeeves runs list` shows them")
        if row.owner != driver and not row.state.is_over:
            raise FencedError(f"session {session_id} was taken over by another client; resume it to go on")
        contract = await in_own_thread(pinned, self._ports.store, row.state, self._shipped)
        if contract is None:
            raise RunStateError(f"the contract of session {session_id} was not kept; discard the session")
        return LiveSession(contract, row.state, replace(self._ports, owner=driver))

    def _seat(self, session_id: str) -> _Seat:
        seat = self._seats.setdefault(session_id, _Seat())
        seat.used_s = self._ports.clock.monotonic_s()
        self._seats.move_to_end(session_id)
        if not self._is_sweeping:
            self._is_sweeping = True
            spawn(self._tasks, self._sweep())
        return seat

    async def _sweep(self) -> None:
        """Let idle sessions leave memory also while nobody calls."""
        try:
            while self._seats:
                await self._ports.clock.sleep(self._limits.idle_s)
                self._trim()
        finally:
            self._is_sweeping = False

    def _trim(self) -> None:
        """Remove the sessions that idle, and of the others those called longest ago, down to the limit."""
        now_s = self._ports.clock.monotonic_s()
        excess = len(self._seats) - self._limits.sessions
        for session_id, seat in list(self._seats.items()):
            if seat.users:
                continue
            is_left = seat.session is None or seat.session.state.is_over
            if is_left or excess > 0 or now_s - seat.used_s >= self._limits.idle_s:
                del self._seats[session_id]
                excess -= 1


async def _said(question: str) -> bool | None:
    answers = _SUPPLIED.get().answers
    if question not in answers:
        raise AskedError(calls.ASKS_PERSON, question)
    return answers[question]


async def _likeness(query: str, names: Sequence[str]) -> Mapping[str, float]:
    likeness = _SUPPLIED.get().likeness
    if likeness is None:
        raise AskedError(calls.ASKS_LIKENESS, {"query": query, "names": list(names)})
    return likeness
