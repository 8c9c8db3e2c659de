"""Clients of the MCP door: the official SDK's over either transport, and a raw one over pipes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from serve.mcp.search.fitting import size_tokens
from tests.doors.program import Program
from tests.readiness import is_ready

T = TypeVar("T")
PATIENCE_S = 120.0


def command(repo: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "serve.cli.main", "mcp", "--repo", str(repo), *options]


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def size_of(result: CallToolResult) -> int:
    """The tokens of an answer: of its text and of its data together."""
    return size_tokens(text_of(result)) + size_tokens(json.dumps(result.structured_content, ensure_ascii=False))


@contextlib.asynccontextmanager
async def stdio_session(jeeves: Program, repo: Path, *options: str, **client_options: Any) -> AsyncIterator[Client]:
    whole = command(repo, *options)
    parameters = StdioServerParameters(command=whole[0], args=whole[1:], env=jeeves.env, cwd=str(jeeves.cwd))
    async with Client(stdio_client(parameters), **client_options) as client:
        yield client


class HttpServerProcess:
    """`jeeves mcp --http` on a free port."""

    def __init__(self, jeeves: Program, repo: Path, *options: str, **env: str) -> None:
        self.process = subprocess.Popen(
            command(repo, "--http", "127.0.0.1:0", *options),
            env={**jeeves.env, **env},
            cwd=jeeves.cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        told = self.process.stdout.readline()
        assert told.startswith("listening on http://127.0.0.1:"), told
        self.url = told.split()[2].rstrip(";")

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2].partition("/")[0])

    def close(self) -> int:
        self.process.terminate()
        with self.process.stdout or contextlib.nullcontext():
            return self.process.wait(PATIENCE_S)


@contextlib.asynccontextmanager
async def http_session(jeeves: Program, repo: Path, *options: str) -> AsyncIterator[Client]:
    server = await asyncio.to_thread(HttpServerProcess, jeeves, repo, *options)
    try:
        # The SDK's own client gives up a call that has waited 30 s for a connection, behind a thousand others.
        async with (
            httpx2.AsyncClient(timeout=httpx2.Timeout(PATIENCE_S, read=None, pool=None)) as http_client,
            Client(streamable_http_client(server.url, http_client=http_client)) as client,
        ):
            yield client
    finally:
        await asyncio.to_thread(server.close)


class Site:
    """A client that lives in a loop of its own, so that the tests of a module share one server."""

    def __init__(self, session: contextlib.AbstractAsyncContextManager[Client]) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._ended = asyncio.Event()
        self._opened: asyncio.Future[Client] = self._loop.create_future()
        self._living = asyncio.run_coroutine_threadsafe(self._live(session), self._loop)
        self.client = self.run(asyncio.wait_for(_result(self._opened), PATIENCE_S))

    async def _live(self, session: contextlib.AbstractAsyncContextManager[Client]) -> None:
        try:
            async with session as client:
                self._opened.set_result(client)
                await self._ended.wait()
        except BaseException as error:
            if not self._opened.done():
                self._opened.set_exception(error)
            raise

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S)

    def call(self, tool: str, **arguments: Any) -> CallToolResult:
        return self.run(self.client.call_tool(tool, arguments))

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._living.result(PATIENCE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _result(future: asyncio.Future[T]) -> T:
    return await future


class RawClient:
    """A client that writes any bytes, over pipes."""

    def __init__(self, jeeves: Program, repo: Path, *options: str, **env: str) -> None:
        self.process = subprocess.Popen(
            command(repo, *options),
            env={**jeeves.env, **env},
            cwd=jeeves.cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._unread = b""
        self._answers: dict[object, dict[str, Any]] = {}

    def send(self, message: dict[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def request(self, number: int, method: str, **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})

    def initialize(self) -> dict[str, Any]:
        client = {"name": "raw", "version": "1"}
        self.request(0, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        answer = self.answer(0)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def line(self, timeout_s: float = PATIENCE_S) -> dict[str, Any]:
        """The next message, which must be JSON on a line of its own."""
        assert self.process.stdout is not None
        ends_s = time.monotonic() + timeout_s
        while b"\n" not in self._unread:
            left_s = ends_s - time.monotonic()
            assert left_s > 0, "no message came"
            if is_ready(self.process.stdout, left_s):
                data = os.read(self.process.stdout.fileno(), 1 << 16)
                assert data, "the server has ended"
                self._unread += data
        line, _, self._unread = self._unread.partition(b"\n")
        read: dict[str, Any] = json.loads(line)
        assert read["jsonrpc"] == "2.0"
        return read

    def answer(self, number: int | None) -> dict[str, Any]:
        """The answer to a request; notifications are passed over, answers to others are kept."""
        while number not in self._answers:
            message = self.line()
            if "method" not in message:
                self._answers[message["id"]] = message
        return self._answers.pop(number)

    def children(self) -> set[int]:
        """The processes that the server and its descendants have started."""
        parents: dict[int, int] = {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                with contextlib.suppress(OSError):
                    parents[int(folder.name)] = int((folder / "stat").read_bytes().rpartition(b")")[2].split()[1])
        found = {self.process.pid}
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return found - {self.process.pid}

    def ended_within(self, timeout_s: float) -> int:
        """The exit status, once the server has ended by itself."""
        return self.process.wait(timeout_s)

    def close(self) -> str:
        """End the server, and return what it wrote on standard error."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                assert pipe is not None
                pipe.close()
        assert self.process.stderr is not None
        with self.process.stderr as errors:
            return errors.read().decode(errors="replace")


@contextlib.contextmanager
def raw_client(jeeves: Program, repo: Path, *options: str, **env: str) -> Iterator[RawClient]:
    client = RawClient(jeeves, repo, *options, **env)
    try:
        yield client
    finally:
        client.close()
