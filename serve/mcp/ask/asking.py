"""Answers the questions of the tool `ask`, in the warm system or in a process of its own.

The process starts with the first question, and runs whatever `ray.mode` says: a cluster of its own, the one of
`ray.address`, or none. It serves any number of questions at once, and is killed with all that it started when the
server ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import tempfile
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from actors.origin import code_version
from runtime.errors import ClusterError, JeevesError, StateStorageError
from runtime.processes.worker_process import WorkerProcess
from runtime.settings import Settings, open_state_dir
from runtime.supervision.commands import ClientEvent
from serve.answer_document import Ask
from serve.capability_sections import mode_named
from serve.mcp.toolset import Report
from serve.pipeline_files import warm_pipeline_names
from serve.principals import at_terminal
from serve.runtimes.answering import AskCallbacks
from serve.runtimes.warm import WarmRecord, WarmRuntime, read_record, settings_digest

SERVE = "serve.mcp.ask.process:serve_asks"
# As in `serve.mcp.ask.process`, which imports what this process need not.
SOCKET_NAME = "ask.sock"
STARTS_WITHIN_S = 180.0
STOPS_WITHIN_S = 0.8
REPORT_EVERY_S = 0.5
# The one call of this process lasts as long as the server and is not slow for that; select takes at most 24 days.
_NEVER_SLOW_S = 20 * 86_400.0

log = logging.getLogger(__name__)


class Asking:
    """Answers questions about one repository until it is closed."""

    def __init__(self, settings: Settings, root: str) -> None:
        self._settings = settings
        self._root = root
        self._version = code_version()
        self._process: AskProcess | None = None
        self._guard = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The number of the process that answers; None if none has been started."""
        return None if self._process is None else self._process.pid

    async def ask(self, question: str, session_id: str | None, report: Report) -> dict[str, Any]:
        """Return the answer document, reporting the stages meanwhile. Cancellation cancels the run.

        Raises every JeevesError of a question that cannot be answered.
        """
        chosen = mode_named(self._settings, None)
        ask = Ask(
            question=question,
            repo=self._root,
            pipeline=chosen.pipeline,
            session_id=session_id,
            user_id=at_terminal().user_id,
            limits=chosen.limits,
            deadline_s=chosen.deadline_s,
            product=chosen.product,
        )
        progress = _Progress()
        asking = asyncio.create_task(self._answered(ask, progress))
        try:
            while not asking.done():
                await asyncio.wait({asking}, timeout=REPORT_EVERY_S)
                if not asking.done() and (told := progress.take()):
                    await report(*told)
            return asking.result()
        finally:
            if not asking.done():
                asking.cancel()
                await asyncio.wait({asking})

    async def close(self) -> None:
        """End the process and remove its folder."""
        if self._process is not None:
            await self._process.close()

    async def _answered(self, ask: Ask, progress: _Progress) -> dict[str, Any]:
        record = self._warm_record(ask.pipeline)
        if record is None:
            progress.say("starting")
            record = await self._record_of_ours()
        runtime = WarmRuntime(record, self._version)
        callbacks = AskCallbacks(progress.on_event, progress.on_indexing)
        try:
            return await ask_through_restart(lambda: runtime.ask(ask, callbacks), progress.say)
        except StateStorageError as error:
            if error.values.get("problem") != "lost" or not await self._let_go(record.pid):
                raise
            log.warning("mcp.store_lost", extra={"reason": error.message})
            if "mark" in error.values:  # the file alone is gone: it is refused until a copy is there
                raise
            told = "or ask again: the next question begins a new one, without what was kept there"
            raise StateStorageError(f"{error.message}; {told}", **error.values) from error

    async def _let_go(self, pid: int) -> bool:
        """End the process of that number, if it is ours: the next question starts another one."""
        async with self._guard:
            process = self._process
            if process is None or process.pid != pid:
                return False
            self._process = None
            await process.close()
            return True

    def _warm_record(self, pipeline: str) -> WarmRecord | None:
        if self._settings.ray.mode == "in_process" or pipeline not in warm_pipeline_names(self._settings):
            return None
        record = read_record(self._settings)
        is_ours = record is not None and record.settings_digest == settings_digest(self._settings)
        return record if is_ours and record is not None and record.code_version == self._version else None

    async def _record_of_ours(self) -> WarmRecord:
        async with self._guard:
            if self._process is None or self._process.has_ended:
                if self._process is not None:
                    await self._process.close()
                open_state_dir(self._settings.state_dir)
                self._process = AskProcess(self._settings.json_with_secrets())
            process = self._process
        await process.listening()
        return WarmRecord(process.pid, str(process.socket), self._version, settings_digest(self._settings), "", 0)


async def ask_through_restart(
    ask: Callable[[], Awaitable[dict[str, Any]]], say: Callable[[str], None]
) -> dict[str, Any]:
    """Return the document of a question, asking once more if an actor was away that may come back.

    Questions only read, so one whose first run is still under way may be asked twice.
    """
    try:
        return await ask()
    except ClusterError as error:
        if not error.values.get("may_come_back"):
            raise
        log.info("mcp.asked_again", extra={"reason": error.message[:200]})
    say("the system is restarting; asked again")
    return await ask()


class AskProcess:
    """Holds the process that answers, and the folder of its socket and temporary files."""

    def __init__(self, settings: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._folder = Path(tempfile.mkdtemp(prefix="jeeves-mcp-"))
        self._listens: asyncio.Future[None] = self._loop.create_future()
        self._worker = WorkerProcess(slow_after_s=_NEVER_SLOW_S)
        self._ended = asyncio.Event()
        threading.Thread(target=self._run, args=(settings,), name="mcp-ask", daemon=True).start()

    @property
    def has_ended(self) -> bool:
        """True once it has ended, for whatever reason."""
        return self._ended.is_set()

    @property
    def socket(self) -> Path:
        """The socket on which it answers."""
        return self._folder / SOCKET_NAME

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._worker.pid

    async def listening(self) -> None:
        """Return once it answers. Raises the JeevesError with which it could not be started."""
        try:
            await asyncio.wait_for(asyncio.shield(self._listens), STARTS_WITHIN_S)
        except TimeoutError as error:
            await self.close()
            raise ClusterError(f"the agents did not come up within {STARTS_WITHIN_S:g} s; ask again") from error

    async def close(self) -> None:
        """End it, at first by asking, so that it can leave its cluster in order, and remove its folder. Idempotent."""
        if self._listens.done() and not self.has_ended:
            record = WarmRecord(self.pid, str(self.socket), "", "", "", 0)
            try:
                await asyncio.wait_for(self._stopped(record), STOPS_WITHIN_S)
            except (TimeoutError, JeevesError) as error:
                log.info("mcp.ask_killed", extra={"reason": str(error)})
        await asyncio.to_thread(self._worker.kill)
        self._ended.set()
        await asyncio.to_thread(shutil.rmtree, self._folder, True)

    async def _stopped(self, record: WarmRecord) -> None:
        await WarmRuntime(record, record.code_version).stop()
        await self._ended.wait()

    def _run(self, settings: str) -> None:
        """Call the process, in a thread, until it ends."""
        failure: JeevesError = ClusterError("the process that answers has ended; ask again")
        try:
            arguments = {"settings": settings, "folder": str(self._folder)}
            self._worker.call(SERVE, arguments, on_note=lambda _note: self._tell(None))
        except JeevesError as error:
            failure = error
        finally:
            self._tell(failure)

    def _tell(self, failure: JeevesError | None) -> None:
        def settle() -> None:
            if failure is not None:
                self._ended.set()
            if self._listens.done():
                return
            if failure is None:
                self._listens.set_result(None)
            else:
                self._listens.set_exception(failure)
                self._listens.exception()  # whoever waits gets it; nobody may

        with contextlib.suppress(RuntimeError):  # the loop has ended already
            self._loop.call_soon_threadsafe(settle)


class _Progress:
    """Keeps the latest that is known of a question, for the next report; numbers only rise."""

    def __init__(self) -> None:
        self._steps = 0
        self._message = ""
        self._told = ""

    def say(self, message: str) -> None:
        self._message = message

    def on_event(self, event: ClientEvent) -> None:
        if event.type == "stage.started":
            self._message = f"stage: {event.stage}"

    def on_indexing(self, done: int, total: int) -> None:
        self._message = f"indexing: {done} of {total} files"

    def take(self) -> tuple[float, None, str] | None:
        """Return number and message of a report, None if nothing has changed."""
        if self._message == self._told:
            return None
        self._told = self._message
        self._steps += 1
        return float(self._steps), None, self._message
