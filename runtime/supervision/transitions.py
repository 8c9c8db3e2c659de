"""The steps that decisions are made of: enter a stage, move along an edge, settle a result, end the run.

A `Turn` collects what one event changes. It starts from a state, is changed by the steps below, and gives the next
state and the commands; the state that it started from is never touched.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from runtime.bounds import Blocked, Grant, blocked_edge, blocked_hop, grant_for, is_loop_back, soft_limits_passed
from runtime.envelope import HistoryRecord, HistoryStatus, InterruptRequest, TerminalReason
from runtime.goals import GoalBoard
from runtime.ids import StageKey, StageName
from runtime.pipeline import PipelineConfig, edge_name
from runtime.supervision.commands import (
    CancelStage,
    ClientEvent,
    ClientEventType,
    Command,
    Emit,
    Finish,
    RunStage,
    SetTimer,
    StageView,
)
from runtime.supervision.events import StageUsage
from runtime.supervision.state import Decision, Ending, InFlight, RunState

DEADLINE_TIMER = "deadline"
FINAL_STAGE_GRACE_MS = 10_000
BACKOFF_FIRST_MS = 1_000
BACKOFF_CAP_MS = 30_000
NO_USAGE = StageUsage()

replace = msgspec.structs.replace


class Turn:
    """One event being decided."""

    def __init__(self, config: PipelineConfig, state: RunState, at_ms: int) -> None:
        self.config = config
        self.at_ms = at_ms
        self.envelope = state.envelope
        self.in_flight = dict(state.in_flight)
        self.timers = dict(state.timers)
        self.ending = state.ending
        self._next_event_seq = state.next_event_seq
        self._warned = state.warned
        self._commands: list[Command] = []

    def decision(self) -> Decision:
        """The state after the turn, and its commands in order."""
        state = RunState(
            self.envelope, self.in_flight, self.timers, self.ending, self._next_event_seq, frozenset(self._warned)
        )
        return Decision(state, tuple(self._commands))

    def emit(self, type_: ClientEventType, entry: InFlight | None = None, data: dict[str, Any] | None = None) -> None:
        """Show callers that something happened, under the next number."""
        event = ClientEvent(
            seq=self._next_event_seq,
            at_ms=self.at_ms,
            run_id=self.envelope.run_id,
            type=type_,
            hop=entry.key.hop if entry else None,
            stage=entry.stage if entry else None,
            data=data or {},
        )
        self._next_event_seq += 1
        self._commands.append(Emit(event))

    def set_timer(self, timer_id: str, due_ms: int) -> None:
        """Ask to be told when `due_ms` has come."""
        self.timers[timer_id] = due_ms
        self._commands.append(SetTimer(timer_id, due_ms))

    def enter(self, target: str) -> None:
        """Execute `target` next, or end by the hop bound."""
        blocked = blocked_hop(self.config, self.envelope, target)
        if blocked is not None:
            self.end_by_bound(blocked, None)
            return
        usage = replace(self.envelope.usage, agent_hops=self.envelope.usage.agent_hops + 1)
        self.envelope = replace(self.envelope, usage=usage, current_stage=StageName(target))
        self._issue(InFlight(StageKey(self.envelope.run_id, usage.agent_hops), StageName(target), Grant(), self.at_ms))

    def move(self, source: str, target: str, clear: tuple[str, ...]) -> None:
        """Take the edge source → target and enter the target, or end by the bound that forbids it."""
        blocked = blocked_edge(self.config, self.envelope, source, target)
        if blocked is None:
            blocked = blocked_hop(self.config, self.envelope, target)
        if blocked is not None:
            self.end_by_bound(blocked, source)
            return
        name = edge_name(source, target)
        usage = self.envelope.usage
        usage = replace(
            usage,
            edges={**usage.edges, name: usage.edges.get(name, 0) + 1},
            iterations=usage.iterations + is_loop_back(self.config, source, target),
        )
        self.envelope = replace(self.envelope, usage=usage)
        self.clear(clear)
        self.enter(target)

    def clear(self, keys: tuple[str, ...]) -> None:
        """Drop the outputs under `keys`."""
        kept = {key: output for key, output in self.envelope.outputs.items() if key not in keys}
        self.envelope = replace(self.envelope, outputs=kept)

    def end_by_bound(self, blocked: Blocked, source: str | None) -> None:
        """The run ends here; the final stage, where there is one, still says what was found."""
        final = self.config.final_stage
        if final is None or source == final or self.ending is not None:
            self.finish(blocked.reason, blocked.detail)
            return
        if blocked_hop(self.config, self.envelope, final) is not None:
            self.finish(blocked.reason, blocked.detail)
            return
        self.ending = Ending(blocked.reason, blocked.detail, self.at_ms)
        self.enter(final)

    def _issue(self, entry: InFlight) -> None:
        grant = grant_for(self.envelope, (other.grant for other in self.in_flight.values()))
        if self.ending is not None:
            grant = replace(grant, llm_calls=0)
        entry = replace(entry, grant=grant, issued_at_ms=self.at_ms, waiting_retry=False, started=False, tool_calls=0)
        self.in_flight[str(entry.key)] = entry
        agent = self.config.stages[entry.stage]
        due_ms = self.at_ms + round((agent.timeout_s or self.config.default_timeout_s) * 1000)
        deadline_ms = self.envelope.bounds.deadline_ms
        if deadline_ms is not None and entry.stage == self.config.final_stage:
            ended_at_ms = self.ending.at_ms if self.ending else self.at_ms
            due_ms = min(due_ms, max(deadline_ms, ended_at_ms) + FINAL_STAGE_GRACE_MS)
        view = msgspec.msgpack.encode(self._view(entry))
        self._commands.append(RunStage(entry.key, entry.stage, view, grant, due_ms))
        self.set_timer(f"timeout:{entry.key}", due_ms)

    def _view(self, entry: InFlight) -> StageView:
        envelope = self.envelope
        return StageView(
            raw_input=envelope.request.raw_input,
            metadata=envelope.request.metadata,
            session_id=envelope.request.session_id,
            user_id=envelope.request.user_id,
            outputs=envelope.outputs,
            goals=envelope.goals,
            context_bounds=envelope.bounds.context,
            edges=envelope.usage.edges,
            ended_by=self.ending.reason if self.ending else None,
            hop=entry.key.hop,
        )

    def settle(self, entry: InFlight, status: HistoryStatus, spent: StageUsage, error: str | None = None) -> None:
        """Book what an attempt spent, give back what it did not, and record how it ended.

        An attempt that was lost or cut off reports nothing: the tool calls that it was seen to make are booked.
        """
        spent = replace(spent, tool_calls=max(spent.tool_calls, min(entry.tool_calls, entry.grant.tool_calls)))
        self.in_flight.pop(str(entry.key), None)
        self.timers.pop(f"timeout:{entry.key}", None)
        self.timers.pop(f"retry:{entry.key}", None)
        usage = self.envelope.usage
        record = HistoryRecord(
            stage=entry.stage,
            hop=entry.key.hop,
            attempt=entry.key.attempt,
            started_at_ms=entry.issued_at_ms,
            duration_ms=max(0, self.at_ms - entry.issued_at_ms),
            status=status,
            error=error,
            llm_calls=spent.llm_calls,
            tool_calls=spent.tool_calls,
            tokens=spent.tokens_in + spent.tokens_out,
        )
        self.envelope = replace(
            self.envelope,
            usage=replace(
                usage,
                llm_calls=usage.llm_calls + spent.llm_calls,
                tool_calls=usage.tool_calls + spent.tool_calls,
                tokens_in=usage.tokens_in + spent.tokens_in,
                tokens_out=usage.tokens_out + spent.tokens_out,
            ),
            history=(*self.envelope.history, record),
            errors=(*self.envelope.errors, f"{entry.stage}: {error}") if error else self.envelope.errors,
        )
        data: dict[str, Any] = {"status": status, "duration_ms": record.duration_ms, "tool_calls": spent.tool_calls}
        self.emit("stage.finished", entry, data={**data, "error": error} if error else data)

    def retry_later(self, entry: InFlight) -> None:
        """Keep the visit open and set a timer for its next attempt."""
        due_ms = self.at_ms + backoff_ms(entry.key, entry.retries)
        self.in_flight[str(entry.key)] = replace(entry, grant=Grant(), waiting_retry=True)
        self.set_timer(f"retry:{entry.key}", due_ms)

    def reissue(self, entry: InFlight, retries: int | None = None, reissues: int | None = None) -> None:
        """Run the same visit again under the next attempt number; no new hop."""
        self.in_flight.pop(str(entry.key), None)
        self.timers.pop(f"timeout:{entry.key}", None)
        following = replace(
            entry,
            key=replace(entry.key, attempt=entry.key.attempt + 1),
            retries=entry.retries if retries is None else retries,
            reissues=entry.reissues if reissues is None else reissues,
        )
        self._issue(following)

    def cancel_stage(self, entry: InFlight) -> None:
        """Tell the agent to stop."""
        self._commands.append(CancelStage(entry.key, entry.stage))

    def cancel_all(self, status: HistoryStatus) -> None:
        """Stop everything that is in flight and book it."""
        for entry in list(self.in_flight.values()):
            if entry.waiting_retry:
                self.drop_retry(entry)
                continue
            self.cancel_stage(entry)
            self.settle(entry, status, NO_USAGE)

    def drop_retry(self, entry: InFlight) -> None:
        """Give up a visit between two attempts: nobody works on it, and its last attempt is in the record already."""
        self.in_flight.pop(str(entry.key), None)
        self.timers.pop(f"retry:{entry.key}", None)

    def raise_interrupt(self, request: InterruptRequest) -> None:
        """Put a question to the caller; a caller that does not wait gets it as the end of the run."""
        self.envelope = replace(self.envelope, interrupt=request)
        self.emit("interrupt.raised", data={"kind": request.kind, "question": request.question})
        reason: TerminalReason = (
            "clarification_required" if request.kind == "clarification" else "confirmation_required"
        )
        self.finish(reason, request.question)

    def finish(self, reason: TerminalReason, detail: str | None) -> None:
        """End the run, with exactly one reason."""
        if self.envelope.lifecycle == "terminated":
            return
        self.cancel_all("cancelled")
        self.timers.clear()
        self.envelope = replace(
            self.envelope,
            lifecycle="terminated",
            terminal_reason=reason,
            terminal_detail=detail,
            finished_at_ms=self.at_ms,
            current_stage=None,
        )
        self.emit("run.finished", data={"terminal_reason": reason, "detail": detail})
        self._commands.append(Finish(self.envelope.run_id, reason))

    def warn_of_bounds(self) -> None:
        """Say once for each bound that 80 % of it is used."""
        if self.envelope.lifecycle == "terminated":
            return
        for name in sorted(soft_limits_passed(self.envelope) - self._warned):
            self._warned = self._warned | {name}
            self.emit("bound.warned", data={"bound": name})


def backoff_ms(key: StageKey, retries: int) -> int:
    """Wait before the next attempt: 1 s × 2 per retry, at most 30 s, shortened by up to a quarter by the key's hash."""
    full = min(BACKOFF_CAP_MS, BACKOFF_FIRST_MS * 2**retries)
    fraction = hashlib.sha256(str(key).encode()).digest()[0] / 255
    return int(full * (1 - 0.25 * fraction))


def interrupt_from_output(target: str, output: dict[str, Any]) -> InterruptRequest:
    """The question that a stage left in its output for a routing target like `clarification`."""
    kind = target if target in ("clarification", "confirmation", "agent_review") else "clarification"
    question = str(output.get(f"{kind}_question") or output.get("question") or "The run needs your answer to go on.")
    return InterruptRequest(kind=kind, question=question)  # type: ignore[arg-type]


def goals_summary(board: GoalBoard) -> dict[str, Any]:
    """What a caller is shown of the goals."""
    return {
        "round": board.round_number,
        "goals": [{"id": goal.id, "text": goal.text, "status": goal.status} for goal in board.goals],
    }
