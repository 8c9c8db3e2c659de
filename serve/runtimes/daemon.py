"""Runs the process behind `jeeves up`, which keeps the actors and listens on a Unix socket.

It ends on `stop` or a signal. Started as `python -P -m serve.runtimes.daemon` with two lines on standard input: the
settings as JSON, and the digest of their sources, empty if other processes may not rely on it. It owns its cluster,
which ends with it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from contextlib import aclosing
from typing import Any

import msgspec

from actors.origin import check_origin, code_stamp, code_version
from runtime.errors import InputError, JeevesError
from runtime.llm.call_metrics import together
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import RunId
from runtime.primitives.structured_logs import LogOptions, configure_logs
from runtime.primitives.visible_text import visible_line
from runtime.run.envelope import Envelope, InterruptResponse
from runtime.settings import Settings, open_state_dir
from serve.answer_document import Ask, asked_in, document_of
from serve.capability_sections import mode_named
from serve.pipeline_files import load_named_pipeline, warm_pipeline_names
from serve.run_control import answer_run, cancel_run, pause_run, permitted_run
from serve.runtimes.answering import AskCallbacks
from serve.runtimes.ray_runtime import RayRuntime, start_runtime
from serve.runtimes.socket_door import Client, Operation, SocketDoor
from serve.runtimes.warm import (
    LOCK_PATIENCE_S,
    MAX_LINE_BYTES,
    Shortcut,
    WarmRecord,
    remove_socket,
    settings_digest,
    socket_path,
    take_lock,
    warm_dir,
    write_record,
)
from serve.typed_question import TypedQuestion, settled
from serve.wiring import warm_services

log = logging.getLogger(__name__)

# Queries that doors send on behalf of their clients. Commands of a contract may run for hours.
QUERIED = "code_change."
QUERY_TIMEOUT_S = 86_400.0


class Door:
    """Serves the socket of one warm system."""

    def __init__(self, runtime: RayRuntime, record: WarmRecord, settings: Settings | None = None) -> None:
        self._runtime = runtime
        self._settings = settings
        self._system = runtime.system
        self._record = record
        self.stopping = asyncio.Event()
        self.answered = 0
        operations: dict[str, Operation] = {
            "ask": self._ask,
            "ask_typed": self._ask_typed,
            "start": self._start,
            "status": self._status,
            "stop": self._stop,
            "watch": self._watch,
            "document": self._document,
            "cancel": self._cancel,
            "pause": self._pause,
            "answer": self._answer,
            "query": self._query,
        }
        self.socket = SocketDoor(operations)

    async def _ask(self, request: dict[str, Any], client: Client) -> dict[str, Any]:
        return await self._answered(msgspec.convert(request["ask"], Ask), client)

    async def _ask_typed(self, request: dict[str, Any], client: Client) -> dict[str, Any]:
        ask = await asyncio.to_thread(self._settled, msgspec.convert(request["typed"], TypedQuestion))
        return {"document": None} if ask is None else await self._answered(ask, client)

    def _settled(self, typed: TypedQuestion) -> Ask | None:
        """Return the question with these settings applied; None if its client must see to that, and tell what is wrong.

        Files of configuration are read anew, as they are by a client.
        """
        settings = self._settings
        if settings is None:
            return None
        try:
            chosen = mode_named(settings, typed.mode, typed.pipeline, typed.limits, typed.deadline_s)
            is_ours = chosen.pipeline in warm_pipeline_names(settings)
            if not is_ours or (chosen.reasoner or settings.reasoner) != settings.reasoner:
                return None
            open_state_dir(settings.state_dir)
            return settled(typed, chosen, settings)
        except JeevesError as error:
            log.info("door.not_settled", extra={"reason": error.message[:200]})
            return None

    async def _answered(self, ask: Ask, client: Client) -> dict[str, Any]:
        ask = msgspec.structs.replace(ask, user_id=client.user_id(ask.user_id))
        callbacks = AskCallbacks(client.on_event, client.on_indexing, client.on_interrupt, client.on_waiting)
        document = await self._runtime.ask(ask, callbacks)
        self.answered += 1
        return {"document": document}

    async def _start(self, request: dict[str, Any], client: Client) -> dict[str, Any]:
        ask = msgspec.convert(request["ask"], Ask)
        ask = msgspec.structs.replace(ask, user_id=client.user_id(ask.user_id))
        return {"run_id": await self._runtime.start(ask, request["key"])}

    async def _status(self, _request: dict[str, Any], _client: Client) -> dict[str, Any]:
        running = await self._system.running()
        bus = await self._system.bus_stats()
        models = together((await self._system.model_stats()).values()).breakers
        places = await self._system.model_places()
        record = msgspec.to_builtins(msgspec.structs.replace(self._record, shortcut=None))
        work = {"questions_answered": self.answered, "runs_under_way": running}
        tools = msgspec.to_builtins(await self._system.tool_health())
        state = {"bus": bus, "models": models, "model_places": places, "tools": tools}
        return {"status": {**record, **work, **state}}

    async def _stop(self, _request: dict[str, Any], _client: Client) -> dict[str, Any]:
        self.stopping.set()
        return {"stopping": True}

    async def _watch(self, request: dict[str, Any], client: Client) -> dict[str, Any]:
        run_id = _run_id(request)
        await permitted_run(self._system, run_id, client.user_id())
        async with aclosing(self._system.watch(run_id, int(request["after_seq"]))) as events:
            async for event in events:
                client.on_event(event)
                asks = event.type == "interrupt.raised" and bool(request["until_it_waits"])
                if asks and (await self._system.envelope(run_id)).lifecycle == "waiting":
                    break
        return await self._document(request, client)

    async def _document(self, request: dict[str, Any], client: Client) -> dict[str, Any]:
        return {"document": self._told(await permitted_run(self._system, _run_id(request), client.user_id()))}

    async def _cancel(self, request: dict[str, Any], client: Client) -> dict[str, Any]:
        envelope = await cancel_run(self._system, _run_id(request), client.user_id(), str(request["reason"]))
        return {"document": self._told(envelope)}

    async def _pause(self, request: dict[str, Any], client: Client) -> dict[str, Any]:
        envelope = await pause_run(self._system, _run_id(request), client.user_id(), str(request["reason"]))
        return {"document": self._told(envelope)}

    async def _answer(self, request: dict[str, Any], client: Client) -> dict[str, Any]:
        run_id, interrupt_id = _run_id(request), request["interrupt_id"]
        seen, _ = await self._system.events(run_id)
        response = msgspec.convert(request["answer"], InterruptResponse)
        await answer_run(self._system, run_id, interrupt_id, client.user_id(), response)
        return {"after_seq": len(seen)}

    async def _query(self, request: dict[str, Any], _client: Client) -> dict[str, Any]:
        type_ = str(request["type"])
        if not type_.startswith(QUERIED):
            raise InputError(f"'{type_[:60]}' is not asked through this door")
        return {"answer": await self._system.query(type_, dict(request["body"]), QUERY_TIMEOUT_S)}

    def _told(self, envelope: Envelope) -> dict[str, Any]:
        return document_of(asked_in(envelope.request), envelope, self._runtime.reasoner)


def _run_id(request: dict[str, Any]) -> RunId:
    return RunId(str(request["run_id"]))


def _shortcut(settings: Settings, sources: str) -> Shortcut | None:
    """Return what clients need to ask without reading settings; None if each must read them, as it does for models."""
    if not sources or settings.reasoner != "rules":
        return None
    first, second = settings.state_folders()
    return Shortcut(sources, code_stamp(), (str(first), str(second)), settings.logging.level, settings.logging.format)


async def keep(settings: Settings, sources: str = "") -> None:
    """Start the system, listen until stopped, and shut everything down."""
    pipelines = [load_named_pipeline(settings, name) for name in warm_pipeline_names(settings)]
    runtime = start_runtime(settings, pipelines, keeper="supervisor", services=warm_services(settings))
    path = socket_path(settings)
    try:
        await runtime.system.ready()
        path.unlink(missing_ok=True)
        address = runtime.cluster.address if runtime.cluster else ""
        record = WarmRecord(
            os.getpid(),
            str(path),
            code_version(),
            settings_digest(settings),
            address,
            SystemClock().now_ms(),
            _shortcut(settings, sources),
        )
        door = Door(runtime, record, settings)
        server = await asyncio.start_unix_server(door.socket.serve, str(path), limit=MAX_LINE_BYTES)
        path.chmod(0o600)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, door.stopping.set)
        write_record(settings, record)
        log.info("daemon.up", extra={"socket": str(path)})
        await door.stopping.wait()
        server.close()
    finally:
        (warm_dir(settings) / "record.json").unlink(missing_ok=True)
        remove_socket(path, settings)
        await runtime.close()


def main() -> int:
    """Run the daemon; a failure is reported in one line on standard error, which `jeeves up` shows."""
    told, _, sources = sys.stdin.read().partition("\n")
    settings = Settings.model_validate_json(told)
    configure_logs(LogOptions(settings.logging.level, settings.logging.format), "daemon")
    lock = take_lock(settings, LOCK_PATIENCE_S)
    if lock is None:
        sys.stderr.write("jeeves: a warm system of this name is already up\n")
        return 1
    try:
        check_origin()
        asyncio.run(keep(settings, sources))
    except JeevesError as error:
        sys.stderr.write(f"jeeves: {visible_line(error.message)}\n")
        return error.exit_status
    finally:
        lock.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
