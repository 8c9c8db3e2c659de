"""Asks questions about code from a program without an event loop, or from a notebook.

    with JeevesSync.in_process() as jeeves:
        print(jeeves.ask("Where are bounds enforced?", repo="."))

Each method is the one of `Jeeves` with the same name, with the same arguments; docstrings are there.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from runtime.settings import Settings
from serve.library.jeeves import BatchResult, Jeeves
from serve.library.loop_thread import LoopThread
from serve.library.results import Answer, AskedRun, DeletedSession, Event, Session, SessionTurns


class JeevesSync:
    """Calls a `Jeeves` on a loop thread of its own, until it is closed."""

    def __init__(self, jeeves: Jeeves) -> None:
        self._jeeves = jeeves
        self._loop = LoopThread()

    @classmethod
    def in_process(cls, config: Path | str | None = None, *, settings: Settings | None = None) -> JeevesSync:
        """Return a door that answers in this process; see `Jeeves.in_process`."""
        return cls(Jeeves.in_process(config, settings=settings))

    @classmethod
    def on_cluster(cls, config: Path | str | None = None, *, settings: Settings | None = None) -> JeevesSync:
        """Return a door to the system that is up; see `Jeeves.on_cluster`."""
        return cls(Jeeves.on_cluster(config, settings=settings))

    @classmethod
    def at(cls, url: str, *, token: str | None = None) -> JeevesSync:
        """Return a door to the HTTP service at a URL; see `Jeeves.at`."""
        return cls(Jeeves.at(url, token=token))

    def __enter__(self) -> JeevesSync:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release what the door holds, and end its thread. A second call does nothing."""
        if not self._loop.is_closed:
            try:
                self._loop.run(self._jeeves.close())
            finally:
                self._loop.close()

    def ask(
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
        """Return the answer to a question."""
        how = {"session": session, "pipeline": pipeline, "mode": mode, "limits": limits, "run_mode": run_mode}
        when = {"deadline_s": deadline_s, "wait": wait, "timeout_s": timeout_s, "key": key}
        return self._loop.run(self._jeeves.ask(question, repo=repo, **how, **when))  # type: ignore[arg-type]

    def stream(
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
    ) -> Generator[Event | Answer, None, None]:
        """Yield the events of a question's run, then its answer."""
        how = {"session": session, "pipeline": pipeline, "mode": mode, "limits": limits, "run_mode": run_mode}
        when = {"deadline_s": deadline_s, "wait": wait, "key": key, "outputs": outputs}
        return self._loop.iterate(self._jeeves.stream(question, repo=repo, **how, **when))  # type: ignore[arg-type]

    def follow(self, run_id: str, *, after: int = 0, outputs: bool = False) -> Generator[Event | Answer, None, None]:
        """Yield the events of a run behind the number `after`, then its answer."""
        return self._loop.iterate(self._jeeves.follow(run_id, after=after, outputs=outputs))

    def stage_output(self, run_id: str, event: int) -> dict[str, Any]:
        """Return what a stage gave out, by the number of its `stage.finished` event."""
        return self._loop.run(self._jeeves.stage_output(run_id, event))

    def wait_for(self, run_id: str, *, timeout_s: float | None = None) -> Answer:
        """Return the answer of a run once it is over or waits."""
        return self._loop.run(self._jeeves.wait_for(run_id, timeout_s=timeout_s))

    def show(self, run_id: str) -> Answer:
        """Return the answer of a run that is over or waits."""
        return self._loop.run(self._jeeves.show(run_id))

    def answer(
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
        """Answer the question that a run waits for, and return its answer."""
        work = self._jeeves.answer(
            run_id,
            text,
            approved=approved,
            decision=decision,
            data=data,
            interrupt_id=interrupt_id,
            timeout_s=timeout_s,
        )
        return self._loop.run(work)

    def resume(self, run_id: str, *, timeout_s: float | None = None) -> Answer:
        """Resume a paused run and return its answer."""
        return self._loop.run(self._jeeves.resume(run_id, timeout_s=timeout_s))

    def pause(self, run_id: str, reason: str = "") -> Answer:
        """Pause a run at its next step."""
        return self._loop.run(self._jeeves.pause(run_id, reason))

    def cancel(self, run_id: str, reason: str = "") -> Answer:
        """End a run and return what was found until then."""
        return self._loop.run(self._jeeves.cancel(run_id, reason))

    def batch(
        self, questions: Iterable[str], *, concurrency: int = 4, **options: Any
    ) -> Generator[BatchResult, None, None]:
        """Yield the answers to questions in their order."""
        return self._loop.iterate(self._jeeves.batch(questions, concurrency=concurrency, **options))

    def runs(self, limit: int = 20, *, principal: str | None = None) -> list[AskedRun]:
        """Return the newest runs of the caller or of a principal, newest first."""
        return self._loop.run(self._jeeves.runs(limit, principal=principal))

    def sessions(self, limit: int = 20) -> list[Session]:
        """Return the caller's sessions, the newest first."""
        return self._loop.run(self._jeeves.sessions(limit))

    def session(self, session_id: str, limit: int = 20) -> SessionTurns:
        """Return the newest turns of a session of the caller."""
        return self._loop.run(self._jeeves.session(session_id, limit))

    def delete_session(self, session_id: str) -> DeletedSession:
        """Delete the turns and state of a session, and the remembered answers that came of it."""
        return self._loop.run(self._jeeves.delete_session(session_id))
