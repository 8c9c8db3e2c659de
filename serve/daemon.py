"""The process behind `jeeves up`: keeps the actors, listens on the Unix socket, ends on `stop` or a signal.

Started as `python -P -m serve.daemon` with the settings as JSON on standard input. It owns its cluster, so that when it
ends, all of it ends.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
from contextlib import suppress
from typing import Any

import msgspec

from actors.origin import check_origin, code_version
from runtime.clock import SystemClock
from runtime.errors import InputError, JeevesError
from runtime.ports import error_to_wire
from runtime.settings import Settings
from runtime.supervision.commands import ClientEvent
from serve.documents import Ask
from serve.ray_runtime import RayRuntime, start_runtime
from serve.warm import (
    LOCK_PATIENCE_S,
    MAX_LINE_BYTES,
    WarmRecord,
    remove_socket,
    settings_digest,
    socket_path,
    take_lock,
    warm_dir,
    write_record,
)
from serve.wiring import load_named_pipeline, warm_pipeline_names

log = logging.getLogger(__name__)


class Door:
    """Serves the socket of one warm system."""

    def __init__(self, runtime: RayRuntime, record: WarmRecord) -> None:
        self._runtime = runtime
        self._record = record
        self.stopping = asyncio.Event()
        self.answered = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: one request, its answer. A client that hangs up cancels its question."""
        try:
            line = await reader.readline()
            if line:
                await self._answer(line, reader, writer)
        except ConnectionError:
            log.info("door.client_gone")
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, line: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answering = asyncio.ensure_future(self._result(line, writer))
        hung_up = asyncio.ensure_future(reader.read(1))
        await asyncio.wait({answering, hung_up}, return_when=asyncio.FIRST_COMPLETED)
        hung_up.cancel()
        if not answering.done():
            answering.cancel()
            await asyncio.wait({answering})
            return
        _send(writer, answering.result())
        await writer.drain()

    async def _result(self, line: bytes, writer: asyncio.StreamWriter) -> dict[str, Any]:
        try:
            request = json.loads(line)
            return await self._do(request, writer)
        except JeevesError as error:
            return {"error": error_to_wire(error)}
        except (ValueError, KeyError, TypeError, RecursionError, msgspec.MsgspecError) as error:
            return {"error": error_to_wire(InputError(f"not a request of this door: {error}"))}
        except Exception as error:
            log.exception("door.failed")
            return {"error": error_to_wire(error)}

    async def _do(self, request: dict[str, Any], writer: asyncio.StreamWriter) -> dict[str, Any]:
        if request["op"] == "ask":
            return {"document": await self._ask(msgspec.convert(request["ask"], Ask), writer)}
        if request["op"] == "stop":
            self.stopping.set()
            return {"stopping": True}
        if request["op"] == "status":
            running = await self._runtime.system.running()
            bus = await self._runtime.system.bus_stats()
            return {
                "status": {
                    **msgspec.to_builtins(self._record),
                    "questions_answered": self.answered,
                    "runs_under_way": running,
                    "bus": bus,
                }
            }
        raise InputError(f"no operation is named {request['op']!r}; there are ask, status, stop")

    async def _ask(self, ask: Ask, writer: asyncio.StreamWriter) -> dict[str, Any]:
        def on_event(event: ClientEvent) -> None:
            _send(writer, {"event": msgspec.to_builtins(event)})

        def on_indexing(done: int, total: int) -> None:
            _send(writer, {"indexing": [done, total]})

        document = await self._runtime.ask(ask, on_event, on_indexing)
        self.answered += 1
        return document


def _send(writer: asyncio.StreamWriter, answer: dict[str, Any]) -> None:
    writer.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")


async def keep(settings: Settings) -> None:
    """Bring the system up, listen until told to stop, and take everything down."""
    pipelines = [load_named_pipeline(settings, name) for name in warm_pipeline_names(settings)]
    runtime = start_runtime(settings, pipelines)
    path = socket_path(settings.state_dir)
    try:
        await runtime.system.ready()
        path.unlink(missing_ok=True)
        address = runtime.cluster.address if runtime.cluster else ""
        record = WarmRecord(
            os.getpid(), str(path), code_version(), settings_digest(settings), address, SystemClock().now_ms()
        )
        door = Door(runtime, record)
        server = await asyncio.start_unix_server(door.serve, str(path), limit=MAX_LINE_BYTES)
        path.chmod(0o600)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, door.stopping.set)
        write_record(settings.state_dir, record)
        log.info("daemon.up", extra={"socket": str(path)})
        await door.stopping.wait()
        server.close()
    finally:
        (warm_dir(settings.state_dir) / "record.json").unlink(missing_ok=True)
        remove_socket(path, settings.state_dir)
        await runtime.close()


def main() -> int:
    """Run the daemon; its failure is one line on standard error, which `jeeves up` shows."""
    settings = Settings.model_validate_json(sys.stdin.read())
    logging.basicConfig(level=settings.logging.level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s")
    lock = take_lock(settings.state_dir, LOCK_PATIENCE_S)
    if lock is None:
        sys.stderr.write("jeeves: a warm system is up already\n")
        return 1
    try:
        check_origin()
        asyncio.run(keep(settings))
    except JeevesError as error:
        sys.stderr.write(f"jeeves: {error.message}\n")
        return error.exit_status
    finally:
        lock.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
