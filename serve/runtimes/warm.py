"""Connects to a warm system: its Unix socket, the record of the listening process, and the client.

The protocol is one JSON object per line. A client sends one request; the reply is any number of `event`, `indexing`
and `interrupt` lines, followed by one line with the result, or `error`. The client replies to each `interrupt` line
with one line: `{"answer": …}`, or null to leave the run waiting. Neither Ray nor the settings are imported here, to
keep warm questions fast.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import json
import logging
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import msgspec

from runtime.bus.queries import error_from_wire
from runtime.errors import ClusterError, VersionMismatchError
from runtime.primitives.ids import DEFAULT_SYSTEM
from runtime.run.envelope import InterruptResponse
from runtime.supervision.commands import ClientEvent
from serve.answer_document import Ask
from serve.runtimes.answering import UNHEARD, AskCallbacks, OnEvent
from serve.typed_question import TypedQuestion

if TYPE_CHECKING:
    from runtime.settings import Settings

log = logging.getLogger(__name__)

CONNECT_TIMEOUT_S = 1.0
LOCK_PATIENCE_S = 2.0
LOCK_POLL_S = 0.02
MAX_LINE_BYTES = 64 * 2**20
MAX_SOCKET_PATH_BYTES = 100


class Shortcut(msgspec.Struct, frozen=True):
    """Holds what a client needs that asks a system without reading settings, if they are the system's.

    `sources`, `code_stamp`: the same digests of a client mean the same settings and code. `folders`: those in which
    files may be made anew. `log_level`, `log_format`: of the client's log.
    """

    sources: str
    code_stamp: str
    folders: tuple[str, str]
    log_level: Literal["debug", "info", "warning", "error"]
    log_format: Literal["text", "json"]


class WarmRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """Identifies the process of a warm system: socket, versions, and the digest of its settings."""

    pid: int
    socket: str
    code_version: str
    settings_digest: str
    ray_address: str
    started_at_ms: int
    shortcut: Shortcut | None = None


def warm_dir(settings: Settings) -> Path:
    """Return the folder in which the warm system of the settings' name keeps its record, lock and log."""
    return _folder(settings.state_dir, settings.system)


def warm_records(settings: Settings) -> dict[str, WarmRecord]:
    """Return the records of all live warm systems of the state folder, by the names of the systems."""
    return dict(records_in(settings.state_dir))


def records_in(state_dir: Path) -> Iterator[tuple[str, WarmRecord]]:
    """Yield name and record of each live warm system of a state folder."""
    named = sorted(path.name for path in (state_dir / "warm" / "systems").glob("*"))
    for name in (DEFAULT_SYSTEM, *named):
        record = _read_record(_folder(state_dir, name))
        if record is not None:
            yield name, record


def _folder(state_dir: Path, system: str) -> Path:
    folder = state_dir / "warm"
    return folder if system == DEFAULT_SYSTEM else folder / "systems" / system


def settings_digest(settings: Settings) -> str:
    """Return a digest of the settings: a client with other settings does not use this system."""
    return hashlib.sha256(settings.model_dump_json().encode()).hexdigest()[:16]


def socket_path(settings: Settings) -> Path:
    """Return the path of the socket; in a private temporary folder if the path of the state folder is too long."""
    path = warm_dir(settings) / "jeeves.sock"
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES:
        return path
    return Path(tempfile.mkdtemp(prefix="jeeves-")) / "jeeves.sock"


def remove_socket(path: Path, settings: Settings) -> None:
    """Delete the socket, and its temporary folder if it has one."""
    path.unlink(missing_ok=True)
    if path.parent != warm_dir(settings):
        with suppress(OSError):  # something else lies in it: the folder stays
            path.parent.rmdir()


def take_lock(settings: Settings, patience_s: float = 0.0) -> IO[str] | None:
    """Take the lock of the one warm system of that name, held while the file is open; None if it is taken.

    Clients hold it briefly to check whether a record is stale, so a starting system waits up to `patience_s`.
    """
    return _take_lock(warm_dir(settings), patience_s)


def _take_lock(folder: Path, patience_s: float = 0.0) -> IO[str] | None:
    folder.mkdir(parents=True, exist_ok=True)
    file = (folder / "lock").open("w")
    give_up_s = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= give_up_s:
                file.close()
                return None
            time.sleep(LOCK_POLL_S)
        else:
            return file


def is_locked(settings: Settings) -> bool:
    """Return True while the warm system is up, starting or stopping."""
    lock = take_lock(settings)
    if lock is not None:
        lock.close()
    return lock is None


def read_record(settings: Settings) -> WarmRecord | None:
    """Return the record of the live warm system, else None; a record without a held lock is stale and deleted."""
    return _read_record(warm_dir(settings))


def _read_record(folder: Path) -> WarmRecord | None:
    path = folder / "record.json"
    if not path.is_file():
        return None
    lock = _take_lock(folder)
    if lock is not None:
        with lock:
            path.unlink(missing_ok=True)
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=WarmRecord)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise ClusterError(
            f"the record of the warm system {path} is unreadable: {error}; end the process that holds "
            f"{path.with_name('lock')} (fuser shows it), and run `jeeves up`"
        ) from error


def write_record(settings: Settings, record: WarmRecord) -> None:
    """Write the record atomically."""
    path = warm_dir(settings) / "record.json"
    draft = path.with_suffix(".tmp")
    draft.write_bytes(msgspec.json.encode(record))
    draft.replace(path)


class WarmRuntime:
    """Sends requests to the warm system over its socket."""

    def __init__(self, record: WarmRecord, code_version: str) -> None:
        if record.code_version != code_version:
            raise VersionMismatchError(
                f"the warm system (process {record.pid}) runs code {record.code_version}, this is {code_version}; "
                "run `jeeves down` and `jeeves up`",
                running=record.code_version,
                ours=code_version,
            )
        self.record = record

    async def ask(self, ask: Ask, callbacks: AskCallbacks = UNHEARD) -> dict[str, Any]:
        request = {"op": "ask", "ask": msgspec.to_builtins(ask)}
        document: dict[str, Any] = (await self._exchange(request, callbacks))["document"]
        return document

    async def ask_typed(self, typed: TypedQuestion, callbacks: AskCallbacks = UNHEARD) -> dict[str, Any] | None:
        """Return the answer document of a question that the system applies its settings to.

        None if it cannot: then there is a fault to be told, or the question is for another system.
        """
        reply = await self._exchange({"op": "ask_typed", "typed": msgspec.to_builtins(typed)}, callbacks)
        document: dict[str, Any] | None = reply["document"]
        return document

    async def start(self, ask: Ask, key: str | None) -> str:
        """Start a run, or find the one that the same question started with this key; return its id."""
        request = {"op": "start", "ask": msgspec.to_builtins(ask), "key": key}
        return str((await self._exchange(request))["run_id"])

    async def watch(
        self, run_id: str, after_seq: int, on_event: OnEvent, until_it_waits: bool = False
    ) -> dict[str, Any]:
        """Report the events of a run until it ends, or waits for a person; return its document."""
        request = {"op": "watch", "run_id": run_id, "after_seq": after_seq, "until_it_waits": until_it_waits}
        document: dict[str, Any] = (await self._exchange(request, AskCallbacks(on_event)))["document"]
        return document

    async def document(self, run_id: str) -> dict[str, Any]:
        """Return the current document of a run. Raises UnknownNameError."""
        document: dict[str, Any] = (await self._exchange({"op": "document", "run_id": run_id}))["document"]
        return document

    async def cancel(self, run_id: str, reason: str) -> dict[str, Any]:
        """End a run and return its document. Raises UnknownNameError and RunStateError, as do the methods below."""
        request = {"op": "cancel", "run_id": run_id, "reason": reason}
        document: dict[str, Any] = (await self._exchange(request))["document"]
        return document

    async def pause(self, run_id: str, reason: str) -> dict[str, Any]:
        """Pause a run at its next step and return its document."""
        request = {"op": "pause", "run_id": run_id, "reason": reason}
        document: dict[str, Any] = (await self._exchange(request))["document"]
        return document

    async def answer(self, run_id: str, interrupt_id: str | None, response: InterruptResponse) -> int:
        """Answer the question of a waiting run; return the number of the last event before the answer."""
        answer = msgspec.to_builtins(response)
        request = {"op": "answer", "run_id": run_id, "interrupt_id": interrupt_id, "answer": answer}
        return int((await self._exchange(request))["after_seq"])

    async def query(self, type_: str, body: dict[str, Any]) -> dict[str, Any]:
        """Ask a query of a service on the bus. Raises what its handler raises."""
        answer: dict[str, Any] = (await self._exchange({"op": "query", "type": type_, "body": body}))["answer"]
        return answer

    async def status(self) -> dict[str, Any]:
        """Return the status of the warm system."""
        status: dict[str, Any] = (await self._exchange({"op": "status"}))["status"]
        return status

    async def stop(self) -> None:
        """Ask the warm system to end."""
        await self._exchange({"op": "stop"})

    async def close(self) -> None:
        """Do nothing: no resources are held between questions."""

    async def _exchange(self, request: dict[str, Any], callbacks: AskCallbacks = UNHEARD) -> dict[str, Any]:
        reader, writer = await self._connected()
        try:
            writer.write(json.dumps(request).encode() + b"\n")
            await writer.drain()
            while (line := await reader.readline()).endswith(b"\n"):
                answer: dict[str, Any] = json.loads(line)
                if "event" in answer:
                    callbacks.on_event(msgspec.convert(answer["event"], ClientEvent))
                elif "indexing" in answer:
                    callbacks.on_indexing(*answer["indexing"])
                elif "waiting" in answer:
                    callbacks.on_waiting(answer["waiting"])
                elif "interrupt" in answer:
                    response = await callbacks.on_interrupt(answer["interrupt"])
                    reply = None if response is None else {"answer": msgspec.to_builtins(response)}
                    writer.write(json.dumps(reply).encode() + b"\n")
                elif "error" in answer:
                    raise error_from_wire(answer["error"])
                else:
                    return answer
        except ConnectionError:
            log.info("warm.connection_lost", extra={"pid": self.record.pid})
        finally:
            writer.close()
            with suppress(ConnectionError):  # the other side was faster
                await writer.wait_closed()
        raise ClusterError(f"the warm system (process {self.record.pid}) ended before it answered; ask again")

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            opening = asyncio.open_unix_connection(self.record.socket, limit=MAX_LINE_BYTES)
            return await asyncio.wait_for(opening, CONNECT_TIMEOUT_S)
        except (OSError, TimeoutError) as error:
            reason = str(error) or "timed out"
            raise ClusterError(
                f"the warm system (process {self.record.pid}) does not answer: {reason}; run `jeeves down`"
            ) from error
