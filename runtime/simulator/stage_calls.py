"""Makes the calls of simulated stages: reserved first, and journaled if they have effects outside.

A tool call takes three steps, and a crash may come between them: the intention is recorded, the effect happens, its
result is recorded. A result of an earlier attempt is taken from the journal; for a call in doubt the tool's declaration
decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.agents.reporter import StagePayload
from runtime.effects.journal import Journal, effect_key, resolve
from runtime.errors import FencedError, StateStorageError
from runtime.run.bounds import Grant
from runtime.simulator.ground_truth import Books
from runtime.simulator.scripts import CallModel, CallTool, Steps
from runtime.simulator.world import Process
from runtime.supervision.commands import RunStage
from runtime.supervision.events import BudgetRequested, ToolCalled

RETRY_MS = 300
MODEL_MS = 40
TOOL_MS = 15
OPERATOR_MS = 3_000
ASKED_TOOL_CALLS = 8
ASK_AGAIN_MS = 5_000
MOST_ASKED = 6
MADE = b"made"


class Work:
    """Tracks one attempt in progress, with its granted and spent budget."""

    def __init__(self, command: RunStage, steps: Steps) -> None:
        self.key = command.key
        self.steps = steps
        self.granted = command.grant
        self.llm_calls = 0
        self.tool_calls = 0
        self.tokens = 0
        self.is_dropped = False
        self.on_grant: Callable[[Grant], None] | None = None

    def lacks(self, llm_calls: int = 0, tool_calls: int = 0, tokens: int = 0) -> Grant | None:
        """Return the grant that is missing for so much more usage; None if the budget suffices."""
        more_llm = max(0, self.llm_calls + llm_calls - self.granted.llm_calls)
        more_tools = max(0, self.tool_calls + tool_calls - self.granted.tool_calls)
        more_tokens = 0 if self.granted.tokens is None else max(0, self.tokens + tokens - self.granted.tokens)
        return Grant(more_llm, more_tools, more_tokens) if more_llm or more_tools or more_tokens else None

    def grant(self, more: Grant) -> None:
        """Add a grant to the budget, and resume the call that waited for it."""
        had, tokens = self.granted, self.granted.tokens
        tokens = None if tokens is None else tokens + (more.tokens or 0)
        self.granted = Grant(had.llm_calls + more.llm_calls, had.tool_calls + more.tool_calls, tokens)
        on_grant, self.on_grant = self.on_grant, None
        if on_grant is not None:
            on_grant(more)


class Calls:
    """Makes the calls of every attempt of `agent`; `go_on` is called with each call's answer."""

    def __init__(
        self,
        agent: Process,
        journal: Journal,
        books: Books,
        report: Callable[[StagePayload], None],
        go_on: Callable[[Work, Any], None],
        is_reserving: bool,
    ) -> None:
        self._agent = agent
        self._journal = journal
        self._books = books
        self._report = report
        self._resume = go_on
        self._is_reserving = is_reserving

    def model(self, work: Work, step: CallModel) -> None:
        """Make a model call; the answer is None, or the bound that forbids it."""

        def then(is_enough: bool) -> None:
            if not is_enough:
                lacking = work.lacks(llm_calls=1)
                self._books.refused(work.key)
                self._resume(work, "llm_calls" if lacking is not None and lacking.llm_calls else "tokens")
                return
            work.llm_calls += 1
            work.tokens += step.tokens
            self._books.called_model(work.key, step.tokens)
            self._agent.after(MODEL_MS, self._resume, work, None)

        self._reserve(work, work.lacks(llm_calls=1, tokens=step.tokens), then)

    def tool(self, work: Work, step: CallTool) -> None:
        """Make a tool call; the answer is its result, or None if the run has no call left."""

        def then(is_enough: bool) -> None:
            if not is_enough:
                self._books.refused(work.key)
                self._resume(work, None)
                return
            work.tool_calls += 1
            self._look_up(work, step)

        self._reserve(work, work.lacks(tool_calls=1), then)

    def _reserve(self, work: Work, lacks: Grant | None, then: Callable[[bool], None]) -> None:
        """Call `then` with True once the budget suffices, with False if the run has no more."""
        if lacks is None or not self._is_reserving:
            then(True)
            return
        wanted = Grant(lacks.llm_calls, ASKED_TOOL_CALLS if lacks.tool_calls else 0, lacks.tokens or 0)

        def given(more: Grant) -> None:
            tools = more.tool_calls >= lacks.tool_calls
            then(more.llm_calls >= lacks.llm_calls and tools and (more.tokens or 0) >= (lacks.tokens or 0))

        work.on_grant = given
        self._ask(work, BudgetRequested(work.key, wanted.llm_calls, wanted.tool_calls, wanted.tokens or 0), given)

    def _ask(self, work: Work, wanted: BudgetRequested, given: Callable[[Grant], None], asked: int = 0) -> None:
        """Request a grant repeatedly, as it may get lost; no answer in time counts as a refusal."""
        if work.is_dropped or work.on_grant is not given:
            return
        if asked == MOST_ASKED:
            work.grant(Grant(tokens=0))
            return
        if asked:
            self._books.asked_again(work.key)
        self._report(wanted)
        if not self._agent.world.is_perfect:
            self._agent.after(ASK_AGAIN_MS, self._ask, work, wanted, given, asked + 1)

    def _look_up(self, work: Work, step: CallTool) -> None:
        """Reuse the journaled result; without one make the call, or check first whether it was made."""
        if work.is_dropped:
            return
        key = effect_key(work.key, step.number, step.request)
        try:
            resolution = resolve(self._journal.find(key), step.declaration)
            if resolution.action == "run":
                self._journal.intend(key, work.key.attempt)
        except FencedError:
            work.is_dropped = True
        except StateStorageError:
            self._agent.after(RETRY_MS, self._look_up, work, step)
        else:
            if resolution.action == "reuse":
                self._resume(work, resolution.result)
            elif resolution.action == "run":
                self._agent.after(TOOL_MS, self._make, work, step)
            else:
                wait_ms = TOOL_MS if resolution.action == "check" else OPERATOR_MS
                self._agent.after(wait_ms, self._make_unless_made, work, step)

    def _make_unless_made(self, work: Work, step: CallTool) -> None:
        """Make the call unless a check, by the tool or an operator, finds that it was made."""
        if self._books.was_made(effect_key(work.key, step.number, step.request)):
            self._record(work, step)
        else:
            self._make(work, step)

    def _make(self, work: Work, step: CallTool) -> None:
        if not work.is_dropped:
            self._books.made(effect_key(work.key, step.number, step.request), step.declaration, self._agent)
            self._agent.after(TOOL_MS, self._record, work, step)

    def _record(self, work: Work, step: CallTool) -> None:
        if work.is_dropped:
            return
        try:
            self._journal.done(effect_key(work.key, step.number, step.request), MADE)
        except StateStorageError:
            self._agent.after(RETRY_MS, self._record, work, step)
            return
        self._books.reported_call(work.key)
        self._report(ToolCalled(work.key, step.declaration, "ok"))
        self._resume(work, MADE)
