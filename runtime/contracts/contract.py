"""Defines a phase contract as data: the phases of a work, what each demands, and what follows.

`runtime.contracts.loading` reads one from YAML and lists every fault. docs/phase-contracts.md is the guide.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

END = "SESSION_COMPLETE"
ESCALATION = "USER_ESCALATION"

FieldType = Literal["text", "texts", "bool", "integer", "number", "object", "objects", "choice"]
# What may decide the way out of a phase; `runtime.contracts.conditions` evaluates them.
Condition = Literal[
    "answered_yes",
    "tasks_open",
    "verification_failed",
    "task_failed_often",
    "intervened_often",
    "issues_found",
    "reverted_often",
    "moved_since_review",
]
# What a phase does besides handing on; `runtime.contracts.decisions` has a rule for each.
Duty = Literal[
    "",
    "branches",
    "rules",
    "frame",
    "explore",
    "question",
    "hypotheses",
    "impact",
    "plan",
    "implement",
    "finish",
    "verify",
    "intervene",
    "commit",
    "quality",
    "merge",
]
# What a flag does to a session besides skipping phases.
Trait = Literal["", "no_branch", "resume", "clean", "rebuild"]

_PHASE = r"^[A-Z][A-Z0-9_]{0,39}$"
_TOOL = r"^[a-z][a-z0-9_]{0,63}$"
_Texts = Annotated[tuple[str, ...], Field(strict=False)]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, protected_namespaces=())


class FieldRule(_Frozen):
    """Declares a field of a payload: its type, its least number of items or characters, and what it is for.

    `fields`: those of an object, or of each of several objects. `choices`: the texts that a choice may be. `words`: how
    many different words of two letters each text has at least.
    """

    type: FieldType
    least: int = Field(default=0, ge=0, le=1_000)
    most: int = Field(default=1_000, ge=1, le=10_000)
    words: int = Field(default=0, ge=0, le=20)
    required: bool = True
    says: str = ""
    choices: _Texts = ()
    fields: Mapping[str, FieldRule] = {}


class ToolDemand(_Frozen):
    """Demands that at least `at_least` kinds of the tools `any_of` were called in the phase."""

    any_of: _Texts = Field(min_length=1)
    at_least: int = Field(default=1, ge=1, le=20)


class Exit(_Frozen):
    """Leads to the phase `to` when the condition holds."""

    when: Condition
    to: str


class CheckCommand(_Frozen):
    """Names a command that the server runs in the workspace before it believes a verdict."""

    name: str = Field(min_length=1, max_length=80)
    command: _Texts = Field(min_length=1)
    timeout_s: float = Field(default=600.0, gt=0, le=7_200)

    @field_validator("command", mode="before")
    @classmethod
    def _is_no_text(cls, given: Any) -> Any:
        if isinstance(given, str):
            words = ", ".join(given.split()[:8]) or "python, -m, pytest"
            raise PydanticCustomError("list_needed", "a list of words is needed, such as [{words}]", {"words": words})
        return given


class PhaseRule(_Frozen):
    """Declares one step: what to do, what to submit, which tools must have been used, and what follows.

    `phase`: its name for the agent, where several steps share one. `forward`: the phase behind it, also when this one
    is skipped; `skipped_to`: the one behind it when an exit leads here and it is skipped, if that is another. `exits`
    are tried first, in order. `skip_when`: facts of the session.
    """

    step: int = Field(ge=1, le=99)
    phase: str = Field(default="", pattern=r"^([A-Z][A-Z0-9_]{0,39})?$")
    duty: Duty = ""
    instruction: str = Field(min_length=1, max_length=4_000)
    expected_payload: Mapping[str, FieldRule]
    required_tools: tuple[ToolDemand, ...] = Field(default=(), strict=False)
    exits: tuple[Exit, ...] = Field(default=(), strict=False)
    forward: str
    skipped_to: str = ""
    skip_when: _Texts = ()
    checks: tuple[CheckCommand, ...] = Field(default=(), strict=False)


class ToolRule(_Frozen):
    """Declares when a tool may be called in a session, and as what kind of exploration it counts.

    `since`: from this phase on; `within`: in these phases alone; neither: always.
    """

    kind: str = ""
    since: str = ""
    within: _Texts = ()


class FlagRule(_Frozen):
    """Declares a flag of a session: its short form, the phases that it skips, and the flags that it contradicts.

    `ends_after`: the phase whose every way out is the end.
    """

    short: str = Field(default="", pattern=r"^(-[a-z]{1,3})?$")
    trait: Trait = ""
    skips: _Texts = ()
    ends_after: str = ""
    excludes: _Texts = ()
    says: str = Field(min_length=1)


class Limits(_Frozen):
    """Holds how often each loop may be taken before something else happens, and the sizes of what is submitted."""

    task_failures: int = Field(default=3, ge=1, le=100)
    failures_in_all: int = Field(default=9, ge=1, le=1_000)
    interventions: int = Field(default=2, ge=1, le=100)
    quality_reverts: int = Field(default=3, ge=1, le=100)
    min_reason_chars: int = Field(default=10, ge=1, le=1_000)
    max_tasks: int = Field(default=100, ge=1, le=1_000)
    max_checklist_items: int = Field(default=100, ge=1, le=1_000)


class Confidence(_Frozen):
    """Holds what counts as enough exploration: a quarter for each that is reached, `least` to be believed."""

    files: int = Field(default=3, ge=0)
    symbols: int = Field(default=1, ge=0)
    tool_kinds: int = Field(default=2, ge=0)
    references: int = Field(default=1, ge=0)
    least: float = Field(default=0.5, ge=0, le=1)


class HighRisk(_Frozen):
    """Holds how the words begin by which a query is of high risk, and what counts as enough exploration then."""

    words: _Texts = Field(default=(), max_length=100)
    confidence: Confidence = Confidence()


class Relevance(_Frozen):
    """Holds the similarities, 0 to 1, from which a symbol is accepted, one of low confidence, or an agreement a hit."""

    accepted: float = Field(ge=0, le=1)
    low: float = Field(ge=0, le=1)
    agreement: float = Field(ge=0, le=1)


class Contract(_Frozen):
    """Holds a whole contract. `intents`: intent → the phases that it skips; `protected_paths`: what no change holds."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,63}$")
    version: int = Field(ge=1)
    intents: Mapping[str, _Texts]
    gate_levels: _Texts
    flags: Mapping[str, FlagRule]
    limits: Limits = Limits()
    confidence: Confidence = Confidence()
    high_risk: HighRisk = HighRisk()
    relevance: Relevance
    protected_paths: _Texts = Field(default=(), max_length=100)
    tools: Mapping[Annotated[str, Field(pattern=_TOOL)], ToolRule]
    phases: Mapping[Annotated[str, Field(pattern=_PHASE)], PhaseRule]

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The phases in the order of their steps."""
        return tuple(sorted(self.phases, key=lambda name: self.phases[name].step))

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the contract's content, by which a session pins it."""
        # One that protects nothing has the digest that it had before there was such a key: sessions are pinned by it.
        left_out = set() if self.protected_paths else {"protected_paths"}
        return hashlib.sha256(self.model_dump_json(exclude=left_out).encode()).hexdigest()

    def phase_name(self, key: str) -> str:
        """Return the name that an agent knows a phase by; END and ESCALATION are their own."""
        rule = self.phases.get(key)
        return (rule.phase or key) if rule is not None else key

    def is_permitted(self, tool: str, phase: str) -> bool:
        """Return whether a tool may be called in a phase; a tool that the contract does not name may not."""
        rule = self.tools.get(tool)
        if rule is None:
            return False
        if rule.within:
            return phase in rule.within or self.phase_name(phase) in rule.within
        if not rule.since or phase not in self.phases:
            return not rule.since or phase == ESCALATION
        return self.phases[phase].step >= self.phases[self._first(rule.since)].step

    def tools_in(self, phase: str) -> list[str]:
        """Return the tools that may be called in a phase, in the contract's order."""
        return [tool for tool in self.tools if self.is_permitted(tool, phase)]

    def keys_of(self, named: Sequence[str]) -> frozenset[str]:
        """Return the keys of phases that are named by key or by the name that several share."""
        return frozenset(key for key in self.phases if key in named or self.phase_name(key) in named)

    def _first(self, named: str) -> str:
        return next(key for key in self.order if named in (key, self.phase_name(key)))
