"""Defines the phases of a type of task as data, loads them from YAML, and reports all faults at once.

Each fault has file, line and key. Guards are looked up by name in a registry, to which a capability may add its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runtime.context.phase_guards import COUNTING_GUARDS, GUARDS, CountingGuard, Guard
from runtime.primitives.yaml_documents import Document, KeyPath, load_yaml, model_faults, parse_yaml, raise_faults

PhaseName = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[a-z][a-z0-9_]*$")]
Count = Annotated[int, Field(ge=0)]
# A guard by name, or one with a number: {steps_at_least: 12}. All guards of a list must hold.
GuardSpec = Annotated[str, Field(min_length=1)] | dict[str, Count]
GuardSpecs = Annotated[tuple[GuardSpec, ...], Field(strict=False)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class PhaseTransition(_Frozen):
    """Allows to go to a phase when all guards hold; without guards always."""

    to: PhaseName
    when: GuardSpecs = ()


class PhaseRule(_Frozen):
    """Describes one phase.

    `max_steps`: how long it may last. `success`: when it has done its part, so that the first allowed transition to a
    later phase is taken. `failure`: when the task has failed.
    """

    max_steps: int = Field(ge=1, le=1_000)
    success: GuardSpecs = Field(min_length=1)
    failure: GuardSpecs = ()
    transitions: tuple[PhaseTransition, ...] = Field(strict=False)


class PhaseDefinition(_Frozen):
    """Describes the phases of a type of task; a run begins in the first one, and ends in one of `final_phases`.

    Transitions to a phase further down are forward, to one further up back. `from_any` holds in every phase and goes
    before all else. `on_failure` and `on_max_steps` name the final phases of a task that failed or got stuck.
    """

    task_type: PhaseName
    phases: dict[PhaseName, PhaseRule] = Field(min_length=1)
    final_phases: tuple[PhaseName, ...] = Field(strict=False, min_length=1)
    on_failure: PhaseName
    on_max_steps: PhaseName
    from_any: tuple[PhaseTransition, ...] = Field(default=(), strict=False)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """All phases, the final ones last."""
        return (*self.phases, *self.final_phases)

    def is_forward(self, source: str, target: str) -> bool:
        """Return whether `target` comes after `source`."""
        return self.order.index(target) > self.order.index(source)


class GuardRegistry:
    """Holds the guards that documents may name: the built-in ones, and those of a capability."""

    def __init__(
        self, guards: Mapping[str, Guard] | None = None, counting: Mapping[str, CountingGuard] | None = None
    ) -> None:
        self.guards = {**GUARDS, **(guards or {})}
        self.counting = {**COUNTING_GUARDS, **(counting or {})}

    def problem_of(self, spec: GuardSpec) -> str | None:
        """Return what is wrong with a guard in a document, or None."""
        if isinstance(spec, str):
            if spec in self.counting:
                return f"guard '{spec}' needs a number: {{{spec}: 1}}"
            return None if spec in self.guards else _unknown("guard", spec, (*self.guards, *self.counting))
        if len(spec) != 1:
            return f"{len(spec)} guards in one mapping; give each an item of its own"
        name = next(iter(spec))
        if name in self.guards:
            return f"guard '{name}' takes no number"
        return None if name in self.counting else _unknown("guard", name, (*self.guards, *self.counting))


BUILT_IN = GuardRegistry()


def load_phases(path: Path, registry: GuardRegistry = BUILT_IN) -> PhaseDefinition:
    """Load the phases in the YAML file `path`. Raises DocumentFaults that lists all of its faults."""
    return _checked(load_yaml(path), registry)


def parse_phases(text: str, file: str = "<phases>", registry: GuardRegistry = BUILT_IN) -> PhaseDefinition:
    """Parse the phases in YAML `text`. Raises DocumentFaults that lists all of its faults."""
    return _checked(parse_yaml(text, file), registry)


def _checked(document: Document, registry: GuardRegistry) -> PhaseDefinition:
    try:
        definition = PhaseDefinition.model_validate(document.data)
    except ValidationError as error:
        raise_faults(model_faults(document, error))
        raise AssertionError("a refused document has faults") from error
    raise_faults(document.fault(path, problem) for path, problem in problems_of(definition, registry))
    return definition


def problems_of(definition: PhaseDefinition, registry: GuardRegistry = BUILT_IN) -> Iterator[tuple[KeyPath, str]]:
    """Yield what is wrong with the whole: unknown names, phases never reached, ways back without a guard."""
    finals = frozenset(definition.final_phases)
    for number, name in enumerate(definition.final_phases):
        if name in definition.phases:
            yield ("final_phases", number), f"'{name}' has steps of its own, so it cannot be final"
        elif name in definition.final_phases[:number]:
            yield ("final_phases", number), f"'{name}' is given twice"
    for field in ("on_failure", "on_max_steps"):
        name = getattr(definition, field)
        if name not in finals:
            yield (field,), _unknown("final phase", name, definition.final_phases)
    yield from _transitions(definition, finals)
    yield from _guards(definition, registry)
    yield from _never_reached(definition)


def _transitions(definition: PhaseDefinition, finals: frozenset[str]) -> Iterator[tuple[KeyPath, str]]:
    for number, transition in enumerate(definition.from_any):
        path: KeyPath = ("from_any", number)
        if transition.to not in finals:
            yield (*path, "to"), _unknown("final phase", transition.to, definition.final_phases)
        if not transition.when:
            yield (*path, "when"), "without a guard no phase would be entered for more than a step"
    known = frozenset(definition.order)
    for name, rule in definition.phases.items():
        for number, transition in enumerate(rule.transitions):
            path = ("phases", name, "transitions", number)
            if transition.to not in known:
                yield (*path, "to"), _unknown("phase", transition.to, definition.order)
            elif transition.to == name:
                yield (*path, "to"), f"'{name}' leads to itself; a phase goes on without a transition"
            elif not transition.when and not definition.is_forward(name, transition.to):
                yield (*path, "when"), f"the way back to '{transition.to}' needs a guard, or it is taken at once"
            if transition in rule.transitions[:number]:
                yield path, "given twice"


def _guards(definition: PhaseDefinition, registry: GuardRegistry) -> Iterator[tuple[KeyPath, str]]:
    for path, spec in _mentions(definition):
        problem = registry.problem_of(spec)
        if problem is not None:
            yield path, problem


def _mentions(definition: PhaseDefinition) -> Iterator[tuple[KeyPath, GuardSpec]]:
    """Yield each place that names a guard."""
    lists: list[tuple[KeyPath, tuple[GuardSpec, ...]]] = [
        (("from_any", number, "when"), transition.when) for number, transition in enumerate(definition.from_any)
    ]
    for name, rule in definition.phases.items():
        lists += [(("phases", name, "success"), rule.success), (("phases", name, "failure"), rule.failure)]
        lists += [
            (("phases", name, "transitions", number, "when"), transition.when)
            for number, transition in enumerate(rule.transitions)
        ]
    for path, specs in lists:
        for place, spec in enumerate(specs):
            yield (*path, place), spec


def _never_reached(definition: PhaseDefinition) -> Iterator[tuple[KeyPath, str]]:
    always = {definition.on_failure, definition.on_max_steps, *(transition.to for transition in definition.from_any)}
    waiting, reached = [next(iter(definition.phases))], {next(iter(definition.phases)), *always}
    while waiting:
        rule = definition.phases.get(waiting.pop())
        for transition in rule.transitions if rule else ():
            if transition.to not in reached:
                reached.add(transition.to)
                waiting.append(transition.to)
    for name in definition.phases:
        if name not in reached:
            yield ("phases", name), "no phase leads here"
    for number, name in enumerate(definition.final_phases):
        if name not in reached and name not in definition.phases:
            yield ("final_phases", number), f"no phase leads to '{name}'"


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    names = sorted(set(known))
    near = get_close_matches(name, names, n=1)
    return f"unknown {what} '{name}'; " + (f"did you mean '{near[0]}'?" if near else f"known: {', '.join(names)}")
