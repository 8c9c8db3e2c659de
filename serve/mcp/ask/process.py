"""Runs the pipeline of the tool `ask` in a worker process, which `serve.mcp.ask.asking` starts.

Ray must be started in the main thread of a process and takes seconds to start and to end. Here it holds up no other
tool, and ends with the server, whose worker process this is.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from runtime.primitives.structured_logs import LogOptions, configure_logs
from runtime.settings import Settings
from serve.answer_document import Ask
from serve.runtimes.answering import AskCallbacks
from serve.runtimes.selection import open_runtime
from serve.runtimes.socket_door import Client, SocketDoor
from serve.runtimes.warm import MAX_LINE_BYTES

SOCKET_NAME = "ask.sock"
LISTENING = "listening"
_LOG = Path("logs", "cli.log")


def serve_asks(note: Callable[[str], None], settings: str, folder: str) -> None:
    """Answer the requests `ask` and `stop` on a socket in `folder`, until `stop`; note when it listens.

    The folder is private; temporary files lie there too, and the parent removes it however this process ends.
    """
    tempfile.tempdir = folder
    given = Settings.model_validate_json(settings)
    options = LogOptions(given.logging.level, given.logging.format)
    configure_logs(options, "mcp-ask", given.state_dir / _LOG)
    asyncio.run(_serve(note, given, Path(folder) / SOCKET_NAME))


async def _serve(note: Callable[[str], None], settings: Settings, path: Path) -> None:
    runtime = await open_runtime(settings, settings.default_pipeline)
    stopping = asyncio.Event()

    async def ask(request: dict[str, Any], client: Client) -> dict[str, Any]:
        asked = msgspec.structs.replace(msgspec.convert(request["ask"], Ask), user_id=client.user_id())
        return {"document": await runtime.ask(asked, AskCallbacks(client.on_event, client.on_indexing))}

    async def stop(_request: dict[str, Any], _client: Client) -> dict[str, Any]:
        stopping.set()
        return {"stopping": True}

    door = SocketDoor({"ask": ask, "stop": stop})
    try:
        server = await asyncio.start_unix_server(door.serve, path, limit=MAX_LINE_BYTES)
        note(LISTENING)
        await stopping.wait()
        server.close()
    finally:
        await runtime.close()
