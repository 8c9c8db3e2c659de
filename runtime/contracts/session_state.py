"""Defines the state of a session under a contract: its phase, tasks, counters and what it has seen.

It is a value: each decision makes a new one. It holds of the phases' contents their summaries alone.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from runtime.contracts.contract import END, ESCALATION

ItemStatus = Literal["pending", "done", "skipped"]
TaskStatus = Literal["pending", "completed"]
MAX_USES = 400
# What the ids of sessions begin with; those of runs begin otherwise.
SESSION_PREFIX = "c-"


class Proof(msgspec.Struct, frozen=True, omit_defaults=True):
    """Identifies the changed lines behind a piece of evidence: a digest of their text, and how many there are.

    `lines` is 0 where they cannot be counted: a deleted file, or one that differs as a whole. `doubt`: what a reviewer
    should know of them. `scope`: the definition around them, empty outside of all.
    """

    digest: str
    lines: int = 0
    doubt: str = ""
    scope: str = ""


class ChecklistItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds one item of a task's checklist; `evidence` is `path:line`, `path:first-last` or `deleted: path`."""

    item: str
    status: ItemStatus = "pending"
    evidence: str = ""
    reason: str = ""
    proof: Proof | None = None


class Task(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds a task in the order of registration; `fixes` names the task whose failures it inherited.

    `revert_reason`: what went wrong with that one, or with this task's own evidence after it was accepted.
    """

    id: str
    description: str
    checklist: tuple[ChecklistItem, ...]
    status: TaskStatus = "pending"
    failure_count: int = 0
    fixes: str = ""
    revert_reason: str = ""


class Slot(msgspec.Struct, frozen=True):
    """Holds a slot of the query frame with the words of the query that it came from."""

    value: str
    quote: str


class Frame(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds what a query asks for: slot → value and quote; `symbols`: the targets, with `bands`: symbol → band."""

    slots: dict[str, Slot] = {}
    symbols: tuple[str, ...] = ()
    bands: dict[str, str] = {}
    dropped: tuple[str, ...] = ()


class ToolUse(msgspec.Struct, frozen=True, omit_defaults=True):
    """Records a call of a tool in the session: its kind of exploration, and the files that it was about.

    `refused`: what was asked for was not permitted, so that the call proves no work.
    """

    tool: str
    visit: int
    kind: str = ""
    targets: tuple[str, ...] = ()
    refused: bool = False


class Workplace(msgspec.Struct, frozen=True, omit_defaults=True):
    """Says where a session works: `folder` is the repository or a worktree; commits are full hashes.

    `branch`: empty until the plan was accepted, and for sessions without one; `head`: its last commit by the session.
    """

    folder: str
    base_commit: str = ""
    base_branch: str = ""
    branch: str = ""
    head: str = ""
    is_worktree: bool = False
    main_digest: str = ""


class Escalation(msgspec.Struct, frozen=True):
    """Holds a question that only a person can answer."""

    id: str
    question: str
    asked_at_ms: int


class Rule(msgspec.Struct, frozen=True):
    """Holds a rule that binds this task, and the document that it is from."""

    rule: str
    source: str


class SessionState(msgspec.Struct, frozen=True, omit_defaults=True):
    """Holds a session between two decisions.

    `phase`: a key of the contract, END or ESCALATION. `visit` counts the steps entered, from 1; `uses` are those of
    this visit and the latest ones before it. `shown`: file → ranges of lines that the server's tools showed; `explored`
    are the files whose exploration was accepted, `permitted` those that may be written. `summaries`: `step_05_PHASE` →
    summary, in the order in which they were finished first. `last_key` names the call of the last kept submission.
    `reviewed`: the commit that the quality review looked at. `own_edits`: file → digest of what the user had not
    committed at the start, for sessions that work without a branch. `verify_failures`: failed verifications since the
    last intervention, whichever tasks they named. `checked`: phase → git's hash of the files that the contract's
    commands for it have passed on last. `steering`: file that decides what the tools see → digest at the start.
    `uncommitted`: what was not committed when the session began, file → digest.
    `told_tree`: git's hash of the files as review_changes told them last; empty where they could not be committed.
    """

    session_id: str
    repository: str
    intent: str
    query: str
    contract_digest: str
    user: str = "local"
    flags: tuple[str, ...] = ()
    gate_level: str = "auto"
    phase: str = ""
    visit: int = 0
    started_at_ms: int = 0
    changed_at_ms: int = 0
    compaction_count: int = 0
    place: Workplace | None = None
    stale_branches: tuple[str, ...] = ()
    tasks: tuple[Task, ...] = ()
    interventions: int = 0
    quality_reverts: int = 0
    frame: Frame | None = None
    shown: dict[str, tuple[tuple[int, int], ...]] = {}
    explored: tuple[str, ...] = ()
    permitted: tuple[str, ...] = ()
    references: int = 0
    uses: tuple[ToolUse, ...] = ()
    summaries: dict[str, str] = {}
    must_verify: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    open_hypotheses: tuple[str, ...] = ()
    revert_reason: str = ""
    warnings: tuple[str, ...] = ()
    failed_tasks: tuple[str, ...] = ()
    escalation: Escalation | None = None
    outcome: str = ""
    last_key: str = ""
    reviewed: str = ""
    own_edits: dict[str, str] = {}
    verify_failures: int = 0
    checked: dict[str, str] = {}
    steering: dict[str, str] = {}
    told_tree: str = ""
    uncommitted: dict[str, str] = {}

    @property
    def is_over(self) -> bool:
        """True when nothing can be submitted any more."""
        return self.phase == END

    @property
    def waits_for_person(self) -> bool:
        """True when only a person's answer leads on."""
        return self.phase == ESCALATION

    @property
    def open_tasks(self) -> tuple[Task, ...]:
        """The tasks that are not completed, in the order of registration."""
        return tuple(task for task in self.tasks if task.status == "pending")

    def task(self, task_id: str) -> Task | None:
        """Return the task of that id, or None."""
        return next((task for task in self.tasks if task.id == task_id), None)

    def with_(self, **changes: Any) -> SessionState:
        """Return the state with some of its fields changed."""
        return msgspec.structs.replace(self, **changes)

    def ended(self, outcome: str) -> SessionState:
        """Return the closing record of a session that ends so: what an outcome can still be given to."""
        closed = self.with_(phase=END, outcome=outcome, escalation=None, shown={}, uses=(), permitted=())
        return closed.with_(must_verify=(), own_edits={}, steering={}, uncommitted={})

    def with_use(self, use: ToolUse, shown: dict[str, tuple[tuple[int, int], ...]] | None = None) -> SessionState:
        """Return the state with a tool's use recorded and the lines that it showed."""
        merged = dict(self.shown)
        for file, ranges in (shown or {}).items():
            merged[file] = joined((*merged.get(file, ()), *ranges))
        return self.with_(uses=(*self.uses, use)[-MAX_USES:], shown=merged)


def joined(ranges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Return ranges of lines in order, those that touch or overlap as one; both ends are inclusive."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return tuple(merged)
