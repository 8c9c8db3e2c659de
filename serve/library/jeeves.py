"""Asks questions about code from a program: in this process, on a cluster, or of an HTTP service.

    async with Jeeves.in_process() as jeeves:
        answer = await jeeves.ask("Where are bounds enforced?", repo=".")

The calls, their results and their errors are the same in all three places; `JeevesSync` has them without `await`.
(Over 400 lines: all calls of the library stand in one class.)
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

import msgspec

from runtime.errors import AnswerTimeoutError, InputError, JeevesError, RunStateError
from runtime.primitives.ids import RunId
from runtime.run.envelope import InterruptResponse
from runtime.settings import Settings, load_settings
from serve.library.backend import Asked, Backend, Started
from serve.library.questions import check_question
from serve.library.results import (
    Answer,
    AskedRun,
    DeletedSession,
    Event,
    Session,
    SessionTurns,
    answer_in,
    session_result,
)
from serve.run_keys import check_key

log = logging.getLogger(__name__)

# How long a run is given to be known, and to end, after its caller was cancelled.
CANCEL_PATIENCE_S = 5.0
GONE = "the caller went away"
BATCH_AHEAD = 4
MAX_RUNS, MAX_SESSIONS, MAX_TURNS = 500, 500, 100

T = TypeVar("T")


class BatchResult(msgspec.Struct, frozen=True):
    """Holds the answer to one question of a batch, or the error that kept it from being asked."""

    question: str
    answer: Answer | None = None
    error: JeevesError | None = None


class Jeeves:
    """Asks questions, and follows and controls the runs that answer them, until it is closed."""

    def __init__(self, open_backend: Callable[[], Awaitable[Backend]]) -> None:
        """Create a door to a backend, which is opened by the first call; see the three class methods."""
        self._open_backend = open_backend
        self._opening: asyncio.Future[Backend] | None = None

    @classmethod
    def in_process(cls, config: Path | str | None = None, *, settings: Settings | None = None) -> Jeeves:
        """Return a door that answers in this process, without a cluster; runs that are not over end when it closes.

        `config`: the settings file; default: as for `jeeves`. `settings` take its place.
        """
        from serve.library.hosted_backend import HostedBackend
        from serve.library.local_hosts import LocalHosts
        from serve.principals import at_terminal

        async def opened() -> Backend:
            given = _settings(config, settings)
            return HostedBackend(given, at_terminal().user_id, LocalHosts(given))

        return cls(opened)

    @classmethod
    def on_cluster(cls, config: Path | str | None = None, *, settings: Settings | None = None) -> Jeeves:
        """Return a door to the system that `jeeves up` keeps, or to the one on the cluster that the settings attach to.

        Its runs go on when the door closes.
        """
        from serve.library.cluster_hosts import cluster_backend

        async def opened() -> Backend:
            return await cluster_backend(_settings(config, settings))

        return cls(opened)

    @classmethod
    def at(cls, url: str, *, token: str | None = None) -> Jeeves:
        """Return a door to the HTTP service at a URL; `token`: the bearer token. Its runs go on when the door closes.

        Give a token to an https URL alone, unless the service is on this machine. Raises InputError for a URL or
        a token that is none; blanks and line ends around the token are left out.
        """
        from serve.library.http_backend import HttpBackend

        backend = HttpBackend(url, token)

        async def opened() -> Backend:
            return backend

        return cls(opened)

    async def __aenter__(self) -> Jeeves:
        await self._backend()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Release what the door holds."""
        if self._opening is not None:
            opening, self._opening = self._opening, None
            await (await opening).close()

    async def ask(
        self,
        question: str,
        *,
        repo: str | Path | None = None,
        session: str | None = None,
        pipeline: str | None = None,
        mode: str | None = None,
        limits: Mapping[str, int] | None = None,
        deadline_s: float | None = None,
        wait: bool = False,
        run_mode: str | None = None,
        timeout_s: float | None = None,
        key: str | None = None,
    ) -> Answer:
        """Return the answer to a question; for a run that waits for a person (`wait`), the answer has `interrupt`.

        A run that a bound ends has an answer, too: see `Answer.outcome`. `repo`: a folder, or for a service the name
        of a registered repository. `deadline_s` bounds the run. After `timeout_s` AnswerTimeoutError is raised, and the
        run goes on; `wait_for` awaits it again. If the awaiting task is cancelled, the run is cancelled. The same `key`
        gives the same run.
        """
        asked = _asked(question, repo, session, pipeline, mode, limits, deadline_s, wait, run_mode)
        started = await self._started(asked, key)
        return await self._to_its_end(started.run_id, started.events, timeout_s)

    async def stream(
        self,
        question: str,
        *,
        repo: str | Path | None = None,
        session: str | None = None,
        pipeline: str | None = None,
        mode: str | None = None,
        limits: Mapping[str, int] | None = None,
        deadline_s: float | None = None,
        wait: bool = False,
        run_mode: str | None = None,
        key: str | None = None,
        outputs: bool = False,
    ) -> AsyncGenerator[Event | Answer, None]:
        """Yield the events of a question's run, then its answer, as `ask` returns it.

        With `outputs`, the event `stage.finished` of a stage with a result has it as `output` in its data; one of more
        than 64 KiB of JSON stays behind: there are its `output_bytes` instead, and `stage_output` returns it. A caller
        that stops iterating leaves the run as it is, and `follow` takes it up; a task that is cancelled meanwhile
        cancels the run.
        """
        asked = _asked(question, repo, session, pipeline, mode, limits, deadline_s, wait, run_mode, outputs)
        started = await self._started(asked, key)
        async with aclosing(self._followed(started.run_id, started.events)) as items:
            async for item in items:
                yield item

    async def follow(
        self, run_id: str, *, after: int = 0, outputs: bool = False
    ) -> AsyncGenerator[Event | Answer, None]:
        """Yield the events of a run behind the number `after`, then its answer; `outputs` as for `stream`."""
        backend = await self._backend()
        async with aclosing(self._settling(RunId(run_id), backend.events(RunId(run_id), after, outputs))) as events:
            async for event in events:
                yield event
        yield await self.show(run_id)

    async def stage_output(self, run_id: str, event: int) -> dict[str, Any]:
        """Return what a stage gave out, whatever its size; `event`: the number of its `stage.finished`.

        Raises UnknownNameError if that event brings no output.
        """
        if event < 1:
            raise InputError(f"event is {event}; the events of a run are numbered from 1")
        return await (await self._backend()).stage_output(RunId(run_id), event)

    async def wait_for(self, run_id: str, *, timeout_s: float | None = None) -> Answer:
        """Return the answer of a run once it is over or waits. The run is left alone if the caller is cancelled."""
        events = (await self._backend()).events(RunId(run_id))
        await self._within(RunId(run_id), self._exhausted(RunId(run_id), events), timeout_s)
        return await self.show(run_id)

    async def show(self, run_id: str) -> Answer:
        """Return the answer of a run that is over or waits. Raises RunStateError for one that is running."""
        return answer_in(await (await self._backend()).document(RunId(run_id)))

    async def answer(
        self,
        run_id: str,
        text: str = "",
        *,
        approved: bool | None = None,
        decision: Literal["approve", "reject", "modify"] | None = None,
        data: Mapping[str, Any] | None = None,
        interrupt_id: str | None = None,
        timeout_s: float | None = None,
    ) -> Answer:
        """Answer the question that a run waits for, and return its answer once it is over or waits again.

        `approved`: for yes-or-no questions; `decision`: for reviews, with `data` to modify; `interrupt_id`: the id of
        the question, default: the open one. Raises InterruptError and RunStateError.
        """
        response = InterruptResponse(text, approved, decision, dict(data or {}))
        await (await self._backend()).answer(RunId(run_id), interrupt_id, response)
        return await self.wait_for(run_id, timeout_s=timeout_s)

    async def resume(self, run_id: str, *, timeout_s: float | None = None) -> Answer:
        """Resume a paused run and return its answer; in-process also one whose process died, from its log."""
        return await self.answer(run_id, timeout_s=timeout_s)

    async def pause(self, run_id: str, reason: str = "") -> Answer:
        """Pause a run at its next step, until `resume`."""
        return answer_in(await (await self._backend()).pause(RunId(run_id), reason))

    async def cancel(self, run_id: str, reason: str = "") -> Answer:
        """End a run and return what was found until then. Raises RunStateError if it is over."""
        return answer_in(await (await self._backend()).cancel(RunId(run_id), reason))

    async def batch(
        self, questions: Iterable[str], *, concurrency: int = 4, **options: Any
    ) -> AsyncGenerator[BatchResult, None]:
        """Yield the answers to questions in their order, `concurrency` of them asked at once.

        `options`: those of `ask`, for all of them. A question that cannot be asked gives a result with its error.
        """
        slots = asyncio.Semaphore(max(1, concurrency))
        ahead: deque[asyncio.Task[BatchResult]] = deque()

        async def one(question: str) -> BatchResult:
            async with slots:
                try:
                    return BatchResult(question, await self.ask(question, **options))
                except JeevesError as error:
                    return BatchResult(question, error=error)

        try:
            for question in questions:
                ahead.append(asyncio.create_task(one(question)))
                if len(ahead) >= BATCH_AHEAD * max(1, concurrency):
                    yield await ahead.popleft()
            while ahead:
                yield await ahead.popleft()
        finally:
            for task in ahead:
                task.cancel()
            await asyncio.gather(*ahead, return_exceptions=True)

    async def runs(self, limit: int = 20, *, principal: str | None = None) -> list[AskedRun]:
        """Return the caller's newest runs, newest first; with `principal` (`token:ann`) those of another, or of `all`.

        Raises InputError for a limit that is not 1 to 500 and for what is no principal, and NotPermittedError for
        runs that the caller may not see.
        """
        if principal is not None and not (principal and principal.isprintable()):
            raise InputError(f"principal is {principal[:100]!r}; give one such as `token:NAME`, or `all`")
        return await (await self._backend()).runs(_within_page(limit, MAX_RUNS), principal)

    async def sessions(self, limit: int = 20) -> list[Session]:
        """Return the caller's sessions, the newest first by their first question."""
        found = await (await self._backend()).sessions(_within_page(limit, MAX_SESSIONS))
        return [session_result(Session, each) for each in found]

    async def session(self, session_id: str, limit: int = 20) -> SessionTurns:
        """Return the newest turns of a session of the caller. Raises UnknownNameError."""
        shown = await (await self._backend()).session(session_id, _within_page(limit, MAX_TURNS))
        return session_result(SessionTurns, shown)

    async def delete_session(self, session_id: str) -> DeletedSession:
        """Delete the turns and state of a session, and the remembered answers that came of it.

        Raises UnknownNameError, and RunStateError while a run of the session is under way.
        """
        return session_result(DeletedSession, await (await self._backend()).delete_session(session_id))

    async def _backend(self) -> Backend:
        if self._opening is None:
            self._opening = asyncio.ensure_future(self._open_backend())
        try:
            return await asyncio.shield(self._opening)
        except JeevesError:
            self._opening = None
            raise

    async def _started(self, asked: Asked, key: str | None) -> Started:
        """Return a started run; a run that is accepted while the caller is cancelled, is cancelled."""
        if key is not None:
            check_key(key)
        backend = await self._backend()
        starting = asyncio.ensure_future(backend.start(asked, key))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            await asyncio.wait({starting}, timeout=CANCEL_PATIENCE_S)
            if starting.done() and not starting.cancelled() and starting.exception() is None:
                await starting.result().events.aclose()
                await self._cancel_left(starting.result().run_id)
            else:
                starting.cancel()
            raise

    async def _to_its_end(self, run_id: RunId, events: AsyncGenerator[Event, None], timeout_s: float | None) -> Answer:
        try:
            await self._within(run_id, self._exhausted(run_id, events), timeout_s)
            return await self.show(run_id)
        except asyncio.CancelledError:
            await self._cancel_left(run_id)
            raise

    async def _followed(
        self, run_id: RunId, events: AsyncGenerator[Event, None]
    ) -> AsyncGenerator[Event | Answer, None]:
        try:
            async with aclosing(self._settling(run_id, events)) as following:
                async for event in following:
                    yield event
            yield await self.show(run_id)
        except asyncio.CancelledError:
            await self._cancel_left(run_id)
            raise

    async def _settling(self, run_id: RunId, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        """Yield events until the run is over, or waits for a person."""
        async with aclosing(events):
            async for event in events:
                yield event
                # A paused run is resumed by the one who paused it.
                is_question = event.type == "interrupt.raised" and event.data.get("kind") != "checkpoint"
                if is_question and await self._waits_with(run_id, event.data.get("id")):
                    return

    async def _exhausted(self, run_id: RunId, events: AsyncGenerator[Event, None]) -> None:
        async with aclosing(self._settling(run_id, events)) as following:
            async for _ in following:
                pass

    async def _waits_with(self, run_id: RunId, interrupt_id: Any) -> bool:
        try:
            interrupt = (await self.show(run_id)).interrupt
        except RunStateError:
            return False  # it was answered elsewhere
        return interrupt is not None and interrupt.id == interrupt_id

    async def _within(self, run_id: RunId, work: Awaitable[T], timeout_s: float | None) -> T:
        try:
            async with asyncio.timeout(timeout_s) as limit:
                return await work
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise AnswerTimeoutError(
                f"run {run_id} is not over after {timeout_s:g} s; it goes on, and `wait_for` awaits it again",
                run_id=run_id,
                timeout_s=timeout_s,
            ) from error

    async def _cancel_left(self, run_id: RunId) -> None:
        """Cancel a run whose caller was cancelled; one that is over stays so."""
        cancelling = asyncio.ensure_future(self.cancel(run_id, GONE))
        await asyncio.wait({cancelling}, timeout=CANCEL_PATIENCE_S)
        if not cancelling.done():
            cancelling.cancel()
        elif not cancelling.cancelled() and (error := cancelling.exception()) is not None:
            log.info("library.run_not_cancelled", extra={"run_id": run_id, "reason": str(error)[:200]})


def _within_page(limit: int, most: int) -> int:
    """Return a limit. Raises InputError for one that no place accepts."""
    if not 1 <= limit <= most:
        raise InputError(f"limit is {limit}; give 1 to {most}")
    return limit


def _settings(config: Path | str | None, settings: Settings | None) -> Settings:
    return settings or load_settings(None if config is None else Path(config))


def _asked(
    question: str,
    repo: str | Path | None,
    session: str | None,
    pipeline: str | None,
    mode: str | None,
    limits: Mapping[str, int] | None,
    deadline_s: float | None,
    wait: bool,
    run_mode: str | None,
    outputs: bool = False,
) -> Asked:
    named = None if repo is None else str(repo)
    asked = Asked(question, named, session, pipeline, mode, dict(limits or {}), deadline_s, wait, run_mode, outputs)
    check_question(asked)
    return asked
