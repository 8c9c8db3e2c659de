"""Gathers what the pages show from the service: lists of runs, single runs, and the system."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from fastapi import Request

from runtime.errors import JeevesError, StateStorageError
from runtime.llm.call_metrics import ModelStats, together
from runtime.pipeline.config import PipelineConfig
from runtime.primitives.clock import SystemClock
from runtime.primitives.ids import RunId
from runtime.queues.work_table import QueueStats
from runtime.run.envelope import Envelope
from runtime.store.queue_counts import queue_counts
from runtime.store.run_records import RunSummary
from runtime.supervision.replay import Reason, explain
from serve.cited_code import Code, cited_code, read_until_ms
from serve.http.access.callers import Caller
from serve.http.answering.readiness import CHECK_TIMEOUT_S
from serve.http.answering.service import Service
from serve.http.answering.session_views import told_session_ids
from serve.http.dashboard.page_admission import SESSION_STATE
from serve.http.dashboard.page_frame import Frame
from serve.http.dashboard.page_sessions import PageSessions
from serve.http.dashboard.run_list_page import MAX_NOW, Asked, Now
from serve.http.dashboard.run_question import cited_in_review
from serve.http.dashboard.run_rows import RunRows, Wanted
from serve.http.dashboard.run_view_page import RunView
from serve.http.dashboard.system_page import SystemView
from serve.http.routes.governance import Governance
from serve.run_logs import rules_of, stored_run

RULES_KEPT = 100
# How old what streams show of the system may be: all of them share one look.
SYSTEM_AGE_S = 1.0


class PageViews:
    """Gathers the views of one service for its pages."""

    def __init__(self, service: Service, sessions: PageSessions) -> None:
        self.service = service
        self.rows = RunRows(service.spec.store)
        self._sessions = sessions
        self._clock = SystemClock()
        self._governance = Governance(service)
        self._rules: OrderedDict[RunId, PipelineConfig | None] = OrderedDict()
        self._system: tuple[float, SystemView] | None = None
        self._looking = asyncio.Lock()

    def frame(self, request: Request, caller: Caller) -> Frame:
        """Return what a page knows of its viewer."""
        session = getattr(request.state, SESSION_STATE, None)
        token = self._sessions.form_token(session, caller.user_id)
        return Frame(caller.user_id, caller.scopes, session is not None, token)

    @property
    def asked(self) -> Asked:
        """The repositories and pipelines that a question may name."""
        spec = self.service.spec
        pipelines = [spec.default_pipeline, *(name for name in spec.limits if name != spec.default_pipeline)]
        return Asked(list(spec.repositories), pipelines, spec.max_question_chars)

    async def now(self, caller: Caller, everybody: bool) -> tuple[list[Now], bool]:
        """Return the runs under way, as many as are shown, and whether there are more."""
        wanted = Wanted("open", everybody, limit=MAX_NOW + 1)
        found = await asyncio.to_thread(self.rows.rows, caller, wanted)
        envelopes = await asyncio.gather(*(self._envelope(row.run) for row in found[:MAX_NOW]))
        shown = [
            Now(envelope, row.question) for row, envelope in zip(found, envelopes, strict=False) if envelope is not None
        ]
        return shown, len(found) > MAX_NOW

    async def _envelope(self, run: RunSummary) -> Envelope | None:
        """Return the envelope of a run under way; None if nobody here drives it, or it is over by now."""
        try:
            async with asyncio.timeout(CHECK_TIMEOUT_S):
                envelope = await self.service.runs.envelope(run.run_id)
        except (JeevesError, TimeoutError):
            return None
        return None if envelope.lifecycle == "terminated" else envelope

    async def run(self, run_id: RunId, caller: Caller) -> RunView:
        """Return the view of a run. Raises UnknownNameError as `Service.envelope`."""
        envelope = await self.service.envelope(run_id, caller)
        is_steered = bool({"ask", "operate"} & set(caller.scopes)) and envelope.lifecycle != "terminated"
        shown = msgspec.convert(self.service.paths.value(msgspec.to_builtins(envelope)), Envelope)
        document = self.service.document(envelope)
        code = await asyncio.to_thread(self._code, envelope, [*document["citations"], *cited_in_review(shown)])
        session_id = envelope.request.session_id or ""
        session = (await told_session_ids(self.service.runs, [session_id])).get(session_id, "")
        return RunView(shown, document, await self._rules_of(run_id), is_steered, self.now_ms(), code, session)

    def _code(self, envelope: Envelope, citations: Sequence[Mapping[str, Any]]) -> Code:
        """Return the lines of citations, in a repository that is registered here."""
        folder = str(envelope.request.metadata.get("repo"))
        if folder not in self.service.spec.repositories.values():
            return {}
        return cited_code(Path(folder), citations, read_until_ms(envelope))

    def now_ms(self) -> int:
        """Return the time."""
        return self._clock.now_ms()

    async def decisions(self, run_id: RunId, caller: Caller) -> tuple[str, Sequence[Reason]]:
        """Return the question of a run and the decisions behind its state. Raises UnknownNameError."""
        envelope = await self.service.envelope(run_id, caller)
        run = await asyncio.to_thread(stored_run, self.service.spec.store, run_id, caller.may_see)
        reasons = await asyncio.to_thread(explain, run.rules, run.events)
        text = self.service.paths.text
        shown = [msgspec.structs.replace(each, what=text(each.what), why=text(each.why)) for each in reasons]
        return envelope.request.raw_input, shown

    async def system(self) -> SystemView:
        """Return how the system fares, as of a second ago at most."""
        async with self._looking:
            if self._system is None or time.monotonic() - self._system[0] > SYSTEM_AGE_S:
                self._system = (time.monotonic(), await self._look())
            return self._system[1]

    async def _look(self) -> SystemView:
        runs = self.service.runs
        health, queues = await asyncio.gather(self._governance.health(), asyncio.to_thread(_work_queues, self.service))
        try:
            async with asyncio.timeout(CHECK_TIMEOUT_S):
                tools = await runs.tool_health()
                models = together((await runs.model_stats()).values())
        except (JeevesError, TimeoutError):
            # The parts of the health say what does not answer.
            return SystemView(health, [], queues, ModelStats())
        return SystemView(health, tools, queues, models)

    async def _rules_of(self, run_id: RunId) -> PipelineConfig | None:
        """Return the rules of a run; what they are never changes."""
        if run_id not in self._rules:
            try:
                rules = await asyncio.to_thread(rules_of, self.service.spec.store, run_id)
            except JeevesError:
                # A log that cannot be read costs the picture, not the page.
                return None
            if rules is None:
                return None
            self._rules[run_id] = rules
            while len(self._rules) > RULES_KEPT:
                self._rules.popitem(last=False)
        return self._rules[run_id]


def _work_queues(service: Service) -> dict[str, QueueStats]:
    """Return the counts of the work queues; none if the store does not answer, which the health says."""
    try:
        return asyncio.run(queue_counts(service.spec.store))
    except StateStorageError:
        return {}
