"""Collects the state changes and commands that follow from one event.

A `Transition` starts from a state and is changed by its methods: issue a stage, settle a result, set a timer, end the
run. It yields the next state and the commands, and never touches the state that it started from. Which step comes next
is decided in `runtime.supervision.flow`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from runtime.pipeline.config import AgentConfig, PipelineConfig
from runtime.primitives.ids import StageKey
from runtime.run.bounds import Grant, first_grant, soft_limits_passed
from runtime.run.envelope import (
    ClosedStatus,
    HistoryRecord,
    HistoryStatus,
    InterruptResponse,
    StageStatus,
    TerminalReason,
)
from runtime.run.goals import GoalBoard
from runtime.run.stage_view import StageView, handled_failures
from runtime.supervision.client_data import (
    BoundWarnedData,
    FinishedData,
    GoalForm,
    GoalsChangedData,
    InterruptRaisedData,
    InterruptResolvedData,
    StageFinishedData,
)
from runtime.supervision.commands import (
    CancelStage,
    ClientEvent,
    Command,
    Emit,
    Finish,
    GiveGrant,
    RunStage,
    SetTimer,
)
from runtime.supervision.events import StageUsage
from runtime.supervision.spending import booked, unreported
from runtime.supervision.state import Decision, Held, InFlight, RunState

DEADLINE_TIMER = "deadline"
SOFT_DEADLINE_TIMER = "soft_deadline"
STAGE_TIMERS = ("timeout:", "retry:")
FINAL_STAGE_GRACE_MS = 10_000
BACKOFF_FIRST_MS = 1_000
BACKOFF_CAP_MS = 30_000
NO_USAGE = StageUsage()

replace = msgspec.structs.replace


class Transition:
    """Accumulates the changes and commands of one event."""

    def __init__(self, config: PipelineConfig, state: RunState, at_ms: int) -> None:
        self.config = config
        self.at_ms = at_ms
        self.envelope = state.envelope
        self.in_flight = dict(state.in_flight)
        self.timers = dict(state.timers)
        self.fan_outs = dict(state.fan_outs)
        self.stages = dict(state.envelope.stages)
        self.ending = state.ending
        self.held = state.held
        self.revisits = state.revisits
        self.calls_models = state.calls_models
        self.instant: list[tuple[AgentConfig, StageKey, str | None]] = []
        self._next_event_seq = state.next_event_seq
        self._warned = state.warned
        self._booked = state.envelope.usage
        self._commands: list[Command] = []

    def decision(self) -> Decision:
        """Return the state after the event, and its commands in order."""
        state = RunState(
            envelope=replace(self.envelope, stages=self.stages),
            in_flight=self.in_flight,
            timers=self.timers,
            ending=self.ending,
            fan_outs=self.fan_outs,
            held=self.held,
            revisits=self.revisits,
            calls_models=self.calls_models,
            next_event_seq=self._next_event_seq,
            warned=frozenset(self._warned),
        )
        return Decision(state, tuple(self._commands))

    @property
    def is_over(self) -> bool:
        """True once the run has ended, by this event or before."""
        return self.envelope.lifecycle == "terminated"

    @property
    def has_begun(self) -> bool:
        """True once a stage was issued: a `ready` run then continues, and does not begin."""
        return self.envelope.usage.agent_hops > 0

    @property
    def at_work(self) -> list[str]:
        """The stages whose visit is not settled, in the order in which they were entered."""
        visits = [*(entry.stage for entry in self.in_flight.values()), *(visit[0].name for visit in self.instant)]
        return list(dict.fromkeys(visits))

    def emit(self, type_: str, entry: InFlight | None = None, data: Mapping[str, Any] | None = None) -> None:
        """Emit a client event under the next number."""
        event = ClientEvent(
            seq=self._next_event_seq,
            at_ms=self.at_ms,
            run_id=self.envelope.run_id,
            type=type_,
            hop=entry.key.hop if entry else None,
            stage=entry.stage if entry else None,
            data=dict(data or {}),
        )
        self._next_event_seq += 1
        self._commands.append(Emit(event))

    def set_timer(self, timer_id: str, due_ms: int) -> None:
        """Set a timer that fires at `due_ms`."""
        self.timers[timer_id] = due_ms
        self._commands.append(SetTimer(timer_id, due_ms))

    def shift(self, shift_ms: int) -> None:
        """Move every instant that is still to come, and the beginning of what is in progress; the past stays."""
        if not shift_ms:
            return
        self.timers = {timer_id: due_ms + shift_ms for timer_id, due_ms in self.timers.items()}
        self.in_flight = {
            key: replace(entry, issued_at_ms=entry.issued_at_ms + shift_ms) for key, entry in self.in_flight.items()
        }
        if self.ending is not None:
            self.ending = replace(self.ending, at_ms=self.ending.at_ms + shift_ms)
        bounds, interrupt = self.envelope.bounds, self.envelope.interrupt
        if bounds.deadline_ms is not None:
            bounds = replace(bounds, deadline_ms=bounds.deadline_ms + shift_ms)
        if interrupt is not None and interrupt.status == "pending" and interrupt.expires_at_ms is not None:
            interrupt = replace(interrupt, expires_at_ms=interrupt.expires_at_ms + shift_ms)
        self.envelope = replace(self.envelope, bounds=bounds, interrupt=interrupt)

    def mark(self, stage: str, status: StageStatus) -> None:
        """Set the status of a stage."""
        self.stages[stage] = status

    def clear(self, keys: tuple[str, ...]) -> None:
        """Drop the outputs under `keys`."""
        kept = {key: output for key, output in self.envelope.outputs.items() if key not in keys}
        self.envelope = replace(self.envelope, outputs=kept)

    def keep_output(self, key: str, output: dict[str, Any]) -> None:
        """Keep a stage's output, in the order of the pipeline whichever stage came first."""
        before = self.envelope.outputs
        outputs = {**before, key: output}
        rank = self.config.output_order
        if key not in before and any(rank[other] > rank[key] for other in before):
            outputs = dict(sorted(outputs.items(), key=lambda item: rank[item[0]]))
        self.envelope = replace(self.envelope, outputs=outputs)

    def issue(self, entry: InFlight) -> None:
        """Reserve the stage's first grant, and issue it to its agent."""
        agent = self.config.stages[entry.stage]
        has_model = agent.has_llm and self.calls_models
        grant = first_grant(agent, self.envelope, (other.grant for other in self.in_flight.values()), has_model)
        if self.ending is not None:
            grant = replace(grant, llm_calls=0)
        entry = replace(entry, grant=grant, issued_at_ms=self.at_ms, waiting_retry=False, started=False, tool_calls=0)
        key = str(entry.key)
        self.in_flight[key] = entry
        self.mark(entry.stage, "active")
        due_ms = self.at_ms + round((agent.timeout_s or self.config.default_timeout_s) * 1000)
        deadline_ms = self.envelope.bounds.deadline_ms
        if deadline_ms is not None and entry.stage == self.config.final_stage:
            ended_at_ms = self.ending.at_ms if self.ending else self.at_ms
            due_ms = min(due_ms, max(deadline_ms, ended_at_ms) + FINAL_STAGE_GRACE_MS)
        view = msgspec.msgpack.encode(self._view(entry))
        self._commands.append(RunStage(entry.key, entry.stage, view, grant, due_ms, entry.retries))
        self.set_timer(f"timeout:{key}", due_ms)

    def _view(self, entry: InFlight) -> StageView:
        envelope = self.envelope
        fan_out = self.fan_outs.get(entry.stage)
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
            item=fan_out.items[entry.key.item] if fan_out else None,
            item_index=entry.key.item if fan_out else None,
            interrupt=envelope.interrupt,
            failures=handled_failures(self.stages, envelope.history),
        )

    def give(self, entry: InFlight, more: Grant) -> None:
        """Reserve a further grant for a stage at work, and send it to its agent."""
        tokens = None if entry.grant.tokens is None else entry.grant.tokens + (more.tokens or 0)
        total = Grant(entry.grant.llm_calls + more.llm_calls, entry.grant.tool_calls + more.tool_calls, tokens)
        self.in_flight[str(entry.key)] = replace(entry, grant=total)
        self._commands.append(GiveGrant(entry.key, entry.stage, more))

    def settle(
        self,
        entry: InFlight,
        status: HistoryStatus,
        spent: StageUsage | None,
        error: str | None = None,
        digest: str = "",
    ) -> None:
        """Book what an attempt spent, release the rest of its grant, and record how it ended.

        `spent` None: it was lost or cut off and reports nothing. Then all that was reserved for it counts as spent: it
        may make calls until the cancellation arrives.
        """
        reported, fault = unreported(entry.grant), None
        if spent is not None:
            reported, fault = booked(spent, entry.grant, self.envelope.schema_version)
        calls = max(reported.tool_calls, min(entry.tool_calls, entry.grant.tool_calls))
        reported = replace(reported, tool_calls=calls)
        self._forget(entry)
        usage = self.envelope.usage
        record = HistoryRecord(
            stage=entry.stage,
            hop=entry.key.hop,
            attempt=entry.key.attempt,
            started_at_ms=entry.issued_at_ms,
            duration_ms=max(0, self.at_ms - entry.issued_at_ms),
            status=status,
            error=error,
            llm_calls=reported.llm_calls,
            tool_calls=reported.tool_calls,
            tokens=reported.tokens_in + reported.tokens_out,
            item=entry.key.item,
            digest=digest,
        )
        self.envelope = replace(
            self.envelope,
            usage=replace(
                usage,
                llm_calls=usage.llm_calls + reported.llm_calls,
                tool_calls=usage.tool_calls + reported.tool_calls,
                tokens_in=usage.tokens_in + reported.tokens_in,
                tokens_out=usage.tokens_out + reported.tokens_out,
                cost_micro=usage.cost_micro + reported.cost_micro,
            ),
            history=(*self.envelope.history, record),
            errors=(*self.envelope.errors, *(f"{entry.stage}: {text}" for text in (error, fault) if text)),
        )
        data = StageFinishedData(status=status, duration_ms=record.duration_ms, tool_calls=reported.tool_calls)
        if entry.stage in self.fan_outs:
            data["item"] = entry.key.item
        if error:
            data["error"] = error
        if fault:
            data["fault"] = fault
        self.emit("stage.finished", entry, data=data)

    def retry_later(self, entry: InFlight) -> None:
        """Keep the visit open and set a timer for its next attempt."""
        due_ms = self.at_ms + backoff_ms(entry.key, entry.retries)
        self.in_flight[str(entry.key)] = replace(entry, grant=Grant(), waiting_retry=True)
        self.set_timer(f"retry:{entry.key}", due_ms)

    def reissue(self, entry: InFlight, retries: int | None = None, reissues: int | None = None) -> None:
        """Run the same visit again under the next attempt number; no new hop."""
        self._forget(entry)
        following = replace(
            entry,
            key=replace(entry.key, attempt=entry.key.attempt + 1),
            retries=entry.retries if retries is None else retries,
            reissues=entry.reissues if reissues is None else reissues,
        )
        self.issue(following)

    def cancel_stage(self, entry: InFlight) -> None:
        """Send its agent a cancellation."""
        self._commands.append(CancelStage(entry.key, entry.stage))

    def drop(self, stage: str, status: StageStatus) -> None:
        """Stop every attempt of a stage that is in flight, and book it."""
        for entry in [entry for entry in self.in_flight.values() if entry.stage == stage]:
            self._drop_entry(entry)
        self.fan_outs.pop(stage, None)
        self.instant = [visit for visit in self.instant if visit[0].name != stage]
        self.mark(stage, status)

    def drop_all(self) -> None:
        """Stop all stages in flight."""
        for stage in self.at_work:
            self.drop(stage, "cancelled")

    def _drop_entry(self, entry: InFlight) -> None:
        if entry.waiting_retry:
            # Between two attempts it is not at work, and its last attempt is recorded already.
            self._forget(entry)
            return
        self.cancel_stage(entry)
        self.settle(entry, "cancelled", None)

    def _forget(self, entry: InFlight) -> None:
        key = str(entry.key)
        self.in_flight.pop(key, None)
        self.timers.pop(f"timeout:{key}", None)
        self.timers.pop(f"retry:{key}", None)

    def show_interrupt(self) -> None:
        """Emit the question of the run."""
        interrupt = self.envelope.interrupt
        assert interrupt is not None
        data = InterruptRaisedData(kind=interrupt.kind, question=interrupt.question, id=interrupt.id)
        if interrupt.message:
            data["message"] = interrupt.message
        if interrupt.data:
            data["data"] = interrupt.data
        if interrupt.expires_at_ms is not None:
            data["expires_at_ms"] = interrupt.expires_at_ms
        self.emit("interrupt.raised", data=data)

    def close_interrupt(self, status: ClosedStatus, response: InterruptResponse | None = None) -> None:
        """Record the outcome of the question that the run waits for, if it waits for one."""
        interrupt = self.envelope.interrupt
        if interrupt is None or interrupt.status != "pending" or self.envelope.lifecycle != "waiting":
            return
        self.timers.pop(f"interrupt:{interrupt.id}", None)
        self.envelope = replace(self.envelope, interrupt=replace(interrupt, status=status, response=response))
        self.emit("interrupt.resolved", data=InterruptResolvedData(id=interrupt.id, status=status))

    def finish(self, reason: TerminalReason, detail: str | None) -> None:
        """End the run, with exactly one reason."""
        if self.is_over:
            return
        self.drop_all()
        self.timers.clear()
        self.revisits = ()
        self.close_interrupt("cancelled")
        self.held = Held()
        self.envelope = replace(
            self.envelope,
            lifecycle="terminated",
            terminal_reason=reason,
            terminal_detail=detail,
            finished_at_ms=self.at_ms,
            current_stage=None,
        )
        self.emit("run.finished", data=FinishedData(terminal_reason=reason, detail=detail))
        self._commands.append(Finish(self.envelope.run_id, reason))

    def warn_of_bounds(self) -> None:
        """Warn once for each bound that 80 % of it is used."""
        if self.is_over or self.envelope.usage is self._booked:
            return
        for name in sorted(soft_limits_passed(self.envelope) - self._warned):
            self._warned = self._warned | {name}
            self.emit("bound.warned", data=BoundWarnedData(bound=name))


def backoff_ms(key: StageKey, retries: int) -> int:
    """Return the wait before the next attempt: 1 s × 2 per retry, at most 30 s, shortened by up to a quarter.

    The fraction comes from the key's hash, so that the wait is deterministic.
    """
    full = min(BACKOFF_CAP_MS, BACKOFF_FIRST_MS * 2**retries)
    fraction = hashlib.sha256(str(key).encode()).digest()[0] / 255
    return int(full * (1 - 0.25 * fraction))


def goals_summary(board: GoalBoard) -> GoalsChangedData:
    """Return the part of the goals that callers see."""
    goals = [GoalForm(id=goal.id, text=goal.text, status=goal.status) for goal in board.goals]
    return GoalsChangedData(round=board.round_number, goals=goals)
