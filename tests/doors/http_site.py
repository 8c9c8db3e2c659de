"""The HTTP service over real connections, in this process: its application and its server, over runs without Ray."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from fastapi import FastAPI
from starlette.types import ASGIApp

from runtime.agents.capability import StageContext, StageResult
from runtime.bus.queries import LocalQueries
from runtime.codebase.knowledge.earlier_answers import MemoryStore, memory_queries
from runtime.database.sqlite_database import SqliteDatabase
from runtime.errors import ClusterError
from runtime.hosting.limits.limits_service import LimitsService
from runtime.hosting.limits.rate_limits import RateState
from runtime.hosting.pinned_pipelines import PinnedPipelines
from runtime.memory.cache import CacheStore
from runtime.memory.run_metrics import RunMetricsStore, RunTotals
from runtime.memory.sessions import SessionStore, Turn, session_queries
from runtime.memory.tool_metrics import ToolHealth, ToolMetricsStore, tool_metric_queries
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import RunId
from runtime.run.envelope import Envelope, InterruptRequest, InterruptResponse, Request
from runtime.run.stage_view import StageView
from runtime.store.opening import open_run_log
from runtime.store.options import StoreOptions
from runtime.supervision.commands import ClientEvent
from runtime.supervision.replay import client_events_of
from runtime.testing import PipelineBuilder
from serve.http.answering.service import KEEPER, Service, ServiceSpec
from serve.http.app import http_app
from serve.http.connections.http_limits import HttpLimits
from serve.http.connections.listening import DRAIN_S, http_server, listening_socket
from tests.runtime.hosting.hosted import Hosted

REPO_NAME, REPO = "sample-repo", "/folders/of/the/operator/sample-repo"
MESSAGES = "/api/v1/chat/messages"
RUNS = "/api/v1/runs"
PIPELINE = PipelineBuilder("sample").stage("look", default_next="integration").stage("integration").build()
LEASE_MS = 3_600_000


class Site:
    """A service whose runs are driven in this process. `hold`: questions with that word wait until it is set."""

    def __init__(self, folder: Path, limits: HttpLimits, pipeline: PipelineConfig, told: Mapping[str, Any]) -> None:
        self.pipeline = pipeline
        self.hold = asyncio.Event()
        self.store = StoreOptions(str(folder), durability="normal")
        self.log = open_run_log(self.store, f"{KEEPER}-0")
        self.epoch = self.log.take_over("test", SystemClock().now_ms(), LEASE_MS, force=True)
        names = ("run_metrics", "cache", "tool_metrics")
        self._databases = [SqliteDatabase(folder / f"{name}.sqlite", label=name) for name in names]
        counts, cache, tool_counts = self._databases
        self.run_metrics = RunMetricsStore(counts, SystemClock())
        scripts = {"look": [self._look], "integration": [self._answer]}
        self.hosted = Hosted(pipeline, scripts, log=self.log, keep_metrics=self.run_metrics.add)
        self.sessions = SessionStore(folder / "sessions.sqlite")
        self.memory = MemoryStore(CacheStore(cache), SystemClock())
        self.queries = LocalQueries()
        self.queries.register({**session_queries(self.sessions), **memory_queries(self.memory)})
        self.tool_metrics = ToolMetricsStore(tool_counts, SystemClock())
        self.queries.register(tool_metric_queries(self.tool_metrics))
        self.places: dict[str, tuple[int, int, int]] = {}
        self.counted: list[tuple[str, str]] = []
        self.rates: LimitsService | None = None
        self.away: dict[str, str] = {}
        self.chain: dict[str, Any] = {}
        self.is_dead = False
        self.bug: Exception | None = None
        self.limits = limits
        bounds: dict[str, tuple[str, ...]] = {"sample": ("max_agent_hops",)}
        spec = ServiceSpec("sample", bounds, {REPO_NAME: REPO}, "rules", 1_000, self.store, http=limits)
        spec = msgspec.structs.replace(spec, tools=("grep", "read"))
        self.service = Service(self, msgspec.structs.replace(spec, **told))
        self.app = http_app(self.service)
        self.port = 0
        self.stop: Callable[[], None] = lambda: None
        self.under_way: Callable[[], bool] = lambda: False

    async def _look(self, _context: StageContext, view: StageView) -> StageResult:
        if "hold" in view.raw_input:
            await self.hold.wait()
        if "fail" in view.raw_input:
            raise ValueError("this stage fails")
        if "why" in view.raw_input and view.interrupt is None:
            return StageResult({}, interrupt=InterruptRequest("clarification", "Which?"))
        if "review" in view.raw_input:
            return _reviewed(view)
        return StageResult(_given(view.raw_input))

    async def _answer(self, _context: StageContext, view: StageView) -> StageResult:
        file = f"{'a_file_with_a_long_name_' * 4}b.py" if "cite long" in view.raw_input else "a b.py"
        marked = f"[{file}:3-4]" if "cite" in view.raw_input else ""
        cited = [{"file": file, "start_line": 3, "end_line": 4, "symbol": "f", "quote": "x", "why": ""}]
        if view.session_id is not None:
            turn = Turn(view.raw_input, "told", 1, REPO)
            self.sessions.append(view.session_id, turn)
        output = {"final_response": f"Answer to {view.raw_input}{marked}", "citations": cited if marked else []}
        return StageResult(output)

    async def submit(self, request: Request, run_id: RunId | None = None) -> RunId:
        return await self.hosted.runner.submit(request, run_id)

    async def take(self, user_id: str, endpoint: str) -> list[RateState]:
        self.counted.append((user_id, endpoint))
        return [] if self.rates is None else self.rates.take(user_id, endpoint)

    async def tool_health(self) -> list[ToolHealth]:
        return self.tool_metrics.health()

    async def run_totals(self) -> RunTotals | None:
        self.hosted.runner.report_metrics()
        return self.run_metrics.totals()

    async def model_places(self) -> dict[str, tuple[int, int, int]]:
        return self.places

    async def query(self, type_: str, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        self._check()
        return await self.queries.query(type_, body, timeout_s)

    async def refresh_index(self, root: str, timeout_s: float | None = None) -> dict[str, Any]:
        self._check()
        return {"root": root}

    async def envelope(self, run_id: RunId) -> Envelope:
        self._check()
        return self.hosted.runner.envelope(run_id)

    def watch(self, run_id: RunId, after_seq: int = 0) -> AsyncIterator[ClientEvent]:
        return self.hosted.runner.watch(run_id, after_seq)

    async def events(self, run_id: RunId, after_seq: int = 0) -> tuple[list[ClientEvent], bool]:
        is_over = (await self.envelope(run_id)).lifecycle == "terminated"
        rules = PinnedPipelines({"sample": self.pipeline}, self.log).today("sample")
        shown = client_events_of(rules, self.log.events(run_id))
        return [event for event in shown if event.seq > after_seq], is_over

    async def cancel(self, run_id: RunId, reason: str) -> None:
        await self.hosted.runner.cancel(run_id, reason)

    async def pause(self, run_id: RunId, reason: str) -> None:
        await self.hosted.runner.pause(run_id, reason)

    async def answer(self, run_id: RunId, interrupt_id: str, user_id: str, response: InterruptResponse) -> None:
        await self.hosted.runner.answer(run_id, interrupt_id, user_id, response)

    async def fork(self, source: RunId, at_seq: int) -> RunId:
        return await self.hosted.runner.fork(source, at_seq)

    async def running(self) -> int:
        self._check()
        return len(self.log.unfinished())

    async def bus_stats(self) -> dict[str, Any]:
        self._check()
        return {"endpoints": {"store": "connected", **self.away}, "parked": 0, "counts": {}, "middleware": self.chain}

    async def model_stats(self) -> dict[str, Any]:
        return {}

    def _check(self) -> None:
        if self.bug is not None:
            raise self.bug
        if self.is_dead:
            raise ClusterError("the supervisor is gone")

    async def close(self) -> None:
        """End the runs, and close all files."""
        await self.hosted.runner.close()
        self.log.close()
        self.sessions.close()
        for database in self._databases:
            database.close()

    async def sends(self, data: bytes, ends: bool = False) -> bytes:
        """What the server sends until it closes the connection, for these bytes; `ends`: no more will come."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data)
        if ends:
            writer.write_eof()
        try:
            return await asyncio.wait_for(reader.read(), 60)
        except ConnectionResetError:
            return b""
        finally:
            writer.close()

    async def call(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """The answer to a request; `body` is sent as JSON, bytes as they are; `_` in names of headers is `-`."""
        told = {"Host": f"localhost:{self.port}", "Connection": "close"}
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        if body is not None:
            told["Content-Type"] = "application/json"
        if method == "POST":
            told["Content-Length"] = str(len(data))
        told |= {name.replace("_", "-"): value for name, value in headers.items()}
        head = "".join(f"{name}: {value}\r\n" for name, value in told.items() if value)
        return Reply(await self.sends(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1") + data))

    async def ask(self, message: str, key: str = "", **fields: Any) -> Reply:
        """The answer to a question."""
        return await self.call("POST", MESSAGES, {"message": message, **fields}, Idempotency_Key=key)


def routed(app: Any) -> FastAPI:
    """The application behind all that is wrapped around it."""
    while not isinstance(app, FastAPI):
        app = app._app
    return app


async def until(condition: Callable[[], Any], timeout_s: float = 60) -> None:
    """Let the service go on until something is so."""
    deadline_s = asyncio.get_running_loop().time() + timeout_s
    for now_s in iter(asyncio.get_running_loop().time, None):
        if condition():
            return
        assert now_s < deadline_s, f"not within {timeout_s:g} s"
        await asyncio.sleep(0)


class Reply:
    """A response, taken apart."""

    def __init__(self, data: bytes) -> None:
        head, _, self.body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        assert first.startswith("HTTP/1.1 "), data[:200]
        self.status = int(first.split()[1])
        self.headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def run_id(self) -> str | None:
        return self.headers.get("jeeves-run-id")

    def is_problem(self, status: int, code: str, *words: str, run_id: str | None = None) -> None:
        """Checks a problem document, and that it names its run in header and body."""
        assert (self.status, self.headers["content-type"]) == (status, "application/problem+json"), self.body
        told = self.json
        assert (told["status"], told["code"]) == (status, code), told
        assert {"type", "title", "detail"} < set(told)
        assert (told.get("run_id"), self.run_id) == (run_id, run_id)
        for word in words:
            assert word in told["detail"], told


def _reviewed(view: StageView) -> StageResult:
    """A stage that wants its text read, and then hands out what the reviewer made of it."""
    if view.interrupt is None or view.interrupt.response is None:
        data = {"final_response": "See [a b.py:3-4].\n\n```\nx = 1\n```", "marks": ["[a b.py:3-4]"]}
        return StageResult({}, interrupt=InterruptRequest("agent_review", "May it go out?", data=data))
    response = view.interrupt.response
    return StageResult({"decision": response.decision, "data": response.data, "text": response.text})


def _given(question: str) -> dict[str, Any]:
    """What a stage gives out for "give 9" and "give path of /x"."""
    _, asked, what = question.rpartition("give ")
    if not asked:
        return {}
    return {"found": "x" * int(what) if what.isdigit() else what.removeprefix("path of ")}


@asynccontextmanager
async def open_site(
    folder: Path,
    *,
    pipeline: PipelineConfig = PIPELINE,
    told: Mapping[str, Any] | None = None,
    around: Callable[[ASGIApp], ASGIApp] = lambda app: app,
    drain_s: int = DRAIN_S,
    **limits: Any,
) -> AsyncIterator[Site]:
    """A site that listens, with these limits. `told`: fields of its ServiceSpec; `around`: what is put before it."""
    site = Site(folder, HttpLimits(**limits), pipeline, told or {})
    listening = listening_socket("127.0.0.1", 0)
    site.port = listening.getsockname()[1]
    server = http_server(around(site.app), site.limits, drain_s, site.service.closing.set)
    site.under_way = lambda: bool(server.server_state.tasks)
    site.stop = partial(setattr, server, "should_exit", True)
    serving = asyncio.create_task(server.serve([listening]))
    await server.listening.wait()
    try:
        yield site
    finally:
        server.should_exit = server.force_exit = True
        await serving
        await site.close()
        listening.close()


def unread_socket(port: int) -> socket.socket:
    """A connection whose answers are never read, with as little room for them as there can be."""
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    line.connect(("127.0.0.1", port))
    return line
