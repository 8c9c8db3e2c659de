"""Moves a task from phase to phase along declared transitions. Pure: a state and a view give the next.

After each step the first of these applies: a transition from any phase; the failure condition; success, which takes the
first allowed transition forward; the first allowed way back, until the phase has succeeded; the most steps, which take
the first allowed transition forward and otherwise end the task. Else the phase goes on.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from runtime.context.models import PhaseState
from runtime.context.phase_definition import BUILT_IN, GuardRegistry, GuardSpec, PhaseDefinition, PhaseTransition
from runtime.context.phase_guards import PhaseView
from runtime.errors import RunStateError, UnknownNameError


class PhaseMachine:
    """Applies one definition; it has no state of its own, so that a restart changes nothing."""

    def __init__(self, definition: PhaseDefinition, registry: GuardRegistry = BUILT_IN) -> None:
        self._definition = definition
        self._registry = registry

    @property
    def definition(self) -> PhaseDefinition:
        """The phases and transitions."""
        return self._definition

    def start(self, view: PhaseView) -> PhaseState:
        """Return the state before the first step.

        The first phase is skipped if it has succeeded and a transition forward holds whose guards ask for something, as
        where an analysis was made beforehand.
        """
        first = PhaseState(current_phase=next(iter(self._definition.phases)))
        view = msgspec.structs.replace(view, steps_in_phase=0)
        if not self._holds(self._definition.phases[first.current_phase].success, view):
            return first
        skipped = next((move for move in self._forward(first.current_phase, view) if move.when), None)
        return first if skipped is None else _entered(first, skipped.to, None)

    def after_step(self, state: PhaseState, view: PhaseView) -> PhaseState:
        """Return the state after one more step in the current phase; a final phase stays as it is."""
        if self.is_final(state):
            return state
        rule = self._definition.phases[state.current_phase]
        stayed = state.changed(steps_in_phase=state.steps_in_phase + 1, blocked_reason=None)
        view = msgspec.structs.replace(view, steps_in_phase=stayed.steps_in_phase)
        for transition in self._definition.from_any:
            if self._holds(transition.when, view):
                return _entered(stayed, transition.to, f"{_named(transition.when)} in phase {state.current_phase}")
        if rule.failure and self._holds(rule.failure, view):
            reason = f"phase {state.current_phase} failed: {_named(rule.failure)}"
            return _entered(stayed, self._definition.on_failure, reason)
        return self._moved(stayed, view)

    def targets(self, state: PhaseState, view: PhaseView) -> tuple[str, ...]:
        """Return the phases that may be entered now, in the order of their transitions."""
        if self.is_final(state):
            return ()
        view = msgspec.structs.replace(view, steps_in_phase=state.steps_in_phase)
        return tuple(dict.fromkeys(move.to for move in self._allowed(state.current_phase, view)))

    def move(self, state: PhaseState, to: str, view: PhaseView) -> PhaseState:
        """Return the state in phase `to`, entered by choice. Raises RunStateError if no transition allows that now."""
        allowed = self.targets(state, view)
        if to not in allowed:
            raise RunStateError(
                f"phase '{to}' cannot be entered from '{state.current_phase}' now;"
                f" allowed: {', '.join(allowed) or 'none'}"
            )
        return _entered(state, to, None)

    def is_final(self, state: PhaseState) -> bool:
        """Return whether the task has ended. Raises UnknownNameError if the definition does not know the phase."""
        if state.current_phase not in self._definition.order:
            raise UnknownNameError(
                f"phase '{state.current_phase}' is none of '{self._definition.task_type}':"
                f" {', '.join(self._definition.order)}; the task was begun under other phases"
            )
        return state.current_phase in self._definition.final_phases

    def _moved(self, state: PhaseState, view: PhaseView) -> PhaseState:
        rule = self._definition.phases[state.current_phase]
        has_succeeded = self._holds(rule.success, view)
        is_over = state.steps_in_phase >= rule.max_steps
        allowed = list(self._forward(state.current_phase, view))
        if has_succeeded and allowed:
            return _entered(state, allowed[0].to, None)
        back = None if has_succeeded else next(self._back(state.current_phase, view), None)
        if back is not None:
            return _entered(state, back.to, f"{_named(back.when)} in phase {state.current_phase}")
        if is_over and allowed:
            return _entered(state, allowed[0].to, f"phase {state.current_phase} had its {rule.max_steps} steps")
        if is_over:
            reason = f"phase {state.current_phase} had its {rule.max_steps} steps, and no transition forward is allowed"
            return _entered(state, self._definition.on_max_steps, reason)
        return state.changed(blocked_reason=self._missing(state.current_phase, view) if has_succeeded else None)

    def _forward(self, phase: str, view: PhaseView) -> Iterator[PhaseTransition]:
        return (move for move in self._allowed(phase, view) if self._definition.is_forward(phase, move.to))

    def _back(self, phase: str, view: PhaseView) -> Iterator[PhaseTransition]:
        return (move for move in self._allowed(phase, view) if not self._definition.is_forward(phase, move.to))

    def _allowed(self, phase: str, view: PhaseView) -> Iterator[PhaseTransition]:
        transitions = self._definition.phases[phase].transitions
        return (transition for transition in transitions if self._holds(transition.when, view))

    def _missing(self, phase: str, view: PhaseView) -> str:
        """Return what the transitions forward lack."""
        lacking = [
            f"{move.to} needs {_named(tuple(spec for spec in move.when if not self._holds((spec,), view)))}"
            for move in self._definition.phases[phase].transitions
            if self._definition.is_forward(phase, move.to)
        ]
        return "; ".join(lacking) or "no transition leads forward"

    def _holds(self, specs: tuple[GuardSpec, ...], view: PhaseView) -> bool:
        return all(self._is_true(spec, view) for spec in specs)

    def _is_true(self, spec: GuardSpec, view: PhaseView) -> bool:
        if isinstance(spec, str):
            return self._registry.guards[spec](view)
        return all(self._registry.counting[name](view, count) for name, count in spec.items())


def _entered(state: PhaseState, phase: str, reason: str | None) -> PhaseState:
    history = (*state.phase_history, state.current_phase)
    return PhaseState(current_phase=phase, phase_history=history, blocked_reason=reason)


def _named(specs: tuple[GuardSpec, ...]) -> str:
    words = [
        spec if isinstance(spec, str) else " ".join(f"{name} {count}" for name, count in spec.items()) for spec in specs
    ]
    return " and ".join(words)
